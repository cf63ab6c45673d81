"""Read a released file of any size as a stream of records, each with its cells by column.

Only one record is held in memory. A line or record longer than MOST characters is reported, not read. A broken record,
or one that is not in UTF-8, is yielded as a deviation; after an error that makes the rest unreadable the stream ends.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

MOST = 1 << 24
"""The maximal length of a csv line or JSON record in characters: a thousand times a long chat."""
CHUNK = 1 << 20
ESCAPED = re.compile("[\udc80-\udcff]")
"""A byte that is not valid UTF-8, as decoded by `surrogateescape`."""
SHOWN = 60


@dataclass(frozen=True, slots=True)
class CellDeviation:
    """A deviation of a file from its schema. Row 0 is the header; `line` is the line number in an editor."""

    file: str
    row: int
    line: int
    column: str
    value: str
    allowed: str

    def __str__(self) -> str:
        where = f"row {self.row}" if self.row else "header"
        column = f", column {self.column!r}" if self.column else ""
        line = f" (line {self.line})" if self.line else ""
        return f"{self.file}, {where}{line}{column}: {self.value}; allowed: {self.allowed}"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A record: its number from 1, its first line, and its cells by column as in the file."""

    row: int
    line: int
    cells: dict[str, Any]


def shown(value: Any) -> str:
    """A value for messages: quoted and shortened."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"


class _Counted(RawIOBase):
    """Counts and hashes the bytes of a file while reading it."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.hash, self.bytes = sha256(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer) or 0
        self.hash.update(memoryview(buffer)[:count])
        self.bytes += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class Reader(ABC):
    """Base class of the csv and JSON readers."""

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 0
        self.header: tuple[str, ...] = ()
        self._counted = _Counted(path)
        self.text = TextIOWrapper(
            BufferedReader(self._counted, CHUNK), encoding="utf-8", errors="surrogateescape", newline="\n"
        )

    @abstractmethod
    def records(self) -> Iterator[FileRecord | CellDeviation]:
        """Yield each record, or a deviation in its place. `header` is set with the first."""

    @property
    def ends_with_line(self) -> bool:
        """Whether the file ends like a complete one."""
        return True

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far."""
        return self._counted.bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes read so far; of the whole file at its end."""
        return self._counted.hash.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self.text.close()

    def deviation(self, row: int, line: int, column: str, value: str, allowed: str) -> CellDeviation:
        """Make a deviation of this file."""
        return CellDeviation(self.path.name, row, line, column, value, allowed)

    def encoding(self, row: int, line: int, column: str, text: str) -> CellDeviation:
        """Make a deviation for a cell or record that is not in UTF-8."""
        found = ESCAPED.search(text)
        byte = f"the byte 0x{ord(found.group()) - 0xDC00:02x} in {shown(text)}" if found else shown(text)
        return self.deviation(row, line, column, byte, "UTF-8; save the file in that encoding")

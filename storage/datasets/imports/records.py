"""A released file as records: cells by column, one after another, whatever the size of the file.

Nothing is held but one record; a line or a record beyond MOST characters is told, not read. A record that is torn, or
not in UTF-8, comes as a Deviation in its place; after a fault that leaves the rest unreadable the records end.
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
"""The longest line of a csv and the longest record of a JSON file, in characters: a thousand times a long chat."""
CHUNK = 1 << 20
ESCAPED = re.compile("[\udc80-\udcff]")
"""A byte that is no UTF-8, as `surrogateescape` hands it on."""
SHOWN = 60


@dataclass(frozen=True, slots=True)
class CellDeviation:
    """Where a file is not what its schema says; row 0 is the header, and `line` is what an editor shows."""

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
    """A record: its number from 1, the line on which it begins, and its cells by column, as they stand in the file."""

    row: int
    line: int
    cells: dict[str, Any]


def shown(value: Any) -> str:
    """A value as it is shown in a message: quoted, and not too long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"


class _Counted(RawIOBase):
    """The bytes of a file, counted and hashed as they are read."""

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
    """What reading a csv and reading a JSON file have in common."""

    def __init__(self, path: Path) -> None:
        self.path, self.line = path, 0
        self.header: tuple[str, ...] = ()
        self._counted = _Counted(path)
        self.text = TextIOWrapper(
            BufferedReader(self._counted, CHUNK), encoding="utf-8", errors="surrogateescape", newline="\n"
        )

    @abstractmethod
    def records(self) -> Iterator[FileRecord | CellDeviation]:
        """Each record, or what is wrong in its place; `header` is known with the first."""

    @property
    def ends_with_line(self) -> bool:
        """Whether the file ends as a whole one does."""
        return True

    @property
    def bytes_read(self) -> int:
        """How far the reading is."""
        return self._counted.bytes

    @property
    def sha256(self) -> str:
        """The digest of what was read, of the whole file at its end."""
        return self._counted.hash.hexdigest()

    def close(self) -> None:
        """Let go of the file."""
        self.text.close()

    def deviation(self, row: int, line: int, column: str, value: str, allowed: str) -> CellDeviation:
        """A deviation of this file."""
        return CellDeviation(self.path.name, row, line, column, value, allowed)

    def encoding(self, row: int, line: int, column: str, text: str) -> CellDeviation:
        """A cell, or what stands in its place, that is not in UTF-8."""
        found = ESCAPED.search(text)
        byte = f"the byte 0x{ord(found.group()) - 0xDC00:02x} in {shown(text)}" if found else shown(text)
        return self.deviation(row, line, column, byte, "UTF-8; save the file in that encoding")

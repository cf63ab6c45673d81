"""Read a released file of any size as a stream of records, each with its cells by column.

Only one record is held in memory. A line or record longer than MOST characters is reported, not read. A broken record,
or one that is not in UTF-8, is yielded as a deviation; after an error that makes the rest unreadable the stream ends.
"""

from __future__ import annotations

import csv
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

from problems.errors import quoted

# The maximal length of a csv line or JSON record in characters: a thousand times a long chat.
MOST = 1 << 24
CHUNK = 1 << 20
# A byte that is not valid UTF-8, as decoded by `surrogateescape`.
ESCAPED = re.compile("[\udc80-\udcff]")
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
    text = quoted(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"


class _Counted(RawIOBase):
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
        return True

    @property
    def bytes_read(self) -> int:
        return self._counted.bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes read so far; of the whole file at its end."""
        return self._counted.hash.hexdigest()

    def close(self) -> None:
        self.text.close()

    def deviation(self, row: int, line: int, column: str, value: str, allowed: str) -> CellDeviation:
        return CellDeviation(self.path.name, row, line, column, value, allowed)

    def encoding(self, row: int, line: int, column: str, text: str) -> CellDeviation:
        found = ESCAPED.search(text)
        byte = f"the byte 0x{ord(found.group()) - 0xDC00:02x} in {shown(text)}" if found else shown(text)
        return self.deviation(row, line, column, byte, "UTF-8; save the file in that encoding")


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
QUOTED = 'a cell in double quotes, with each quote in it doubled (""), that ends before the file does'


class _TooLong(Exception):
    """A line is longer than MOST."""


class CsvReader(Reader):
    def records(self) -> Iterator[FileRecord | CellDeviation]:
        csv.field_size_limit(MOST)
        self._row, self._start, self._escaped = 0, 1, False
        self._pending: list[str] = []
        self._kept = 0
        if self.text.buffer.peek(2)[:2] in UTF_16:
            yield self.encoding(0, 1, "", "a byte order mark of UTF-16")
            return
        try:
            yield from self._rows()
        except csv.Error as error:
            large = "field larger" in str(error)
            problem = "the file ends within quotes" if "end of data" in str(error) else str(error)
            problem = f"more than {MOST:,} characters" if large else problem
            wanted = f"{MOST:,} characters in a cell" if large else QUOTED
            yield self.deviation(self._row, self._start, self._column(), f"{problem}: {shown(self._text())}", wanted)
        except _TooLong:
            value = f"a line of more than {MOST:,} characters: {shown(self._text())}"
            yield self.deviation(self._row, self._start, self._column(), value, f"{MOST:,} characters in a line")

    @property
    def ends_with_line(self) -> bool:
        return self._ended

    def _rows(self) -> Iterator[FileRecord | CellDeviation]:
        for cells in csv.reader(self._lines(), strict=True):
            if not self.header:
                self.header = tuple(cells)
                if self._escaped:
                    yield self.encoding(0, 1, "", ",".join(cells))
                    return  # without column names the rest cannot be read
            elif cells:
                yield self._record(cells)
            self._row += bool(cells)
            self._start, self._escaped = self.line + 1, False
            self._pending.clear()
            self._kept = 0
        if not self.header:
            yield self.deviation(0, 1, "", "an empty file", "a header, and a row below it for each record")

    def _record(self, cells: list[str]) -> FileRecord | CellDeviation:
        if len(cells) != len(self.header):
            found = f"{len(cells)} cells: {shown(','.join(cells))}"
            column = self.header[len(cells)] if len(cells) < len(self.header) else ""
            return self.deviation(self._row, self._start, column, found, f"{len(self.header)} cells, as in the header")
        if self._escaped:
            name, cell = next((n, c) for n, c in zip(self.header, cells, strict=True) if ESCAPED.search(c))
            return self.encoding(self._row, self._start, name, cell)
        return FileRecord(self._row, self._start, dict(zip(self.header, cells, strict=True)))

    def _lines(self) -> Iterator[str]:
        self._ended = True
        while line := self.text.readline(MOST + 1):
            self.line += 1
            line = line if self.line > 1 else line.removeprefix("\ufeff")
            if self._kept < CHUNK:
                self._pending.append(line)
                self._kept += len(line)
            self._ended = line.endswith("\n")
            if len(line) > MOST:
                raise _TooLong
            self._escaped = self._escaped or (not line.isascii() and bool(ESCAPED.search(line)))
            yield line

    def _text(self) -> str:
        return "".join(self._pending[:CHUNK])[:CHUNK]

    def _column(self) -> str:
        """The column in which an incomplete record ends."""
        try:
            number = len(next(csv.reader([self._text()]))) - 1
        except csv.Error:
            return ""
        return self.header[number] if 0 <= number < len(self.header) else ""


SPACE = re.compile(r"[ \t\r\n\ufeff]*")


class JsonReader(Reader):
    def records(self) -> Iterator[FileRecord | CellDeviation]:
        """Yield each object; the keys of the first one are the header."""
        self._decoder = json.JSONDecoder(parse_constant=_constant, parse_float=_finite)
        self._buffer, self._at, self.line, self._row = "", 0, 1, 0
        self._escaped = self._torn = False
        try:
            yield from self._read()
        except (ValueError, RecursionError) as error:
            whole = "JSON in UTF-8: a list of objects, one after another with commas between them, up to `]`"
            near = shown(self._buffer[self._at : self._at + SHOWN])
            yield self.deviation(self._row, self.line, "", f"{error}, at or after {near}", whole)

    def _read(self) -> Iterator[FileRecord | CellDeviation]:
        if self._next() != "[":
            raise ValueError("the file does not start with a list")
        self._at += 1
        while (character := self._next()) != "]":
            self._row += 1
            if self._row > 1:
                if character != ",":
                    raise ValueError("a comma is missing, or the file ends within its list")
                self._at += 1
                self._next()
            line = self.line
            yield self._record(line, self._element())
        self._at += 1
        if self._next():
            raise ValueError("the file continues after its list")

    def _record(self, line: int, value: Any) -> FileRecord | CellDeviation:
        if not isinstance(value, dict):
            return self.deviation(self._row, line, "", shown(value), "an object")
        self.header = self.header or tuple(value)
        if self._torn:
            cells = ((name, json.dumps(cell, ensure_ascii=False)) for name, cell in value.items())
            name, cell = next((item for item in cells if ESCAPED.search(item[1])), ("", ""))
            return self.encoding(self._row, line, name, cell)
        return FileRecord(self._row, line, value)

    def _next(self) -> str:
        """The next character other than white space; empty at the end of the file."""
        while True:
            end = SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            self.line += self._buffer.count("\n", self._at, end)
            self._at = end
            if end < len(self._buffer) or not self._more(CHUNK):
                return self._buffer[self._at : self._at + 1]

    def _more(self, characters: int) -> bool:
        read = self.text.read(characters)
        self._escaped = self._escaped or (not read.isascii() and bool(ESCAPED.search(read)))
        self._buffer, self._at = self._buffer[self._at :] + read, 0
        return bool(read)

    def _element(self) -> Any:
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                left = len(self._buffer) - self._at
                torn = error.msg.startswith("Unterminated") or error.pos > len(self._buffer) - 16
                if left > MOST:
                    raise ValueError(f"a record is longer than {MOST:,} characters") from None
                if not torn:
                    raise ValueError(error.msg) from None
                if not self._more(max(CHUNK, left)):
                    raise ValueError(f"the file ends within a record ({error.msg})") from None
            else:
                self._torn = self._escaped and bool(ESCAPED.search(self._buffer, self._at, end))
                self.line += self._buffer.count("\n", self._at, end)
                self._at = end
                return value


def _constant(name: str) -> None:
    """Convert `NaN`, which Python writes for unknown values; infinities are rejected."""
    if name != "NaN":
        raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text} is too large")
    return value

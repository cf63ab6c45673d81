"""Read the records of a JSON file: a list of objects in UTF-8, one object at a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from storage.datasets.imports.records import CHUNK, ESCAPED, MOST, SHOWN, CellDeviation, FileRecord, Reader, shown

SPACE = re.compile(r"[ \t\r\n\ufeff]*")


class JsonReader(Reader):
    """The records of a JSON file that holds a list of objects, in UTF-8."""

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

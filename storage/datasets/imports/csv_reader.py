"""Read the records of a csv as pandas writes it: a header, commas, double quotes, UTF-8."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from storage.datasets.imports.records import CHUNK, ESCAPED, MOST, CellDeviation, FileRecord, Reader, shown

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
QUOTED = 'a cell in double quotes, with each quote in it doubled (""), that ends before the file does'


class _TooLong(Exception):
    """A line is longer than MOST."""


class CsvReader(Reader):
    """The records of a csv with a header."""

    def records(self) -> Iterator[FileRecord | CellDeviation]:
        """Yield each row, or a deviation in its place."""
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
        """Whether the last line has a line end."""
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
        """The text of the incomplete record so far."""
        return "".join(self._pending[:CHUNK])[:CHUNK]

    def _column(self) -> str:
        """The column in which an incomplete record ends."""
        try:
            number = len(next(csv.reader([self._text()]))) - 1
        except csv.Error:
            return ""
        return self.header[number] if 0 <= number < len(self.header) else ""

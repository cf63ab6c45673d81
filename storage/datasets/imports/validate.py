"""A released file's records as rows of its table, or what deviates in them.

Columns may stand in any order and keep it. Every cell goes through the form of its column; what an instrument asked
has a closed domain, of models, problems and datasets only the form is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import orjson

from problems.errors import did_you_mean
from storage.column_types import BITS, UNREADABLE, ValueTooLarge, csv_spelling, json_spelling
from storage.datasets.imports.detect_files import ReleaseFile
from storage.datasets.imports.records import CellDeviation, FileRecord, Reader, shown
from storage.schemas.base import Column, ReleasedRow, ReleasedTable
from storage.schemas.registry import schemas

SURROGATE = re.compile("[\ud800-\udfff]")


class ValidatedRows:
    """The rows of a file, one after another, with the deviations in their places. Use it once.

    With `rules` what does not hold between the cells of a row is a deviation as well, after the row.
    """

    def __init__(self, found: ReleaseFile, reader: Reader, *, rules: bool = False) -> None:
        self._found, self._reader, self._table = found, reader, found.table
        self._columns = {column.name: column for column in found.table.columns}
        self._json = found.table.file.endswith(".json")
        self._cells = {column.name: (column.sql, self._cell(column)) for column in found.table.columns}
        self._rules = found.table.rules if rules else ()
        self._empty = dict.fromkeys(column.sql for column in found.table.columns)
        self.rows = 0
        self._last: Mapping[str, Any] = {}

    def __iter__(self) -> Iterator[ReleasedRow | CellDeviation]:
        records = self._reader.records()
        first = next(records, None)
        if isinstance(first, CellDeviation) and not first.row:  # what the columns are is not known
            yield first
            return
        if self._reader.header and (faults := list(self._header())):
            yield from faults
            return
        for record in chain(() if first is None else (first,), records):
            if isinstance(record, CellDeviation):
                yield record
            else:
                yield from self._row(record)
        yield from self._end()

    def _header(self) -> Iterator[CellDeviation]:
        """What is wrong with the header; a word is enough where it is another file's of these datasets."""
        faults = list(_header_faults(self._table, self._reader.header))
        if faults and (other := _named(self._reader.header)):
            faults = [("", f"the columns of {other}", f"those of {self._table.file}")]
        for column, value, wanted in faults:
            yield self._reader.deviation(0, 1, column, value, wanted)

    def _row(self, record: FileRecord) -> Iterator[ReleasedRow | CellDeviation]:
        self.rows += 1
        self._last = record.cells
        faults = list(self._shape(record)) if self._json and tuple(record.cells) != self._reader.header else []
        values, written = dict(self._empty), {}
        for name, cell in record.cells.items() if not faults else ():
            sql, read = self._cells[name]
            try:
                values[sql], other = read(cell)
            except UNREADABLE as error:
                wanted = self._columns[name].form.allowed + (
                    f", of at most {BITS} bits" if isinstance(error, ValueTooLarge) else ""
                )
                faults.append(self._reader.deviation(record.row, record.line, name, shown(cell), wanted))
                continue
            if other is not None:
                written[sql] = other
        if faults:
            yield from faults
            return
        row = ReleasedRow(self._table.name, record.row, values, self._found.part, _dumped(written))
        yield row
        for rule in self._rules:
            for name, wanted in rule(row.values):
                yield self._reader.deviation(record.row, record.line, name, shown(record.cells.get(name)), wanted)

    def _cell(self, column: Column) -> Callable[[Any], tuple[Any, Any]]:
        """What reads the column's cells: the value, and the cell itself if it is not how we would write that. Texts
        that come again and again are read once."""
        cell = partial(_read, column, json=self._json)
        return lru_cache(cell) if not self._json and (column.form.labels or column.kind == "integer") else cell

    def _shape(self, record: FileRecord) -> Iterator[CellDeviation]:
        """What is missing or surplus in an object of a JSON file, whose keys each record has anew."""
        for column, value, wanted in _header_faults(self._table, tuple(record.cells)):
            yield self._reader.deviation(record.row, record.line, column, value, wanted)
        first = self._reader.header
        for name in dict.fromkeys((*first, *record.cells)):
            if name in self._columns and self._columns[name].optional and (name in first) != (name in record.cells):
                found = "the column is missing" if name in first else "a column that the first record lacks"
                yield self._reader.deviation(record.row, record.line, name, found, "the columns of the first record")

    def _end(self) -> Iterator[CellDeviation]:
        """A file that ends within a line may have lost the end of its last cell."""
        header = self._reader.header
        if self.rows and not self._reader.ends_with_line and not self._cut_shows(header[-1]):
            last = "the file ends within its last line, perhaps cut off"
            yield self._reader.deviation(
                self.rows, self._reader.line, header[-1], last, "a line end after the last cell"
            )

    def _cut_shows(self, name: str) -> bool:
        """Whether the last cell is whole; nothing may be there because it was cut off, even where it may be blank."""
        return self._columns[name].form.cut_shows and bool(self._last.get(name))


def _read(column: Column, cell: Any, *, json: bool) -> tuple[Any, Any]:
    value = _value(column, cell)
    if column.kind == "json":
        return value, orjson.dumps(cell).decode() if isinstance(cell, str) else None
    return value, json_spelling(value, cell) if json else csv_spelling(value, cell)


def _value(column: Column, cell: Any) -> Any:
    if cell is None or (cell == "" and isinstance(cell, str)):
        if not column.form.blank:
            raise ValueError
        return None
    if not isinstance(cell, str):
        if isinstance(cell, int) and cell.bit_length() > BITS:
            raise ValueTooLarge
        if column.kind != "json":
            orjson.dumps(cell)  # raises TypeError for what cannot be kept, such as half of a surrogate pair
        return column.form.take(cell)
    if not cell.isascii() and SURROGATE.search(cell):
        raise ValueError
    return column.form.read(cell)


def _dumped(written: Mapping[str, Any]) -> str | None:
    return orjson.dumps(written).decode() if written else None


def _named(header: tuple[str, ...]) -> str:
    """Which released file has these columns: its schema and name; empty if none has."""
    found = ((schema, table) for schema in schemas().values() for table in schema.tables)
    return next((f"{schema.name}, {table.file}" for schema, table in found if set(table.header) == set(header)), "")


def _header_faults(table: ReleasedTable, header: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Columns that are missing, surplus or there twice: the column, what was found, what was allowed."""
    wanted = {column.name: column for column in table.columns}
    if len(header) == 1 and len(wanted) > 1 and (other := next((c for c in ";\t|" if c in header[0]), None)):
        yield "", f"cells separated by {other!r}: {shown(header[0])}", "cells separated by a comma"
        return
    missing = [name for name, column in wanted.items() if name not in header and not (column.optional or column.theirs)]
    for name in header:
        if name not in wanted:
            yield (
                name or "(no name)",
                f"no column of {table.file}",
                f"its {len(table.header)} columns.{did_you_mean(name, missing)}",
            )
    for name in missing:
        yield name, "the column is missing", f"all {len(table.header)} columns of {table.file}"
    for name in dict.fromkeys(name for name in header if header.count(name) > 1):
        yield name, f"the column is there {header.count(name)} times", "each column once"

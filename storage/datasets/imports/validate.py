"""Validate the records of a released file and convert them to rows of its table.

Columns may be in any order, which is kept. Every cell is checked by the type of its column: answers to an instrument
must be among its options; names of models, problems and datasets may be any valid text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any

import orjson

from problems.errors import did_you_mean
from problems.text import texts_in, unstorable
from storage.columns import BITS, UNREADABLE, Column, ValueTooLarge, csv_spelling, json_spelling
from storage.datasets.imports.detect_files import ReleaseFile
from storage.datasets.imports.records import CellDeviation, FileRecord, Reader, shown
from storage.schemas.base import ReleasedRow, ReleasedTable
from storage.schemas.registry import schemas

_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
UNSTORABLE = "text without NUL and halves of surrogate pairs"


class _Unstorable(ValueError):
    """A cell has a character that no database holds."""


class ValidatedRows:
    """Rows, with deviations in their places, once; with `rules` also those between cells or rows, after the row."""

    def __init__(self, file: ReleaseFile, reader: Reader, *, rules: bool = False) -> None:
        self._file, self._reader, self._table = file, reader, file.table
        self._columns = {column.name: column for column in file.table.columns}
        self._json = file.table.file.endswith(".json")
        self._cells = {column.name: (column.sql, self._cell(column)) for column in file.table.columns}
        self._rules = (*file.table.rules, *(rule() for rule in file.table.rules_across)) if rules else ()
        self._same_for = file.table.same_for if rules else {}
        self._first: dict[tuple[str, Any], tuple[int, list[Any]]] = {}
        self._empty = dict.fromkeys(column.sql for column in file.table.columns)
        self.rows = 0
        self._last: Mapping[str, Any] = {}

    def __iter__(self) -> Iterator[ReleasedRow | CellDeviation]:
        records = self._reader.records()
        first = next(records, None)
        if isinstance(first, CellDeviation) and not first.row:  # the columns are unknown
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
        """The deviations of the header; only one if it is the header of another released file, or of any other."""
        header, file = self._reader.header, self._table.file
        faults = list(_header_faults(self._table, header))
        there = {name for name in header if name in self._columns}
        others = len(set(header)) - len(there)
        if faults and (other := _named(header)):
            faults = [("", f"the columns of {other}", f"those of {file}")]
        elif len(faults) > 1 and others > len(there) and len(self._table.header) > 2 * len(there):
            found = f"{len(there)} of the {len(self._table.header)} columns of {file} and {others} others"
            faults = [("", f"{found}: probably another file", f"a file with the columns of {file}")]
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
                wanted = UNSTORABLE if isinstance(error, _Unstorable) else wanted
                faults.append(self._reader.deviation(record.row, record.line, name, shown(cell), wanted))
                continue
            if other is not None:
                written[sql] = other
        if faults:
            yield from faults
            return
        row = ReleasedRow(self._table.name, record.row, values, self._file.part, _dumped(written))
        yield row
        for rule in self._rules:
            for name, wanted in rule(row.values):
                yield self._reader.deviation(record.row, record.line, name, shown(record.cells.get(name)), wanted)
        yield from self._changed(record)

    def _changed(self, record: FileRecord) -> Iterator[CellDeviation]:
        """Cells that differ from an earlier row about the same person or problem."""
        for key, names in self._same_for.items():
            about = record.cells.get(key)
            cells = [record.cells.get(name) for name in names]
            row, first = self._first.setdefault((key, about), (record.row, cells))
            for name, cell, before in zip(names, cells, first, strict=True) if cells != first else ():
                if cell != before:
                    wanted = f"{shown(before)}, as in row {row} with the same {key}"
                    yield self._reader.deviation(record.row, record.line, name, shown(cell), wanted)

    def _cell(self, column: Column) -> Callable[[Any], tuple[Any, Any]]:
        """A cached function that gives a cell's value, and the cell if its spelling differs from Parley's."""
        cell = partial(_read, column, json=self._json)
        return lru_cache(cell) if not self._json and (column.form.labels or column.kind == "integer") else cell

    def _shape(self, record: FileRecord) -> Iterator[CellDeviation]:
        """Missing and unknown keys of a JSON object; unlike the columns of a csv they can differ by record."""
        for column, value, wanted in _header_faults(self._table, tuple(record.cells)):
            yield self._reader.deviation(record.row, record.line, column, value, wanted)
        first = self._reader.header
        for name in dict.fromkeys((*first, *record.cells)):
            if name in self._columns and self._columns[name].optional and (name in first) != (name in record.cells):
                found = "the column is missing" if name in first else "a column that the first record lacks"
                yield self._reader.deviation(record.row, record.line, name, found, "the columns of the first record")

    def _end(self) -> Iterator[CellDeviation]:
        """Report a missing final line end, because the last cell may be truncated."""
        header = self._reader.header
        if self.rows and not self._reader.ends_with_line and not self._cut_shows(header[-1]):
            last = "the file ends within its last line, perhaps cut off"
            yield self._reader.deviation(
                self.rows, self._reader.line, header[-1], last, "a line end after the last cell"
            )

    def _cut_shows(self, name: str) -> bool:
        """True if the last cell is certainly complete; a blank cell may be a truncated one."""
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
    if isinstance(cell, str):
        if unstorable(cell):
            raise _Unstorable
        value = column.form.read(cell)
    else:
        if isinstance(cell, int) and cell.bit_length() > BITS:
            raise ValueTooLarge
        if column.kind != "json":
            orjson.dumps(cell)  # raises TypeError for values that cannot be stored
        value = column.form.take(cell)
    if column.kind == "json" and _ESCAPED.search(value) and any(map(unstorable, texts_in(json.loads(value)))):
        raise _Unstorable
    return value


def _dumped(written: Mapping[str, Any]) -> str | None:
    return orjson.dumps(written).decode() if written else None


def _named(header: tuple[str, ...]) -> str:
    """The schema and name of the released file with these columns; empty if there is none."""
    found = ((schema, table) for schema in schemas().values() for table in schema.tables)
    return next((f"{schema.name}, {table.file}" for schema, table in found if set(table.header) == set(header)), "")


def _header_faults(table: ReleasedTable, header: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Missing, unknown and duplicate columns: each with the value found and the allowed one."""
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

"""Writers of exported files, and what others take their cells for.

CSV as pandas' `to_csv` writes it: a cell is quoted only if necessary, and unknown values are blank. JSON as in the
releases: one array with an object per line; columns of kind json contain the value itself.

A csv has no cell types, so a spreadsheet takes every cell that begins with one of some characters for a formula, even
if a participant wrote it (OWASP ASVS 1.2.10). Exact exports keep such cells; the variant for spreadsheets escapes them.

Copies in other formats lie beside their file, with the format as suffix: JSON Lines has an object for each row. Apache
Parquet (by pyarrow) has typed columns with nulls, JSON columns as lists and structs where they have a shape, and the
meaning of a column as the field's metadata `description`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import RawIOBase, StringIO
from operator import itemgetter
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import orjson

from experiments.errors import suggestion
from problems.errors import install_line
from storage.column_types import FRACTION, JsonColumn, Shape
from storage.errors import StorageError
from storage.schemas.base import Column

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

Rows = Sequence[Sequence[Any]]
# Includes the full-width forms of = + - @, which Chinese and Japanese spreadsheets treat alike.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Spreadsheets treat a cell with this prefix as text.
ESCAPE = "'"
WHOLE = re.compile("-?[0-9]+")
LINES, PARQUET = "jsonl", "parquet"
GROUP_ROWS = 10_000


class _Lines:
    """The output of the csv writer: it writes lines that end in CR LF, which become LF here.

    With CR LF as line end, the csv writer also quotes cells with a lone carriage return, which would break a row.
    """

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, line: str) -> None:
        self._write(line[:-2] + "\n")


class CsvWriter:
    def __init__(self, file: TextIO, header: Sequence[str]) -> None:
        self._writer = csv.writer(_Lines(file), lineterminator="\r\n")
        self._writer.writerow(header)

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        self._writer.writerows(rows)

    def close(self) -> None:
        """Do nothing: a csv has no end mark."""


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    text = StringIO()
    CsvWriter(text, header).rows(rows)
    return text.getvalue()


class JsonWriter:
    def __init__(self, file: BinaryIO, columns: Sequence[Column]) -> None:
        self._file, self._names = file, [column.name for column in columns]
        self._json = [number for number, column in enumerate(columns) if column.kind == "json"]
        self._between = b"\n"
        file.write(b"[")

    def rows(self, rows: Sequence[Sequence[Any]]) -> None:
        objects = []
        for row in rows:
            cells = list(row)
            for number in self._json:
                if isinstance(cells[number], str):
                    cells[number] = orjson.Fragment(cells[number])
            objects.append(orjson.dumps(dict(zip(self._names, cells, strict=True))))
        self._file.write(self._between + b",\n".join(objects))
        self._between = b",\n"

    def close(self) -> None:
        self._file.write(b"\n]\n")


def is_formula(cell: str) -> bool:
    """True if a spreadsheet would run the cell."""
    return cell.startswith(FORMULA_STARTS)


def escaped(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet would run it."""
    return ESCAPE + cell if is_formula(cell) else cell


class HashingFile(RawIOBase):
    """Writes to a file, and computes the SHA-256 and the number of the bytes written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._hash, self.bytes = file, sha256(), 0

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._hash.update(data)
        self.bytes += len(data)
        self._file.write(data)
        return len(data)


class CsvCells:
    """A csv reader's types of the columns, from the rows as they are written: whole numbers as floats if a cell is
    blank or has a point, as texts if a cell is no number (imported files may have `1.0` and `True`), and a text column
    without any text as numbers that are all missing."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._numbers = [(number, column.name) for number, column in enumerate(columns) if column.kind == "integer"]
        self._empty = {number: column.name for number, column in enumerate(columns)}
        self._floats: set[str] = set()
        self._texts: set[str] = set()
        self.rows = 0

    @property
    def as_floats(self) -> frozenset[str]:
        return frozenset(self._floats - self._texts)

    @property
    def as_texts(self) -> frozenset[str]:
        return frozenset(self._texts)

    @property
    def empty(self) -> frozenset[str]:
        """The columns that have no value in any row."""
        return frozenset(self._empty.values())

    def see(self, rows: Rows) -> None:
        """Look at some rows, and count them."""
        self.rows += len(rows)
        for number in [number for number in self._empty if any(row[number] not in (None, "") for row in rows)]:
            del self._empty[number]
        for number, name in self._numbers:
            for cell in set(map(itemgetter(number), rows)):
                if not (type(cell) is int or (type(cell) is str and cell.isdecimal())):
                    self._see(name, cell)

    def _see(self, name: str, cell: Any) -> None:
        if cell is None or cell == "":
            self._floats.add(name)
        elif not (isinstance(cell, int) or WHOLE.fullmatch(cell)):
            (self._floats if FRACTION.fullmatch(cell) else self._texts).add(name)


def check_formats(formats: Iterable[str]) -> None:
    """Raise StorageError for a format that does not exist."""
    for name in formats:
        if name not in FORMATS:
            raise StorageError(f"no format is called {name!r}{suggestion(name, list(FORMATS))}")


def copy_path(path: str, format_: str) -> str:
    return str(PurePosixPath(path).with_suffix(f".{format_}"))


def copying(format_: str, out: Path, columns: Sequence[Column], batches: Iterator[Rows]) -> Iterator[Rows]:
    """Write rows as they pass; raises StorageError if the package that it needs is not installed."""
    try:
        yield from FORMATS[format_](out, columns, batches)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise StorageError(
            f"--format {format_} needs the package {error.name}. Install it: {install_line(PARQUET)}"
        ) from None


def _copying_lines(out: Path, columns: Sequence[Column], batches: Iterator[Rows]) -> Iterator[Rows]:
    names = [column.name for column in columns]
    json = [number for number, column in enumerate(columns) if column.kind == "json"]
    with out.open("wb") as file:
        for rows in batches:
            for row in rows:
                cells = list(row)
                for number in json:
                    cells[number] = None if row[number] is None else orjson.Fragment(row[number])
                file.write(orjson.dumps(dict(zip(names, cells, strict=True)), option=orjson.OPT_APPEND_NEWLINE))
            yield rows


def _copying_parquet(out: Path, columns: Sequence[Column], batches: Iterator[Rows]) -> Iterator[Rows]:
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    names = [column.name or f"Unnamed: {number}" for number, column in enumerate(columns)]  # as pandas names them
    fields = [pa.field(n, _type(c), metadata={"description": c.meaning}) for n, c in zip(names, columns, strict=True)]
    schema = pa.schema(fields)

    def arrays(group: Rows) -> pa.Table:
        cells = zip(*group, strict=True)
        found = [pa.array(_values(c, some), f.type) for c, f, some in zip(columns, fields, cells, strict=True)]
        return pa.Table.from_arrays(found, schema=schema)

    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        group: list[Sequence[Any]] = []
        for rows in batches:
            group.extend(rows)
            if len(group) >= GROUP_ROWS:
                writer.write_table(arrays(group))
                group = []
            yield rows
        if group:
            writer.write_table(arrays(group))


def _shape(column: Column) -> Shape | None:
    return column.form.shape if isinstance(column.form, JsonColumn) else None


def _values(column: Column, cells: Iterable[Any]) -> list[Any]:
    if _shape(column) is None:
        return list(cells)
    return [None if cell is None else orjson.loads(cell) for cell in cells]


def _type(column: Column) -> pa.DataType:
    import pyarrow as pa

    if (shape := _shape(column)) is not None:
        return _nested(shape)
    return {"integer": pa.int64(), "number": pa.float64()}.get(column.kind, pa.string())


def _nested(shape: Shape) -> pa.DataType:
    import pyarrow as pa

    match shape:
        case "text":
            return pa.string()
        case "boolean":
            return pa.bool_()
        case (item,):
            return pa.list_(_nested(item))
        case Mapping():
            return pa.struct([pa.field(name, _nested(part)) for name, part in shape.items()])
    raise AssertionError(shape)


FORMATS: Mapping[str, Callable[[Path, Sequence[Column], Iterator[Rows]], Iterator[Rows]]] = MappingProxyType(
    {LINES: _copying_lines, PARQUET: _copying_parquet}
)

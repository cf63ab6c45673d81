"""Copies of exported files in other formats, from their typed rows; the released files are always written.

A copy lies beside its file, with the format as its suffix. JSON Lines has an object for each row. Apache Parquet (by
pyarrow) has typed columns with nulls, JSON columns as lists and structs where they have a shape, and the meaning of a
column as the field's metadata `description`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import orjson

from experiments.errors import suggestion
from problems.errors import install_line
from storage.column_types import JsonColumn, Shape
from storage.errors import StorageError
from storage.schemas.base import Column

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

LINES, PARQUET = "jsonl", "parquet"
GROUP_ROWS = 10_000
Batches = Iterable[Sequence[Sequence[Any]]]
"""Rows of database values in batches; the value of a JSON column is its JSON text."""


def check(formats: Iterable[str]) -> None:
    """Raise StorageError for a format that does not exist."""
    for name in formats:
        if name not in FORMATS:
            raise StorageError(f"no format is called {name!r}{suggestion(name, list(FORMATS))}")


def copy_path(path: str, format_: str) -> str:
    return str(PurePosixPath(path).with_suffix(f".{format_}"))


def write(format_: str, out: Path, columns: Sequence[Column], batches: Batches) -> None:
    """Write rows; raises StorageError if the package that it needs is not installed."""
    try:
        FORMATS[format_](out, columns, batches)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise StorageError(
            f"--format {format_} needs the package {error.name}. Install it: {install_line(PARQUET)}"
        ) from None


def _write_lines(out: Path, columns: Sequence[Column], batches: Batches) -> None:
    names = [column.name for column in columns]
    json = [number for number, column in enumerate(columns) if column.kind == "json"]
    with out.open("wb") as file:
        for rows in batches:
            for row in rows:
                cells = list(row)
                for number in json:
                    cells[number] = None if row[number] is None else orjson.Fragment(row[number])
                file.write(orjson.dumps(dict(zip(names, cells, strict=True)), option=orjson.OPT_APPEND_NEWLINE))


def _write_parquet(out: Path, columns: Sequence[Column], batches: Batches) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    names = [column.name or f"Unnamed: {number}" for number, column in enumerate(columns)]  # as pandas names them
    fields = [pa.field(n, _type(c), metadata={"description": c.meaning}) for n, c in zip(names, columns, strict=True)]
    schema = pa.schema(fields)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for rows in _groups(batches):
            cells = zip(*rows, strict=True)
            arrays = [pa.array(_values(c, some), f.type) for c, f, some in zip(columns, fields, cells, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _groups(batches: Batches) -> Iterable[list[Sequence[Any]]]:
    group: list[Sequence[Any]] = []
    for rows in batches:
        group.extend(rows)
        if len(group) >= GROUP_ROWS:
            yield group
            group = []
    if group:
        yield group


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


FORMATS: Mapping[str, Callable[[Path, Sequence[Column], Batches], None]] = MappingProxyType(
    {LINES: _write_lines, PARQUET: _write_parquet}
)

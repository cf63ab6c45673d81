"""Apache Parquet, by pyarrow: typed columns with nulls, and JSON columns as lists and structs where they have a shape.

The meaning of a column is the field's metadata `description`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from storage.column_types import JsonColumn, Shape
from storage.schemas.base import Column

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

ROWS = 10_000
"""The rows of a row group."""


def write(out: Path, columns: Sequence[Column], batches: Iterable[Sequence[Sequence[Any]]]) -> None:
    """Write rows, in groups of ROWS or a few more."""
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    fields = [pa.field(_name(columns, c), _type(c), metadata={"description": c.meaning}) for c in columns]
    schema = pa.schema(fields)
    with pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for rows in _groups(batches):
            cells = zip(*rows, strict=True)
            arrays = [pa.array(_values(c, some), f.type) for c, f, some in zip(columns, fields, cells, strict=True)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _name(columns: Sequence[Column], column: Column) -> str:
    """The column's name; for a column without one, the name that pandas gives it."""
    return column.name or f"Unnamed: {columns.index(column)}"


def _groups(batches: Iterable[Sequence[Sequence[Any]]]) -> Iterable[list[Sequence[Any]]]:
    group: list[Sequence[Any]] = []
    for rows in batches:
        group.extend(rows)
        if len(group) >= ROWS:
            yield group
            group = []
    if group:
        yield group


def _values(column: Column, cells: Iterable[Any]) -> list[Any]:
    if isinstance(column.form, JsonColumn) and column.form.shape is not None:
        return [None if cell is None else orjson.loads(cell) for cell in cells]
    return list(cells)


def _type(column: Column) -> pa.DataType:
    import pyarrow as pa

    if isinstance(column.form, JsonColumn) and column.form.shape is not None:
        return _nested(column.form.shape)
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

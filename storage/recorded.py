"""Imported data in the log: facts `recorded` (a row of a released file) and `imported` (a file that was read).

A person's rows are in a stream of their own, whose number follows from schema, study and person, so the same row is
the same fact wherever it comes from. Rows without a person, and the `imported` facts, are in the study's own stream.
Such streams are read here, never decided upon or resumed. A fact's time is the data's own, or unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import Connection, select

from storage import tables
from storage.schemas.base import Released, Row
from storage.schemas.registry import released

NAMESPACE = UUID("6a1c4f3e-6f0e-5b7e-9a55-1f0a6d2c9b11")
"""Parley's own, drawn once."""
ORIGIN = "import"


def study_stream(study: str) -> str:
    """The stream of a study itself."""
    return str(uuid5(NAMESPACE, f"study\n{study}"))


def person_stream(schema: str, study: str, person: str) -> str:
    """The stream of a person's imported rows."""
    return str(uuid5(NAMESPACE, f"{schema}\n{study}\n{person}"))


def fact(row: Row) -> dict[str, Any]:
    """A row as the data of a `recorded` fact; what is unknown is left out."""
    values = {name: value for name, value in row.values.items() if value is not None}
    data: dict[str, Any] = {"table": row.table, "row": row.seq, "values": values}
    return data | ({"part": row.part} if row.part else {}) | ({"written": row.written} if row.written else {})


def row_of(data: Mapping[str, Any]) -> Row:
    """The row that a `recorded` fact holds."""
    table: Released = released(data["table"])
    values = {column.sql: data["values"].get(column.sql) for column in table.columns}
    return Row(table.name, data["row"], values, data.get("part", ""), data.get("written"))


def recorded_rows(connection: Connection, stream: str) -> list[Row]:
    """The rows of a stream of imported data, in the order in which they were recorded."""
    t = tables.events.c
    found = select(t.data).where(t.stream == stream, t.kind == "recorded").order_by(t.seq)
    return [row_of(data) for data in connection.execute(found).scalars()]


def imports(connection: Connection, study: str, schema: str | None = None) -> list[dict[str, Any]]:
    """What was imported into a study, oldest first: the data of its `imported` facts."""
    t = tables.events.c
    stream = study_stream(study)
    found = connection.execute(select(t.data).where(t.stream == stream, t.kind == "imported").order_by(t.seq)).scalars()
    return [data for data in found if schema in (None, data["schema"])]


def importing_studies(connection: Connection) -> Iterator[str]:
    """The studies that hold imported data."""
    t = tables.events.c
    found = connection.execute(select(t.data).where(t.kind == "imported").order_by(t.stream, t.seq)).scalars()
    yield from dict.fromkeys(data["study"] for data in found)

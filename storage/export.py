"""A study's rows as the released dataset's files: streamed from the tables, in the order of the sessions.

The order is the session's ordinal, then the fact that completed the row. People's sessions are exported unless a study
has none of them or another origin is asked for.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import orjson
from sqlalchemy import Connection, Select, func, select

from experiments.errors import allowed
from storage import tables
from storage.engine import Database
from storage.errors import StorageError
from storage.schemas.base import Released
from storage.schemas.registry import schema as schema_of

ORIGINS = ("person", "bot")
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Written:
    """What an export wrote: each file with its number of rows."""

    origin: str
    sessions: int
    files: dict[Path, int] = field(default_factory=dict)


def export(database: Database, study: str, schema: str, folder: Path, origin: str | None = None) -> Written:
    """Write a study's files in a released schema; raises StorageError with what there is instead."""
    released = schema_of(schema).tables
    with database.connect() as connection:
        chosen = _origin(connection, study, origin)
        _must_record(connection, study, schema)
        t = tables.sessions.c
        sessions = connection.execute(
            select(func.count()).select_from(tables.sessions).where(t.study == study, t.origin == chosen)
        ).scalar_one()
        written = Written(chosen, sessions)
        for table in released:
            path = folder / table.file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="") as file:
                rows = connection.execution_options(yield_per=AT_ONCE).execute(_rows(table, study, chosen))
                written.files[path] = _write(file, table, (tuple(row) for row in rows))
    return written


def _origin(connection: Connection, study: str, wanted: str | None) -> str:
    t = tables.sessions.c
    found = connection.execute(select(t.origin, func.count()).where(t.study == study).group_by(t.origin)).all()
    counts = {row[0]: row[1] for row in found}
    if not counts:
        known = connection.execute(select(t.study).distinct()).scalars().all()
        raise StorageError(f"the database has no session of a study {study!r}{allowed(study, known)}")
    if wanted is not None and wanted not in counts:
        raise StorageError(f"{study!r} has no session of origin {wanted!r}{allowed(wanted, counts)}")
    return wanted or ("person" if "person" in counts else next(iter(sorted(counts))))


def _must_record(connection: Connection, study: str, schema: str) -> None:
    """Raise StorageError where no version of the study fills the schema's tables."""
    t = tables.studies.c
    documents = connection.execute(select(t.document).where(t.name == study)).scalars()
    records = {name for document in documents for name in orjson.loads(document)["file"].get("records", ())}
    if schema not in records:
        raise StorageError(
            f"the study {study!r} does not record {schema!r}{allowed(schema, records)} "
            f"Add `records: [{schema}]` to its file before people take part."
        )


def _rows(released: Released, study: str, origin: str) -> Select[Any]:
    table = released.table()
    columns = [table.c[column.sql] for column in released.columns]
    if released.of_study:
        return select(*columns).where(table.c["_study"] == study, table.c["_session"] == "").order_by(*_keys(released))
    t = tables.sessions.c
    return (
        select(*columns)
        .join(tables.sessions, table.c["_session"] == t.stream)
        .where(t.study == study, t.origin == origin)
        .order_by(t.ordinal, table.c["_seq"], *_keys(released))
    )


def _keys(released: Released) -> list[Any]:
    return [released.table().c[name] for name in released.key]


def _write(file: TextIO, released: Released, rows: Iterator[tuple[Any, ...]]) -> int:
    return (_write_json if released.file.endswith(".json") else _write_csv)(file, released, rows)


def _write_csv(file: TextIO, released: Released, rows: Iterator[tuple[Any, ...]]) -> int:
    """As pandas' `to_csv` writes: minimal quotes, a line feed, nothing for what is unknown."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([column.name for column in released.columns])
    count = 0
    for row in rows:
        writer.writerow(row)
        count += 1
    return count


def _write_json(file: TextIO, released: Released, rows: Iterator[tuple[Any, ...]]) -> int:
    """A list of objects, one on a line; columns of kind json hold their value."""
    count = 0
    file.write("[")
    for row in rows:
        file.write(("," if count else "") + "\n" + orjson.dumps(_object(released, row)).decode())
        count += 1
    file.write("\n]\n")
    return count


def _object(released: Released, row: Sequence[Any]) -> dict[str, Any]:
    return {
        column.name: orjson.loads(value) if column.kind == "json" and value is not None else value
        for column, value in zip(released.columns, row, strict=True)
    }

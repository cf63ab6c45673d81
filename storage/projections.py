"""The released tables as projections of the log: what a session's rows are, which of them changed, and rebuilding all.

Live and rebuilt rows come from the same function of the folded state, so they are equal; a property test holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine, delete, select

from experiments.core.place import State
from experiments.core.resolve import Study
from experiments.core.session import fold
from storage import tables
from storage.engine import writer
from storage.log import Log, upsert_rows
from storage.schemas.base import Row
from storage.schemas.registry import released, schemas
from storage.studies import Studies

Rows = Mapping[tuple[Any, ...], Row]


def rows_of(study: Study, state: State) -> dict[tuple[Any, ...], Row]:
    """Every row that a session's facts imply, by table and key."""
    found = (row for name in study.file.records for row in schemas()[name].rows(study, state))
    return {(row.table, *(row.values[part] for part in released(row.table).key)): row for row in found}


def changed_rows(before: Rows, after: Rows) -> tuple[Row, ...]:
    """The rows that are new or different."""
    return tuple(row for key, row in after.items() if before.get(key) != row)


def rebuild(engine: Engine, log: Log, studies: Studies) -> int:
    """Empty the released tables and fill them again from the log; the number of sessions read."""
    with engine.connect() as connection:
        t = tables.sessions.c
        streams = connection.execute(select(t.stream, t.hash).order_by(t.study, t.ordinal)).all()
        kept = connection.execute(select(tables.studies.c.hash)).scalars().all()
    with writer(engine) as connection, connection.begin():
        for schema in schemas().values():
            for table in schema.tables:
                connection.execute(delete(table.table()))
        for hash_ in kept:
            study = studies.get(hash_)
            for name in study.file.records:
                upsert_rows(connection, study.name, "", schemas()[name].study_rows(study))
        for stream, hash_ in streams:
            study = studies.get(hash_)
            upsert_rows(connection, study.name, stream, rows_of(study, fold(log.load(stream))).values())
    return len(streams)

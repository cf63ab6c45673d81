"""The released tables as projections of the log: what a session's rows are, which of them changed, and rebuilding all.

Live and rebuilt rows come from the same function of the folded state, so they are equal; a property test holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, select

from experiments.core.place import State
from experiments.core.resolve import Study
from experiments.core.session import fold
from storage import tables
from storage.engine import Database, writer
from storage.log import load, upsert_rows
from storage.schemas.base import Row
from storage.schemas.registry import released, schemas
from storage.studies import Studies

Rows = Mapping[tuple[Any, ...], Row]


def rows_of(study: Study, state: State) -> dict[tuple[Any, ...], Row]:
    """Every row that a session's facts imply, by table and key."""
    return _by_key(row for name in study.file.records for row in schemas()[name].rows(study, state))


def _by_key(rows: Iterable[Row]) -> dict[tuple[Any, ...], Row]:
    return {(row.table, *(row.values[part] for part in released(row.table).key)): row for row in rows}


def changed_rows(before: Rows, after: Rows) -> tuple[Row, ...]:
    """The rows that are new or different."""
    return tuple(row for key, row in after.items() if before.get(key) != row)


def rebuild(database: Database) -> int:
    """Empty the released tables and fill them again from the log, in one transaction; the number of sessions read."""
    studies, count = Studies(database), 0
    with writer(database) as connection, connection.begin():
        for schema in schemas().values():
            for table in schema.tables:
                connection.execute(delete(table.table()))
        for study, stream, rows in _implied(database, studies):
            upsert_rows(connection, study, stream, rows.values())
            count += bool(stream)
    return count


def differences(database: Database) -> Iterator[str]:
    """Where the released tables are not what the log implies: a sentence for each row."""
    seen: Counter[str] = Counter()
    with database.connect() as connection:
        for study, stream, rows in _implied(database, Studies(database)):
            for row in rows.values():
                seen[row.table] += 1
                yield from _difference(connection, study, stream, row)
        for schema in schemas().values():
            for item in schema.tables:
                stored = connection.execute(select(func.count()).select_from(item.table())).scalar_one()
                if stored > seen[item.name]:
                    yield f"{item.name}: {stored} rows are stored, {seen[item.name]} are implied by the log"


def _implied(database: Database, studies: Studies) -> Iterator[tuple[str, str, Rows]]:
    """The rows of every study (with an empty stream) and of every session, one after another."""
    with database.connect() as connection:
        kept = (
            connection.execute(select(tables.studies.c.hash).order_by(tables.studies.c.registered_us)).scalars().all()
        )
        t = tables.sessions.c
        sessions = connection.execute(select(t.stream, t.hash).order_by(t.study, t.ordinal)).all()
    own: dict[str, dict[tuple[Any, ...], Row]] = {}
    for study in map(studies.get, kept):  # a later version's row takes the place of an earlier one's
        rows = (row for name in study.file.records for row in schemas()[name].study_rows(study))
        own.setdefault(study.name, {}).update(_by_key(rows))
    yield from ((name, "", rows) for name, rows in own.items())
    for stream, hash_ in sessions:
        study = studies.get(hash_)
        yield study.name, stream, rows_of(study, fold(load(database, stream)))


def _difference(connection: Connection, study: str, stream: str, row: Row) -> Iterator[str]:
    item = released(row.table)
    table = item.table()
    key = {"_study": study, "_session": stream, **{name: row.values[name] for name in item.key}}
    found = connection.execute(select(table).where(*(table.c[name] == value for name, value in key.items()))).first()
    where = f"{row.table}, " + ", ".join(f"{name} {value}" for name, value in key.items())
    if found is None:
        yield f"{where}: the row is missing"
        return
    stored = found._mapping
    for name, value in {"_seq": row.seq, **row.values}.items():
        if stored[name] != value:
            yield f"{where}: {name} is {stored[name]!r}, the log implies {value!r}"

"""The released tables as projections of the log: a session's rows, changed rows, and rebuilding all tables.

Live and rebuilt rows are made by one function of the folded state, so they are equal; a property test checks that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from experiments.session.engine import fold
from experiments.study.location import State
from experiments.study.study import Study
from storage import tables
from storage.ai_alone.answers import alone_rows
from storage.db.engine import Database, writer
from storage.db.upsert import RowOwner, own_columns, upsert_rows
from storage.log import usage
from storage.log.event_log import facts
from storage.log.seat_projection import rebuild_seats
from storage.registers.imported_rows import importing_studies, recorded_rows
from storage.registers.origins import Origin
from storage.registers.stream_ids import study_stream
from storage.registers.studies import Studies
from storage.schemas.base import ReleasedRow
from storage.schemas.registry import released, schemas

Key = tuple[Any, ...]
Rows = Mapping[Key, ReleasedRow]


def rows_of(study: Study, state: State) -> Rows:
    """The rows that a session's events imply, by key; none for a withdrawn session."""
    if state.outcome == "withdrawn":
        return {}
    return _by_key(row for name in study.file.export_schemas for row in schemas()[name].rows(study, state))


def _by_key(rows: Iterable[ReleasedRow]) -> dict[Key, ReleasedRow]:
    return {(row.table, row.part, row.seq, *_own(row)): row for row in rows}


def _own(row: ReleasedRow) -> Iterator[Any]:
    return (row.values[name] for name in released(row.table).key)


def changed_rows(before: Rows, after: Rows) -> tuple[ReleasedRow, ...]:
    """The new or changed rows. Most rows are identical objects, so identity is checked before equality."""
    return tuple([row for key, row in after.items() if (was := before.get(key)) is not row and was != row])


def rebuild(database: Database) -> int:
    """Rebuild the projected tables from the log in one transaction; returns the number of sessions read."""
    studies, count = Studies(database), 0
    made = [item.table() for schema in schemas().values() for item in schema.tables]
    with writer(database) as connection, connection.begin():
        tables.metadata.drop_all(connection, made)
        tables.metadata.create_all(connection, made)
        for owner, rows in _implied(connection, studies):
            upsert_rows(connection, owner, rows.values())
            count += owner.stream not in ("", study_stream(owner.study))
        rebuild_seats(connection, studies)
        usage.recount(connection)
    return count


def differences(database: Database) -> Iterator[str]:
    """Differences between the released tables and the rows that the log implies: a sentence for each row."""
    seen: Counter[str] = Counter()
    with database.connect() as connection:
        for owner, rows in _implied(connection, Studies(database)):
            for row in rows.values():
                seen[row.table] += 1
                yield from _difference(connection, owner, row)
        for schema in schemas().values():
            for item in schema.tables:
                stored = connection.execute(select(func.count()).select_from(item.table())).scalar_one()
                if stored > seen[item.name]:
                    yield f"{item.name}: {stored} rows are stored, {seen[item.name]} are implied by the log"


def _implied(connection: Connection, studies: Studies) -> Iterator[tuple[RowOwner, Rows]]:
    """Yield the rows of every study and session, from one snapshot."""
    kept = connection.execute(select(tables.studies.c.hash).order_by(tables.studies.c.registered_us)).scalars().all()
    t = tables.sessions.c
    sessions = connection.execute(select(t.study, t.stream, t.hash, t.origin).order_by(t.study, t.ordinal)).all()
    imported = [(name, study_stream(name)) for name in importing_studies(connection)]
    own: dict[str, dict[Key, ReleasedRow]] = {}
    for study in map(studies.get, kept):  # rows of later versions replace those of earlier ones
        rows = (row for name in study.file.export_schemas for row in schemas()[name].study_rows(study))
        own.setdefault(study.name, {}).update(_by_key(rows))
    for name, found in own.items():
        yield RowOwner(name), found | _by_key(alone_rows(connection, name))
    for name, stream in (*imported, *((s.study, s.stream) for s in sessions if s.origin == Origin.IMPORT)):
        yield RowOwner(name, stream, Origin.IMPORT), _by_key(recorded_rows(connection, stream))
    for name, stream, hash_, origin in sessions:
        if origin != Origin.IMPORT:
            yield RowOwner(name, stream, origin), rows_of(studies.get(hash_), fold(facts(connection, stream)))


def _difference(connection: Connection, owner: RowOwner, row: ReleasedRow) -> Iterator[str]:
    table = released(row.table).table()
    implied = {**own_columns(owner, row), **row.values}
    key = [column.name for column in table.primary_key]
    found = (
        connection.execute(select(table).where(*(table.c[name] == implied[name] for name in key))).mappings().first()
    )
    where = f"{row.table}, " + ", ".join(f"{name} {implied[name]}" for name in key if implied[name] != "")
    if found is None:
        yield f"{where}: the row is missing"
        return
    for name, value in implied.items():
        if found[name] != value:
            yield f"{where}: {name} is {found[name]!r}, the log implies {value!r}"

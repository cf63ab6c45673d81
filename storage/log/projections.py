"""The released tables and the seats, rebuilt from the log and compared with it.

Live and rebuilt rows are made by one function of the folded state, so they are equal; a property test checks that.
Rebuilding the seats replaces a table made by an older Parley. Data that no event holds are kept: sessions returned to
the recruiter, the cells of withdrawn sessions, and the number of pastes, from telemetry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, func, select, update

from experiments.session.engine import fold
from experiments.study.location import State, language_of
from experiments.study.study import Study
from storage import tables
from storage.ai_alone.answers import alone_rows
from storage.db.engine import Database, writer
from storage.db.upsert import RowOwner, own_columns, upsert_rows
from storage.log.event_log import facts
from storage.log.seats import WITHDRAWN, insert_seat, seat_changes, until_us, update_seat
from storage.log.telemetry import PASTED
from storage.log.writer import recount_usage
from storage.registers.imported_rows import importing_studies, recorded_rows
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.registers.study_status import study_stream
from storage.schemas.base import ReleasedRow
from storage.schemas.registry import Key, Rows, by_key, released, rows_of, schemas

_seat, _session = tables.seats.c, tables.sessions.c


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
        for stream, _, joined in _joined(connection):
            connection.execute(update(tables.sessions).where(_session.stream == stream).values(joined))
        recount_usage(connection)
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
        for stream, kept, implied in _joined(connection):
            yield f"session {stream}: it is stored as {kept}, the log implies {implied}"


def _joined(connection: Connection) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Sessions not joined with others of their person as in their first events: columns stored, and implied."""
    event, names = tables.events.c, ("person", "wave")
    query = select(_session.stream, _session.person, _session.wave, event.data)
    query = query.join(tables.events, (event.stream == _session.stream) & (event.seq == 1) & (event.kind == "enrolled"))
    for stream, person, wave, data in connection.execute(query).all():
        stored, implied = {"person": person, "wave": wave}, {name: data.get(name) for name in names}
        if stored != implied:
            yield stream, stored, implied


def _implied(connection: Connection, studies: Studies) -> Iterator[tuple[RowOwner, Rows]]:
    """Yield the rows of every study and session, from one snapshot."""
    kept = connection.execute(select(tables.studies.c.hash).order_by(tables.studies.c.registered_us)).scalars().all()
    t = tables.sessions.c
    sessions = connection.execute(select(t.study, t.stream, t.hash, t.origin).order_by(t.study, t.ordinal)).all()
    imported = [(name, study_stream(name)) for name in importing_studies(connection)]
    own: dict[str, dict[Key, ReleasedRow]] = {}
    for study in map(studies.get, kept):  # rows of later versions replace those of earlier ones
        rows = (row for name in study.file.export_schemas for row in schemas()[name].study_rows(study))
        own.setdefault(study.name, {}).update(by_key(rows))
    for name, found in own.items():
        yield RowOwner(name), found | by_key(alone_rows(connection, name))
    for name, stream in (*imported, *((s.study, s.stream) for s in sessions if s.origin == Origin.IMPORT)):
        yield RowOwner(name, stream, Origin.IMPORT), by_key(recorded_rows(connection, stream))
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


def rebuild_seats(connection: Connection, studies: Studies) -> None:
    known = {stream: (cell, us) for stream, cell, us in connection.execute(_KNOWN)}
    pasted: dict[str, int] = {stream: count for stream, count in connection.execute(_PASTED)}
    tables.metadata.drop_all(connection, [tables.seats])
    tables.metadata.create_all(connection, [tables.seats])
    columns = (_session.stream, _session.study, _session.hash, _session.origin)
    sessions = connection.execute(select(*columns).where(_session.origin != Origin.IMPORT).order_by(_session.ordinal))
    for stream, name, hash_, origin in sessions.all():
        study, state = studies.get(hash_), fold(facts(connection, stream))
        cell, released_us = known.get(stream, ("{}", None))
        withdrawn = state.outcome == WITHDRAWN
        insert_seat(connection, stream, {"study": name, "origin": origin, **_started(study, state)}, state.factors)
        update_seat(connection, stream, seat_changes(study, State(), state))
        more: Mapping[str, Any] = {"released_us": released_us, "pasted": 0 if withdrawn else pasted.get(stream, 0)}
        kept = {**more, "cell": cell} if withdrawn else more
        connection.execute(update(tables.seats).where(_seat.stream == stream).values(kept))


_KNOWN = select(_seat.stream, _seat.cell, _seat.released_us)
_PASTED = (
    select(tables.telemetry.c.stream, func.count())
    .where(tables.telemetry.c.kind == PASTED)
    .group_by(tables.telemetry.c.stream)
)


def _started(study: Study, state: State) -> dict[str, Any]:
    """The columns of a session's seat that are set at its start."""
    begun_us = state.events[0].at_us
    if state.outcome == WITHDRAWN:
        return {"begun_us": begun_us, "until_us": begun_us, "language": ""}
    return {"begun_us": begun_us, "until_us": until_us(study, begun_us), "language": language_of(study, state)}

"""The sessions of a study: a page of those that a query finds, newest first, or one with all its events.

Lists come from the register and the seats, so they cost the same however long sessions are. Imported sessions have no
seat, only a number and an origin.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, bindparam, case, false, func, select

from experiments.events import Event
from experiments.study.study import Study
from storage import tables
from storage.datasets.tidy.columns import own_id, person_id, session_id
from storage.db.engine import Database
from storage.errors import StorageError
from storage.log import seats
from storage.log.event_log import facts
from storage.log.seats import LEFT, LIVE, WITHDRAWN, in_progress, status_at
from storage.registers.imported_rows import row_of, streams_of_nobody
from storage.registers.origins import ORIGINS, Origin
from storage.registers.participants import Participants
from storage.registers.studies import Studies
from storage.schemas.base import ReleasedRow
from storage.schemas.registry import schemas

PAGE = 25
# The flag of a session whose pages reported pasting.
PASTED = "pasted"
MOST_DIGITS = 7
_NUMBER = re.compile(r"(?:no\.?\s*|#)?(\d+)", re.IGNORECASE)
_STREAM = re.compile(r"[0-9a-f-]{1,36}", re.IGNORECASE)
_session, _seat, _study = tables.sessions.c, tables.seats.c, tables.studies.c


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Empty fields do not filter."""

    text: str = ""
    """A session's number, or the beginning of its stream's id."""
    origins: tuple[str, ...] = ()
    stands: str = ""
    """`live`, `left`, or an outcome."""
    cell: Mapping[str, str] = field(default_factory=dict)
    flag: str = ""
    excluded: bool | None = None
    since_us: int | None = None
    until_us: int | None = None
    """Started from `since_us` on, and before `until_us`."""
    language: str = ""
    streams: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class SessionListItem:
    """A session in a list; for an imported one, facts that only a seat has are None or empty."""

    number: int
    stream: str
    origin: str
    hash: str
    version: int | None
    begun_us: int | None
    last_us: int | None
    cell: Mapping[str, str]
    stands: str
    place: str
    language: str
    flags: tuple[str, ...]
    pasted: int
    excluded: str | None
    wave: str | None

    @property
    def imported(self) -> bool:
        return self.origin == Origin.IMPORT


@dataclass(frozen=True, slots=True)
class SessionPage:
    entries: tuple[SessionListItem, ...]
    more: bool
    matching: int


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session with its facts and its study; an imported one has the rows of its source in place of both."""

    entry: SessionListItem
    events: tuple[Event, ...] = ()
    study: Study | None = None
    rows: tuple[ReleasedRow, ...] = ()


def sessions(
    database: Database, study: str, query: SessionQuery, now_us: int, before: int | None = None
) -> SessionPage:
    """The newest sessions that are wanted, of those with a smaller number than `before`."""
    with database.connect() as connection:
        somebody = _session.stream.not_in(streams_of_nobody(study))
        wanted = _entries(study, now_us).where(somebody, *_conditions(connection, study, query, now_us))
        matching = connection.execute(wanted.with_only_columns(func.count())).scalar_one()
        older = wanted.where(_session.ordinal < before) if before else wanted
        statement = older.order_by(_session.ordinal.desc()).limit(PAGE + 1)
        found = [_entry(row) for row in connection.execute(statement)]
    return SessionPage(tuple(found[:PAGE]), len(found) > PAGE, matching)


def count_by_origin(database: Database, study: str) -> Mapping[str, int]:
    """Imported sessions are included."""
    somebody = _session.stream.not_in(streams_of_nobody(study))
    counted = select(_session.origin, func.count()).where(_session.study == study, somebody).group_by(_session.origin)
    with database.connect() as connection:
        return {origin: number for origin, number in connection.execute(counted)}


def read_session(database: Database, studies: Studies, study: str, number: int, now_us: int) -> SessionRecord:
    """A session by its number; raises StorageError where the study has none of that number."""
    with database.connect() as connection:
        row = connection.execute(_entries(study, now_us).where(_session.ordinal == number)).first()
        if row is None:
            raise StorageError(
                f"{study!r} has no session number {number:,}; sessions are numbered from 1 as they start"
            )
        entry = _entry(row)
        events = facts(connection, entry.stream)
    if entry.imported:
        return SessionRecord(entry, rows=tuple(row_of(event.data) for event in events if event.kind == "recorded"))
    return SessionRecord(entry, events, studies.get(entry.hash))


def waves_of(database: Database, stream: str) -> Mapping[str, int]:
    """The numbers of the sessions of the same person by wave; empty in a study without waves."""
    mine = select(_session.person).where(_session.stream == stream).scalar_subquery()
    own = select(_session.wave, _session.ordinal).where(_session.person == mine).order_by(_session.ordinal)
    with database.connect() as connection:
        return {row.wave: row.ordinal for row in connection.execute(own)}


def cells_of(database: Database, study: str) -> tuple[Mapping[str, str], ...]:
    with database.connect() as connection:
        return tuple(seats.cells_of(connection, study).values())


def outcomes(
    database: Database, studies: Collection[str], now_us: int, waves: Collection[str] = ()
) -> Mapping[tuple[str, str], Mapping[str, int]]:
    """The people by study and origin, then status, with `waves` of the newest session; an index counts ended ones."""
    found: dict[tuple[str, str], dict[str, int]] = {(study, origin): {} for study in studies for origin in ORIGINS}
    conditions = _seat.study.in_(studies), _seat.origin.in_(ORIGINS)
    ended, going, later = _seat.outcome.is_not(None), status_at(now_us), tables.sessions.alias()
    newer = and_(later.c.person == _session.person, later.c.ordinal > _session.ordinal)
    earlier = _seat.stream.in_(select(_session.stream).join(later, newer).where(_session.study.in_(waves)))
    counted = [(1, _seat.outcome, ended), (1, going, ~ended), *([(-1, going, earlier)] if waves else [])]
    with database.connect() as connection:
        for sign, status, which in counted:
            grouped = select(_seat.study, _seat.origin, status.label("stands"), func.count()).where(*conditions, which)
            for study, origin, word, number in connection.execute(
                grouped.group_by(_seat.study, _seat.origin, "stands")
            ):
                found[study, origin][word] = found[study, origin].get(word, 0) + sign * number
    return found


def _entries(study: str, now_us: int) -> Select[Any]:
    seated = tables.sessions.outerjoin(tables.seats, _seat.stream == _session.stream)
    joined = seated.outerjoin(tables.studies, _study.hash == _session.hash)
    status = case((_seat.stream.is_(None), ""), else_=status_at(now_us))
    columns = (_seat.begun_us, _seat.last_us, _seat.cell, status.label("stands"), _seat.place)
    more = (_seat.language, _seat.flags, _seat.pasted, _seat.excluded)
    own = (_session.ordinal, _session.stream, _session.origin, _session.hash, _study.version, _session.wave)
    return select(*own, *columns, *more).select_from(joined).where(_session.study == study)


def _entry(row: Row[Any]) -> SessionListItem:
    flags = tuple(filter(None, (row.flags or "").split(",")))
    return SessionListItem(
        number=row.ordinal,
        stream=row.stream,
        origin=row.origin,
        hash=row.hash,
        version=row.version,
        begun_us=None if row.stands == WITHDRAWN else row.begun_us or None,  # its seat has when it was erased
        last_us=row.last_us or None,
        cell=orjson.loads(row.cell) if row.cell else {},
        stands=row.stands,
        place=row.place or "",
        language=row.language or "",
        flags=(*flags, PASTED) if row.pasted else flags,
        pasted=row.pasted or 0,
        excluded=row.excluded,
        wave=row.wave,
    )


def _conditions(connection: Connection, study: str, query: SessionQuery, now_us: int) -> Iterator[ColumnElement[bool]]:
    if query.text.strip():
        yield _called(query.text.strip())
    if query.origins:
        yield _session.origin.in_(query.origins)
    if query.streams is not None:
        yield _session.stream.in_(query.streams)
    if query.stands:
        yield _standing(study, query.stands, now_us)
    if query.cell:
        cells = seats.cells_of(connection, study)
        yield _seat.cell.in_([cell for cell, has in cells.items() if query.cell.items() <= has.items()])
    yield from _answer_filters(query)


def _answer_filters(query: SessionQuery) -> Iterator[ColumnElement[bool]]:
    if query.flag == PASTED:
        yield _seat.pasted > 0
    elif query.flag:
        yield ("," + _seat.flags + ",").contains(f",{query.flag},", autoescape=True)
    if query.excluded is not None:
        out = _seat.excluded.is_not(None) if query.excluded else _seat.excluded.is_(None)
        yield and_(_seat.stream.is_not(None), out)
    if query.since_us is not None:
        yield _seat.begun_us >= query.since_us
    if query.until_us is not None:
        yield _seat.begun_us < query.until_us
    if query.language:
        yield _seat.language == query.language


def _standing(study: str, status: str, now_us: int) -> ColumnElement[bool]:
    in_study = _seat.study == study
    if status == LIVE:
        return and_(in_study, in_progress(now_us))
    if status == LEFT:
        return and_(in_study, _seat.outcome.is_(None), ~in_progress(now_us))
    return and_(in_study, _seat.outcome == status)


def _called(text: str) -> ColumnElement[bool]:
    number = _NUMBER.fullmatch(text)
    if number and len(number[1]) <= MOST_DIGITS:
        return _session.ordinal == int(number[1])
    return _session.stream.startswith(text.lower()) if _STREAM.fullmatch(text) else false()


_session, _fact = tables.sessions.c, tables.events.c
_CALLED = select(_session.study, _session.ordinal).where(_session.stream == bindparam("stream"))


def not_found(name: str) -> StorageError:
    return StorageError(
        f"no session found for {name!r}; allowed: a recruiter's ID, a session's ID, or an ID in exported data. A "
        "recruiter's ID that was deleted (`keep_ids_for`) leads to no session any more"
    )


def find_sessions(database: Database, participants: Participants, name: str, study: str = "") -> tuple[str, ...]:
    """The streams of the sessions with this name, in one study or in any; imported ones have none here."""
    with database.connect() as connection:
        query = select(_session.stream, _session.study).where(_session.origin != Origin.IMPORT)
        studies = {row.stream: row.study for row in connection.execute(query)}
        found = dict.fromkeys(_matching_id(connection, participants, name, {study} if study else set(studies.values())))
    return tuple(stream for stream in found if stream in studies and study in ("", studies[stream]))


def own_streams(database: Database, study: str) -> tuple[str, ...]:
    """The streams of a study's sessions, in the order of arrival; without imported ones."""
    query = select(_session.stream).where(_session.study == study, _session.origin != Origin.IMPORT)
    with database.connect() as connection:
        return tuple(connection.execute(query.order_by(_session.ordinal)).scalars())


def session_label(database: Database, stream: str) -> str:
    """A session as researchers call it: `sums No. 12`."""
    with database.connect() as connection:
        return "{} No. {}".format(*connection.execute(_CALLED, {"stream": stream}).one())


def _matching_id(connection: Connection, participants: Participants, name: str, studies: set[str]) -> Iterator[str]:
    yield name
    for study in sorted(studies):
        yield from participants.called(study, name)
    ids = (session_id, own_id, *{one.participant for one in schemas().values() if one.participant})
    began = select(_fact.stream, _fact.data).where(_fact.seq == 1, _fact.kind == "enrolled")
    for stream, data in connection.execute(began):
        if person_id(data) == name or any(id_(data["seed"]) == name for id_ in ids):
            yield stream
    others = (table for one in schemas().values() if one.participant is None for table in one.tables if table.person)
    for released in others:  # their ids are of conversations
        own = released.table().c
        column = next(column.sql for column in released.columns if column.name == released.person)
        yield from connection.execute(select(own["_session"]).where(own[column] == name).distinct()).scalars()

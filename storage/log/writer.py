"""Write requests to the log, each carried out completely or not at all, in the transaction that the log has begun.

Model usage by study, origin and hour is written with each attempt. Two batches that update the same rows in different
order would deadlock in PostgreSQL, so a batch with more than one attempt takes a lock first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    ScalarSelect,
    bindparam,
    case,
    cast,
    delete,
    func,
    insert,
    select,
    update,
)

from experiments.events import Event
from problems.attachments import NewPicture
from storage import tables
from storage.db.append_events import append_events
from storage.db.engine import advisory_xact_lock
from storage.db.upsert import RowOwner, insert_into, upsert, upsert_rows
from storage.errors import Conflict
from storage.log.erasure import REDACTED, erase
from storage.log.quota import StudyCounts
from storage.log.seats import SessionSummary, insert_seat, lock, update_seat
from storage.log.telemetry import TelemetryBatch, write_telemetry
from storage.registers.contacts import MAIL
from storage.registers.origins import Origin
from storage.registers.persons import siblings
from storage.registers.session_pictures import delete_pictures, store_picture
from storage.schemas.base import ReleasedRow


@dataclass(frozen=True, slots=True)
class Enrolment:
    study: str
    hash: str
    origin: str
    identity: Mapping[str, Any] | None = None
    cell: Mapping[str, str] = field(default_factory=dict)
    begun_us: int = 0
    until_us: int = 0
    """The time until which its seat is kept in any case."""
    language: str = ""
    person: str | None = None
    wave: str | None = None
    again: bool = False
    """True if the person has an earlier session; if that was withdrawn meanwhile, none starts."""


@dataclass(frozen=True, slots=True)
class ClearedDraft:
    """A draft to delete because it was sent: some fields at a path, or all fields there."""

    path: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """Data written together: events of one stream, the rows that they imply, the sent part of a draft, and the changed
    columns of its seat. With `erases` all earlier data of the stream are deleted."""

    stream: str
    study: str
    events: tuple[Event, ...]
    origin: str = ""
    rows: tuple[ReleasedRow, ...] = ()
    enrolment: Enrolment | None = None
    spent: ClearedDraft | None = None
    seat: Mapping[str, Any] = field(default_factory=dict)
    erases: bool = False
    picture: NewPicture | None = None
    """The picture that is attached by an event."""
    dropped: frozenset[str] = frozenset()
    """The hashes of those that no event needs any longer."""


@dataclass(frozen=True, slots=True)
class AppendWithCounts:
    """Events that depend on other sessions: `make` reads their counts in the transaction, in which nobody else counts,
    and returns what to write. If `make` raises, nothing is written and the future raises it."""

    stream: str
    now_us: int
    make: Callable[[StudyCounts], Append]


@dataclass(frozen=True, slots=True)
class DraftRow:
    stream: str
    path: str
    data: Mapping[str, Any]
    at_us: int


@dataclass(frozen=True, slots=True)
class AttemptRow:
    values: Mapping[str, Any]

    @property
    def stream(self) -> str:
        return str(self.values["stream"])

    @property
    def of_session(self) -> bool:
        return self.values.get("cell") is None


Work = Append | AppendWithCounts | DraftRow | AttemptRow | TelemetryBatch


# Kinds of events by which a participant leaves a step.
LEFT = ("submitted", "expired")
# The columns that identify the reply of an attempt.
REPLY = ("stream", "turn", "slot")
_event, _draft, _attempt = tables.events.c, tables.drafts.c, tables.attempts.c
_THERE = (_draft.stream == bindparam("at_stream"), _draft.path == bindparam("at_path"))
# The unsent draft at `at_stream` and `at_path`.
TYPED = select(_draft.data).where(*_THERE)
_KEEP = update(tables.drafts).where(*_THERE)
_FORGET = delete(tables.drafts).where(*_THERE)
_LEFT = select(_event.seq).where(
    _event.stream == bindparam("at_stream"), _event.path == bindparam("at_path"), _event.kind.in_(LEFT)
)


@cache
def _adding_sample(dialect: str) -> Any:
    return insert_into(tables.attempts, dialect).on_conflict_do_nothing()


def _next(number: Column[int], *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    """The number after the last existing one, from 1."""
    return select(func.coalesce(func.max(number), 0) + 1).where(*conditions).scalar_subquery()


_ADD_ATTEMPT = (
    insert(tables.attempts)
    .inline()
    .values(number=_next(_attempt.number, *(_attempt[name] == bindparam(f"at_{name}") for name in REPLY)))
)


def write(connection: Connection, work: Work) -> Append | None:
    """Carry out one request in the open transaction; for an AppendWithCounts, return the data appended."""
    match work:
        case Append():
            _write_append(connection, work)
        case AppendWithCounts():
            lock(connection)
            made = work.make(StudyCounts(connection, work.now_us))
            _write_append(connection, made)
            return made
        case AttemptRow():
            _write_attempt(connection, work)
        case DraftRow():
            _write_draft(connection, work)
        case TelemetryBatch():
            if not is_erased(connection, work.stream):
                write_telemetry(connection, work)
    return None


def _write_draft(connection: Connection, row: DraftRow) -> None:
    if not _is_done(connection, row) and not is_erased(connection, row.stream):
        draft = {"stream": row.stream, "path": row.path, "data": dict(row.data), "at_us": row.at_us}
        upsert(connection, tables.drafts, [draft], ("stream", "path"))


def _write_attempt(connection: Connection, row: AttemptRow) -> None:
    """Write an attempt, numbered from 1 for a session's reply, across restarts; of a sample's the first is kept."""
    values = row.values
    if not row.of_session:
        connection.execute(_adding_sample(connection.dialect.name), dict(values))
        return
    lock_usage(connection)  # two processes may request one reply at once
    emptied = REDACTED if is_erased(connection, values["stream"]) else {}
    counted = {name: value for name, value in values.items() if name != "number"}
    same_reply = {f"at_{name}": values[name] for name in REPLY}
    connection.execute(_ADD_ATTEMPT, {**counted, **emptied, **same_reply})
    add_usage(connection, values)


def _is_done(connection: Connection, row: DraftRow) -> bool:
    """True if the participant has left the step before its draft arrived, so there is no draft to store."""
    return connection.execute(_LEFT, {"at_stream": row.stream, "at_path": row.path}).first() is not None


def _write_append(connection: Connection, append: Append) -> None:
    if append.enrolment:
        _enrol(connection, append.stream, append.enrolment)
    append_events(connection, ((append.stream, event) for event in append.events))
    # Only after the insert, which holds the lock: a writer that missed an erasure could reuse the erased numbers.
    if append.erases:
        _erase_person(connection, append.stream, append.events[0])
    elif is_erased(connection, append.stream):
        raise Conflict(f"{append.stream}: the session was erased")
    elif append.origin == Origin.REHEARSAL and is_removed(connection, append.stream):
        raise Conflict(f"{append.stream}: the rehearsal was removed")
    _write_pictures(connection, append)
    if append.rows:
        upsert_rows(connection, RowOwner(append.study, append.stream, append.origin), append.rows)
    if append.spent is not None:
        _spend(connection, append.stream, append.spent)
    update_seat(connection, append.stream, append.seat)


def _write_pictures(connection: Connection, append: Append) -> None:
    if append.picture:
        store_picture(connection, append.stream, append.picture)
    if append.dropped:
        delete_pictures(connection, append.stream, append.dropped)


def _erase_person(connection: Connection, stream: str, event: Event) -> None:
    """Erase a session and all others of its person, each of which gets such an event, and what joins them."""
    session, outcome = tables.sessions, select(tables.seats.c.outcome)
    person = connection.execute(select(session.c.person).where(session.c.stream == stream)).scalar()
    for other in siblings(connection, person, erases=True) if person else ():
        if other != stream:
            was = connection.execute(outcome.where(tables.seats.c.stream == other)).scalar() or "live"
            seq = connection.execute(select(_next(_event.seq, _event.stream == other))).scalar_one()
            own = replace(event, seq=seq, key=None, data={**event.data, "was": was})
            append_events(connection, [(other, own)])
            erase(connection, other, own)
            update_seat(connection, other, asdict(SessionSummary("withdrawn", last_us=event.at_us)))
    erase(connection, stream, event)
    if person:
        connection.execute(delete(tables.identities).where(tables.identities.c.stream == MAIL + person))
    connection.execute(update(session).where(session.c.person == person).values(person=None))


def _spend(connection: Connection, stream: str, cleared: ClearedDraft) -> None:
    there = {"at_stream": stream, "at_path": cleared.path}
    if cleared.names is None:
        connection.execute(_FORGET, there)
        return
    for typed in connection.execute(TYPED, there).scalars().all():
        left = {name: value for name, value in typed.items() if name not in cleared.names}
        connection.execute(_KEEP, {**there, "data": left})


def _enrol(connection: Connection, stream: str, enrolment: Enrolment) -> None:
    session = tables.sessions
    ordinal = _next(session.c.ordinal, session.c.study == enrolment.study)
    entry = {
        "stream": stream,
        "study": enrolment.study,
        "hash": enrolment.hash,
        "origin": enrolment.origin,
        "ordinal": ordinal,
        "person": enrolment.person,
        "wave": enrolment.wave,
    }
    if enrolment.again and not siblings(connection, enrolment.person):
        raise Conflict(f"{stream}: the person has withdrawn")
    connection.execute(insert(session).inline().values(entry))
    if enrolment.until_us:
        own = ("study", "origin", "language", "begun_us", "until_us")
        insert_seat(connection, stream, {name: getattr(enrolment, name) for name in own}, enrolment.cell)
    if enrolment.identity:
        known = {"stream": stream, "study": enrolment.study, **enrolment.identity}
        connection.execute(insert(tables.identities), known)


# Model usage: sums of attempts by study, origin, model and hour.
HOUR_US = 3_600_000_000
USAGE_LOCK = 0x05A6E
KEY = ("study", "origin", "model", "hour_us")
_used, _try, _session = tables.usage.c, tables.attempts.c, tables.sessions.c


def lock_usage(connection: Connection) -> None:
    """Prevent other batches from adding until this transaction ends."""
    advisory_xact_lock(connection, USAGE_LOCK)


def add_usage(connection: Connection, values: Mapping[str, Any]) -> None:
    """Add an attempt, in the transaction that writes it; the origin is that of its session."""
    connection.execute(_adding(connection.dialect.name), _counted(values))


@cache
def _adding(dialect: str) -> Any:
    given = [
        _session.origin if column is _used.origin else bindparam(column.name, type_=column.type) for column in _used
    ]
    origin = select(*given).where(_session.stream == bindparam("stream"))
    new = insert_into(tables.usage, dialect).from_select(list(_used), origin)
    more = {column.name: column + new.excluded[column.name] for column in _used if column.name not in KEY}
    return new.on_conflict_do_update(index_elements=KEY, set_=more)


def _counted(values: Mapping[str, Any]) -> dict[str, Any]:
    replied = values["reason"] is None
    first_us = values["total_us"] if values["first_token_us"] is None else values["first_token_us"]
    return {
        "stream": values["stream"],
        "study": values["study"],
        "model": values["model"],
        "hour_us": values["started_us"] - values["started_us"] % HOUR_US,
        "calls": 1,
        "failed": int(not replied),
        "unknown": int(replied and values["cost"] is None),
        "prompt_tokens": values["prompt_tokens"] or 0,
        "completion_tokens": values["completion_tokens"] or 0,
        "cost": values["cost"] or 0.0,
        "first_token_us": first_us if replied else 0,
        "total_us": values["total_us"] if replied else 0,
    }


def recount_usage(connection: Connection) -> None:
    tables.metadata.drop_all(connection, [tables.usage])
    tables.metadata.create_all(connection, [tables.usage])
    _add_sums(connection)


def recount_usage_of(connection: Connection, study: str) -> None:
    """Recompute a study's rows from its attempts; the caller holds the lock."""
    connection.execute(delete(tables.usage).where(_used.study == study))
    _add_sums(connection, _try.study == study)


def _add_sums(connection: Connection, *which: ColumnElement[bool]) -> None:
    hour_us = (_try.started_us - _try.started_us % HOUR_US).label("hour_us")
    replied = _try.reason.is_(None)
    first_us = func.coalesce(_try.first_token_us, _try.total_us)
    sums = {
        "calls": func.count(),
        "failed": func.count(_try.reason),
        "unknown": func.sum(cast(replied & _try.cost.is_(None), Integer)),
        "prompt_tokens": func.coalesce(func.sum(_try.prompt_tokens), 0),
        "completion_tokens": func.coalesce(func.sum(_try.completion_tokens), 0),
        "cost": func.coalesce(func.sum(_try.cost), 0.0),
        "first_token_us": func.sum(case((replied, first_us), else_=0)),
        "total_us": func.sum(case((replied, _try.total_us), else_=0)),
    }
    added = (
        select(_try.study, _session.origin, _try.model, hour_us, *sums.values())
        .join(tables.sessions, _session.stream == _try.stream)
        .where(_try.cell.is_(None), *which)
        .group_by(_try.study, _session.origin, _try.model, hour_us)
    )
    connection.execute(insert(tables.usage).from_select([*KEY, *sums], added))


_SESSION = select(tables.sessions.c.stream).where(tables.sessions.c.stream == bindparam("stream"))
_ERASED = select(tables.erasures.c.stream).where(tables.erasures.c.stream == bindparam("stream"))


def is_removed(connection: Connection, stream: str) -> bool:
    """True if a session's row is gone from the register, as after the removal of a rehearsal."""
    return connection.execute(_SESSION, {"stream": stream}).first() is None


def is_erased(connection: Connection, stream: str) -> bool:
    """True if a session was erased. On PostgreSQL this also blocks its erasure until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(_SESSION.with_for_update(read=True), {"stream": stream})
    return connection.execute(_ERASED, {"stream": stream}).first() is not None

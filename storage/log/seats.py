"""Seats: one summary row per session, written with its events, so that one small query counts sessions on arrival.

A completed session holds its seat permanently. A running session holds it under a lease, until a fixed time after its
last event. A session that ended otherwise, was withdrawn or was returned to the recruiter holds none. A session that is
resumed after its lease counts again. A transaction that counts in order to decide must hold the lock, because a
concurrent arrival would see equal counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    and_,
    bindparam,
    case,
    false,
    func,
    insert,
    or_,
    select,
    update,
)

from experiments.session.desk import excluded, unanswered
from experiments.session.identity_leaks import LEAK, is_leak
from experiments.session.state import current_location, furthest, holds_place, memoized
from experiments.session.timing import UNATTENDED, deadlines, is_activity, is_unattended
from experiments.study.cells import Cell, Counts, cells
from experiments.study.location import State, without_indices
from experiments.study.study import Study
from experiments.views.quality_flags import LATE, SAME_ID, UNREADABLE_ID, WAITS_FOR_HELP, flags
from storage import tables
from storage.db.engine import advisory_xact_lock
from storage.registers.origins import Origin

COMPLETE = "complete"
# How a session stands that has not ended: its place is kept, or was given up.
LIVE, LEFT = "live", "left"
# The origins of sessions that run in real time.
PEOPLE = (Origin.PERSON, Origin.PILOT, Origin.REHEARSAL)
# One number for all studies, so that two batches cannot wait for each other.
ONE_AT_A_TIME = 0x5EA75
_seat = tables.seats.c
OURS = and_(_seat.study == bindparam("study"), _seat.origin == bindparam("origin"))
# Running sessions: within the lease of their start or of their last event.
IN_PROGRESS = and_(
    _seat.outcome.is_(None),
    _seat.released_us.is_(None),
    or_(_seat.until_us > bindparam("now_us"), _seat.last_us > bindparam("since_us")),
)
# Sessions that still have data; a withdrawn session keeps only its row.
NOT_WITHDRAWN = or_(_seat.outcome.is_(None), _seat.outcome != "withdrawn")


@dataclass(frozen=True, slots=True)
class SessionSummary:
    outcome: str | None = None
    due_us: int | None = None
    last_us: int = 0
    """The time of the last event that was not written by a researcher."""
    place: str = ""
    """The path, without loop indices, of the current or last screen."""
    furthest: str = ""
    """The path of the furthest step reached in the study; in a later iteration of a loop, the loop's last step."""
    flags: str = ""
    """Its quality flags (`experiments.views.quality_flags`), joined by commas."""
    excluded: str | None = None
    """The reason for which a researcher has excluded it, if any."""
    placed: bool = False
    """True if the session holds a place: from its start, or from consent; never in a later wave."""


CHANGING = ("outcome", "due_us", "last_us", "place", "furthest", "flags", "excluded", "placed")
_NEW = {**{name: getattr(SessionSummary(), name) for name in CHANGING}, "pasted": 0}
_changing = attrgetter(*CHANGING)
_CHANGE = update(tables.seats).where(_seat.stream == bindparam("at_stream"))


def lock(connection: Connection) -> None:
    """Prevent other transactions from counting until this one ends."""
    advisory_xact_lock(connection, ONE_AT_A_TIME)


def insert_seat(connection: Connection, stream: str, seat: Mapping[str, Any], cell: Mapping[str, str]) -> None:
    """Give a new session its seat: `study`, `origin`, `language`, `begun_us`, `until_us` and a cell."""
    row = {**_NEW, **seat, "stream": stream, "cell": stored_cell(cell)}
    connection.execute(insert(tables.seats), row)


def stored_cell(cell: Mapping[str, str]) -> str:
    return orjson.dumps(dict(cell)).decode()


def changes(old_summary: SessionSummary, new_summary: SessionSummary) -> dict[str, Any]:
    columns = zip(CHANGING, _changing(old_summary), _changing(new_summary), strict=True)
    return {name: now for name, was, now in columns if now != was}


def update_seat(connection: Connection, stream: str, changed: Mapping[str, Any]) -> None:
    """Write only the changed columns of a seat: SQLite rewrites the indexes of every column that is set."""
    if changed:
        connection.execute(_CHANGE, {"at_stream": stream, **changed})


def release(connection: Connection, stream: str, now_us: int) -> bool:
    """Release the seat of a session returned to the recruiter; returns whether there was one to release."""
    held = and_(_seat.stream == stream, _seat.outcome.is_(None), _seat.released_us.is_(None))
    return connection.execute(update(tables.seats).where(held).values(released_us=now_us)).rowcount > 0


def held(connection: Connection, study: str) -> list[str]:
    """The people's sessions of a study that have not ended and whose seats were not released."""
    own = and_(_seat.study == study, _seat.origin == Origin.PERSON, _seat.outcome.is_(None))
    return list(connection.execute(select(_seat.stream).where(own, _seat.released_us.is_(None))).scalars())


def counts(connection: Connection, study: str, origin: str, now_us: int, lease_s: float) -> Counts:
    found = Counter[str]()
    for cell, number in connection.execute(_COUNTS, query_params(study, origin, now_us, lease_s)):
        found[cell] += number
    return [(orjson.loads(cell), number) for cell, number in sorted(found.items())]


def query_params(study: str, origin: str, now_us: int, lease_s: float) -> dict[str, Any]:
    return {"study": study, "origin": origin, "now_us": now_us, "since_us": now_us - round(lease_s * 1e6)}


def _in_cells(condition: ColumnElement[bool]) -> Select[Any]:
    return select(_seat.cell, func.count()).where(OURS, condition).group_by(_seat.cell)


# Built once, because every arrival runs it. A union, because an index serves only one of the conditions.
_COUNTS = _in_cells(and_(_seat.outcome == COMPLETE, _seat.placed)).union_all(_in_cells(and_(IN_PROGRESS, _seat.placed)))


def outcomes(engine: Engine, study: str, origin: str) -> Mapping[str, str | None]:
    """The streams of a study's sessions of an origin, each with its outcome if it has ended."""
    with engine.connect() as connection:
        rows = connection.execute(
            select(_seat.stream, _seat.outcome).where(_seat.study == study, _seat.origin == origin)
        )
        return {row.stream: row.outcome for row in rows}


def last_us(engine: Engine) -> int:
    """The time of the last activity in any session, by the clock at that time; 0 if there is none."""
    with engine.connect() as connection:
        return connection.execute(select(func.max(_seat.last_us)).where(_seat.origin.in_(PEOPLE))).scalar() or 0


def in_progress(now_us: int) -> ColumnElement[bool]:
    """True while a session's place is kept: for as long after its last event as it was at its start."""
    kept = or_(_seat.until_us > now_us, _seat.last_us + _seat.until_us - _seat.begun_us > now_us)
    return and_(_seat.outcome.is_(None), _seat.released_us.is_(None), kept)


def status_at(now_us: int) -> ColumnElement[str]:
    """`live`, `left`, or the outcome of a session."""
    return case((in_progress(now_us), LIVE), else_=func.coalesce(_seat.outcome, LEFT))


def overdue_sessions(connection: Connection, now_us: int, most: int) -> list[str]:
    wanted = select(_seat.stream).where(_seat.due_us <= now_us).order_by(_seat.due_us).limit(most)
    return list(connection.execute(wanted).scalars())


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """Numbers by outcome (`live` or `left` without one), and of completed and running sessions by cell."""

    outcomes: Mapping[str, int]
    cells: Sequence[tuple[Mapping[str, str], int, int]]


def counted(study: Study, counts: SessionCounts) -> list[tuple[Cell, int, int]]:
    """The completed and running sessions in each cell of a study, over all versions."""
    done, live = Counter[tuple[str | None, ...]](), Counter[tuple[str | None, ...]]()
    for values, complete, present in counts.cells:
        key = tuple(map(values.get, study.factors))
        done[key] += complete
        live[key] += present
    every = [(cell, tuple(cell.values.values())) for cell in cells(study.factors, study.pools)]
    return [(cell, done[key], live[key]) for cell, key in every]


def cells_of(connection: Connection, study: str) -> dict[str, Mapping[str, str]]:
    """The cells of a study's sessions: the stored form of each, and its factors with their values."""
    cells = connection.execute(select(_seat.cell).where(_seat.study == study).distinct()).scalars()
    return {cell: orjson.loads(cell) for cell in sorted(cells)}


def cell_key(cell: Mapping[str, str]) -> str:
    """A cell as text: `condition: a, model: b`."""
    return ", ".join(f"{name}: {value}" for name, value in cell.items())


def sessions_left_out(study: str, origin: str, *, excluded: bool = False, complete: bool = False) -> Select[Any]:
    """Those excluded by a researcher, unless `excluded`, and with `complete` the incomplete; never imports."""
    unfinished = or_(_seat.outcome.is_(None), _seat.outcome != COMPLETE)
    reasons = [false(), *([] if excluded else [_seat.excluded.is_not(None)])]
    reasons += [unfinished] if complete and origin != Origin.IMPORT else []
    return select(_seat.stream).where(_seat.study == study, _seat.origin == origin, or_(*reasons))


WITHDRAWN = "withdrawn"


@memoized
def seat_of(study: Study, state: State) -> SessionSummary:
    """The seat that a session's events imply; only the withdrawal for a withdrawn session."""
    if state.outcome == WITHDRAWN:
        return SessionSummary(WITHDRAWN, last_us=state.events[-1].at_us)
    place, first = current_location(study, state), next(iter(deadlines(study, state)), None)
    return SessionSummary(
        outcome=state.outcome or None,
        due_us=first.at_us if first else None,
        last_us=next((event.at_us for event in reversed(state.events) if is_activity(event)), 0),
        place=without_indices(place.path) if place else "",
        furthest=furthest(place) if place else "",
        flags=_flags(study, state),
        excluded=excluded(state.events) if any(event.kind == "excluded" for event in state.events) else None,
        placed=holds_place(study, state),
    )


def seat_changes(study: Study, old_state: State, new_state: State) -> dict[str, Any]:
    """The changes to a session's seat between two states, by column; a new session starts from an empty seat."""
    found = changes(seat_of(study, old_state) if old_state.seq else SessionSummary(), seat_of(study, new_state))
    return (
        {**found, "cell": stored_cell(new_state.factors)}
        if new_state.factors != old_state.factors and new_state.factors
        else found
    )


def _flags(study: Study, state: State) -> str:
    """All flags once the session has ended; before that, only those that do not depend on its end."""
    if state.outcome:
        return ",".join(flag.what for flag in flags(study, state))
    early = {LEAK: any(map(is_leak, state.events)), UNATTENDED: any(map(is_unattended, state.events))}
    early |= {WAITS_FOR_HELP: bool(study.file.help is not None and unanswered(state.facts.get("", ())))}
    early |= {what: bool(state.enrolled.get(what)) for what in (LATE, SAME_ID, UNREADABLE_ID)}
    return ",".join(what for what, so in early.items() if so)


def until_us(study: Study, now_us: int) -> int:
    """The time until which a seat taken now is held in any case."""
    return now_us + round(study.file.session_limits.hold_place_s * 1e6)

"""Seats as a projection of the log: the seat that a session's events imply, and rebuilding the table.

Rebuilding replaces a table made by an older Parley. Data that no event holds are kept: sessions returned to the
recruiter, the cells of withdrawn sessions, and the number of pastes, from telemetry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select, update

from experiments.events import Event, is_activity
from experiments.session.engine import fold
from experiments.session.remarks import excluded
from experiments.session.state import current_location, holds_place, memoized
from experiments.session.telemetry import without_indices
from experiments.session.timing import UNATTENDED, deadlines, is_unattended
from experiments.study.location import State, language_of
from experiments.study.study import Study
from experiments.views.funnel import furthest
from experiments.views.quality_flags import LEAK, SAME_ID, UNREADABLE_ID, flags, is_leak
from storage import tables
from storage.log.event_log import facts
from storage.log.seats import SessionSummary, changes, insert_seat, stored_cell, update_seat
from storage.log.telemetry import PASTED
from storage.registers.origins import Origin
from storage.registers.studies import Studies

WITHDRAWN = "withdrawn"
ABOUT = frozenset({"flagged", "excluded", "included"})
_seat, _session = tables.seats.c, tables.sessions.c


@memoized
def seat_of(study: Study, state: State) -> SessionSummary:
    """The seat that a session's events imply; only the withdrawal for a withdrawn session."""
    if state.outcome == WITHDRAWN:
        return SessionSummary(WITHDRAWN, last_us=state.events[-1].at_us)
    relevant = [event for event in state.events if event.kind in ABOUT]
    place, first = current_location(study, state), next(iter(deadlines(study, state)), None)
    return SessionSummary(
        outcome=state.outcome or None,
        due_us=first.at_us if first else None,
        last_us=next((event.at_us for event in reversed(state.events) if is_activity(event)), 0),
        place=without_indices(place.path) if place else "",
        furthest=furthest(place) if place else "",
        flags=_flags(study, state, relevant),
        excluded=excluded(relevant),
        placed=holds_place(study, state),
    )


def seat_changes(study: Study, before: State, after: State) -> dict[str, Any]:
    """The changes to a session's seat between two states, by column; a new session starts from an empty seat."""
    found = changes(seat_of(study, before) if before.seq else SessionSummary(), seat_of(study, after))
    return {**found, "cell": stored_cell(after.factors)} if after.factors != before.factors and after.factors else found


def _flags(study: Study, state: State, events: list[Event]) -> str:
    """All flags once the session has ended; before that, only those that do not depend on its end."""
    if state.outcome:
        return ",".join(flag.what for flag in flags(study, state))
    early = {LEAK: any(is_leak(event) for event in events), UNATTENDED: any(map(is_unattended, state.events))}
    early |= {what: bool(state.enrolled.get(what)) for what in (SAME_ID, UNREADABLE_ID)}
    return ",".join(what for what, so in early.items() if so)


def until_us(study: Study, now_us: int) -> int:
    """The time until which a seat taken now is held in any case."""
    return now_us + round(study.file.session_limits.hold_place_s * 1e6)


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
        insert_seat(connection, stream, {"study": name, "origin": origin, **_own(study, state)}, state.factors)
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


def _own(study: Study, state: State) -> dict[str, Any]:
    """The columns of a session's seat that are set at its start."""
    begun_us = state.events[0].at_us
    if state.outcome == WITHDRAWN:
        return {"begun_us": begun_us, "until_us": begun_us, "language": ""}
    return {"begun_us": begun_us, "until_us": until_us(study, begun_us), "language": language_of(study, state)}

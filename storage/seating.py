"""Seats made anew from the log, for a database that an older Parley wrote, or after a doubt."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, update

from experiments.core.place import State
from experiments.core.resolve import Study
from experiments.core.session import fold
from experiments.core.timing import dues
from storage import tables
from storage.log import facts
from storage.recorded import ORIGIN
from storage.seats import Seat, change, take
from storage.studies import Studies

_seat, _session = tables.seats.c, tables.sessions.c


def seat_of(study: Study, state: State) -> Seat:
    """What a session's facts say of its seat."""
    if state.outcome:
        return Seat(outcome=state.outcome)
    first = next(iter(dues(study, state)), None)
    return Seat(due_us=first.at_us if first else None)


def until_us(study: Study, now_us: int) -> int:
    """Until when a seat taken now is kept, whatever happens."""
    return now_us + round(study.file.times.lease_s * 1e6)


def reseat(connection: Connection, studies: Studies) -> None:
    """Empty the table and fill it from the log; who was returned to the recruiter stays so."""
    returned = connection.execute(select(_seat.stream, _seat.released_us).where(_seat.released_us.is_not(None))).all()
    connection.execute(delete(tables.seats))
    columns = (_session.stream, _session.study, _session.hash, _session.origin)
    sessions = connection.execute(select(*columns).where(_session.origin != ORIGIN).order_by(_session.ordinal))
    for stream, name, hash_, origin in sessions.all():
        study, events = studies.get(hash_), facts(connection, stream)
        state = fold(events)
        own = {"study": name, "origin": origin, "until_us": until_us(study, events[0].at_us)}
        take(connection, stream, own, state.factors)
        change(connection, stream, seat_of(study, state))
    for stream, released_us in returned:
        connection.execute(update(tables.seats).where(_seat.stream == stream).values(released_us=released_us))

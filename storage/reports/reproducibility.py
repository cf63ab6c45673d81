"""Everything that chance and balance decided in a study, derived again from seeds and facts.

For each session: its facts are numbered without gaps and fold; each assignment follows from the seed and the counts
that the fact says were seen; each draw, also of an order, follows from the seed and what it says was taken; and its
seat is what its facts say. A difference is a sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import select

from experiments.events import Data, Event
from experiments.session.engine import apply
from experiments.session.sampling import draw_fact, order_fact
from experiments.session.state import current_location
from experiments.session.waves import assigned_fact
from experiments.study.location import State
from experiments.study.option_order import ORDERED
from experiments.study.study import Study
from problems.errors import ParleyError
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.log.seats import seat_of
from storage.registers.origins import Origin
from storage.registers.studies import Studies


@dataclass(frozen=True, slots=True)
class DrawCheck:
    sessions: int
    assignments: int
    draws: int
    differences: tuple[str, ...]


def recompute_draws(
    database: Database, study: str, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> DrawCheck:
    """Derive everything of a study again; `on_progress` receives how many sessions of how many are done."""
    t, seat = tables.sessions.c, tables.seats.c
    wanted = select(t.stream, t.hash, t.ordinal).where(t.study == study, t.origin != Origin.IMPORT).order_by(t.ordinal)
    with database.connect() as connection:
        sessions = connection.execute(wanted).all()
    known, counts, found = Studies(database), Counter[str](), list[str]()
    for number, (stream, hash_, ordinal) in enumerate(sessions):
        where = f"session {ordinal} ({stream})"
        with database.connect() as connection:  # facts and seat as of one moment: people may be taking part
            events = facts(connection, stream)
            outcome = connection.execute(select(seat.outcome).where(seat.stream == stream)).scalar()
        found += [f"{where}, {text}" for text in _session(known.get(hash_), events, outcome, counts)]
        on_progress(number + 1, len(sessions))
    return DrawCheck(len(sessions), counts["assigned"], counts["drawn"] + counts[ORDERED], tuple(found))


def _session(study: Study, events: tuple[Event, ...], outcome: str | None, counts: Counter[str]) -> Iterator[str]:
    state = State()
    for event in events:
        counts[event.kind] += event.kind in ("assigned", "drawn", ORDERED)
        try:
            yield from _derived(study, state, event)
            state = apply(state, event)
        except (ParleyError, ValueError, KeyError) as error:
            yield f"fact {event.seq} ({event.kind}): does not follow from what was before it: {error}"
            return
    if (seat_of(study, state).outcome or None) != outcome:
        yield f"its seat says {outcome or 'live'!r}, its facts {state.outcome or 'live'!r}: parley db rebuild"


def _derived(study: Study, state: State, event: Event) -> Iterator[str]:
    if event.kind == "assigned":
        again: Data = assigned_fact(study, state, event.data)
    elif event.kind in ("drawn", ORDERED):
        if not all(event.data.get("taken", {}).values()):
            return  # of an older version, which told only of those that were drawn
        place = current_location(study, state)
        if place is None or place.path != event.path:
            yield f"fact {event.seq}: {event.kind} at {event.path!r}, where the session was at {place and place.path!r}"
            return
        again = order_fact(place) if event.kind == ORDERED else draw_fact(place, event.data.get("taken", {}))
    else:
        return
    if again != dict(event.data):
        yield f"fact {event.seq} ({event.kind} {event.path}): the log has {dict(event.data)}, derived again {again}"

"""The log of submissions and of what is asked of a recruiter: see `storage.payments.submissions`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, func, select

from experiments.events import Actor, Event
from experiments.money import Money
from storage import tables
from storage.db.append_events import append_events, append_in_turn
from storage.db.engine import Database
from storage.log.seats import release
from storage.payments.submissions import (
    ACT_EVENTS,
    OBSERVED,
    OVER,
    Act,
    Observation,
    acts_of,
    latest,
    observation_of,
    status_of,
)
from storage.registers.recruiting import acts_in as commitments_in
from storage.registers.recruiting import refuse_beyond
from storage.registers.study_status import recruiter_stream, study_stream

_event = tables.events.c
_OF_KINDS = (
    select(*tables.EVENT)
    .where(_event.stream == bindparam("stream"), _event.seq > bindparam("after"))
    .where(_event.kind.in_(bindparam("kinds", expanding=True)))
    .order_by(_event.seq)
)


def observations_in(connection: Connection, recruiter: str) -> dict[str, Observation]:
    """What counts of each submission at a recruiter, by its mark."""
    return latest(map(observation_of, _observed(connection, recruiter, 0)))


def observe(
    database: Database,
    recruiter: str,
    observations: Sequence[Observation],
    sessions: Mapping[str, Sequence[str]],
    now_us: int,
    then: Callable[[Connection, int], None] = lambda _, __: None,
) -> int:
    """Keep what is new of these, and free the places of the sessions, each with its marks, whose submissions are over;
    returns how many, and calls `then` with it in the same transaction. An observation with a key is new once; one
    without is new if it changes what counts of its submission."""

    reads = bool(sessions) or not all(one.key for one in observations)
    with database.connect() as connection:  # nobody who writes waits for this
        earlier = _observed(connection, recruiter, 0) if reads else []

    def write(connection: Connection, numbers: Iterator[int]) -> int:
        later = _observed(connection, recruiter, earlier[-1].seq if earlier else 0) if reads else []
        known = latest(map(observation_of, [*earlier, *later]))
        keys = _known_keys(connection, recruiter, [one.key for one in observations if one.key])
        new = []
        for one in observations:
            before = known.get(one.submission)
            if one.key in keys if one.key else before is not None and before.status == one.status:
                continue
            new.append(one)
            keys |= {one.key} if one.key else set()
            known |= latest(filter(None, (before, one)))
        if new:
            stream = recruiter_stream(recruiter)
            append_events(connection, [(stream, _event_of(next(numbers), one)) for one in new])
        over = [stream for stream, marks in sessions.items() if status_of(marks, known) in OVER]
        freed = sum(release(connection, stream, now_us) for stream in over)
        then(connection, freed)
        return freed

    return append_in_turn(database, recruiter_stream(recruiter), recruiter, write)


def acts_in(connection: Connection, study: str) -> dict[str, Act]:
    return acts_of(_events(connection, study_stream(study), ACT_EVENTS))


def acts(database: Database, study: str) -> dict[str, Act]:
    with database.connect() as connection:
        return acts_in(connection, study)


@dataclass(frozen=True, slots=True)
class ActEvent:
    kind: Literal["asked", "sent", "settled"]
    data: Mapping[str, Any]
    at_us: int
    by: Actor = "system"


def add_act_event(
    database: Database, study: str, event: ActEvent, fits: Callable[[Mapping[str, Act]], bool] = lambda _: True
) -> bool:
    """Write an event of an act if it `fits` the study's acts; returns whether it did."""

    def write(connection: Connection, _: Iterator[int]) -> bool:
        fit = fits(acts_in(connection, study))
        if fit:
            append_act_event(connection, study, event)
        return fit

    return append_in_turn(database, study_stream(study), study, write)


def append_bonuses(connection: Connection, study: str, event: ActEvent, money: Money, limit: Money) -> None:
    """Ask for bonuses in a transaction that is open. Raises NotPossible beyond the limit of money."""
    refuse_beyond(commitments_in(connection, study), money, limit)
    append_act_event(connection, study, event)


def append_act_event(connection: Connection, study: str, event: ActEvent) -> None:
    """The same in a transaction that is open; IntegrityError if another writer was first."""
    stream = study_stream(study)
    last = connection.execute(select(func.max(_event.seq)).where(_event.stream == stream)).scalar() or 0
    key = ":".join([event.data["act"], str(event.data.get("attempt", 0)), event.kind])
    append_events(connection, [(stream, Event(last + 1, event.at_us, event.by, "", event.kind, event.data, key))])


def _observed(connection: Connection, recruiter: str, after: int) -> Sequence[Event]:
    return _events(connection, recruiter_stream(recruiter), [OBSERVED], after)


def _event_of(seq: int, one: Observation) -> Event:
    data = {"submission": one.submission, "status": one.status, "source": one.source}
    return Event(seq, one.at_us, "system", "", OBSERVED, data, one.key)


def _events(connection: Connection, stream: str, kinds: Sequence[str], after: int = 0) -> Sequence[Event]:
    found = connection.execute(_OF_KINDS, {"stream": stream, "kinds": kinds, "after": after})
    return [Event(*row) for row in found]


def _known_keys(connection: Connection, recruiter: str, keys: Sequence[str]) -> set[str | None]:
    wanted = select(_event.key).where(_event.stream == recruiter_stream(recruiter), _event.key.in_(keys))
    return set(connection.execute(wanted).scalars())

"""The participants of a study with a plan: the numbers of those who started and completed, and exclusions with
times."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select

from app.extensions.trials.reads.plan_events import PlanEvents, Preregistration
from storage import tables
from storage.db.engine import Database
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin
from storage.registers.studies import Studies

_seat, _session, _fact = tables.seats.c, tables.sessions.c, tables.events.c
_PEOPLE = _seat.origin == Origin.PERSON


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A session that is excluded now: its number in the console, when it was excluded (microseconds UTC), and why."""

    session: int
    at_us: int
    why: str


def complete_people(database: Database, study: str) -> int:
    """The number of people whose session is complete and not excluded; with waves, that of the last wave."""
    return _count(database, study, -1, _seat.outcome == COMPLETE, _seat.excluded.is_(None))


def _count(database: Database, study: str, wave: int, *conditions: ColumnElement[bool]) -> int:
    """The number of people's sessions with these conditions; in a study with waves of that one, so each person once."""
    waves = Studies(database).newest(study).waves
    of_wave = _session.wave == waves[wave].id if waves else _session.wave.is_(None)
    query = select(func.count()).join_from(tables.seats, tables.sessions, _session.stream == _seat.stream)
    with database.connect() as connection:
        return connection.execute(query.where(_seat.study == study, _PEOPLE, of_wave, *conditions)).scalar_one()


def plan_in_force(database: Database, study: str, events: PlanEvents) -> Preregistration | None:
    """The preregistration that counts: the last one before the first participant started, or else the first; None
    without one."""
    mine = _seat.study == study, _PEOPLE
    with database.connect() as connection:
        began_us = connection.execute(select(func.min(_seat.begun_us)).where(*mine)).scalar()
    early = [one for one in events.preregistrations if began_us is None or one.at_us < began_us]
    return next(iter((*early[-1:], *events.preregistrations[:1])), None)


def started_before(database: Database, study: str, at_us: int) -> int:
    """The number of people who started before a time in microseconds UTC."""
    return _count(database, study, 0, _seat.begun_us < at_us)


def exclusions(database: Database, study: str) -> tuple[Exclusion, ...]:
    """The people's sessions that are excluded, in the order in which they were."""
    query = (
        select(_session.ordinal, func.max(_fact.at_us), _seat.excluded)
        .join_from(tables.seats, tables.sessions, _session.stream == _seat.stream)
        .join(tables.events, _fact.stream == _seat.stream)
        .where(_seat.study == study, _PEOPLE, _seat.excluded.is_not(None), _fact.kind == "excluded")
        .group_by(_session.ordinal, _seat.excluded)
        .order_by(func.max(_fact.at_us), _session.ordinal)
    )
    with database.connect() as connection:
        return tuple(Exclusion(*row) for row in connection.execute(query))

"""Reads of a trial: events about its plan, on the study's own stream (preregistrations, looks at outcomes, reasons for
deviations), and the participants who started, completed and were excluded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from experiments.errors import NotPossible
from experiments.session.study_status import PLAN
from storage import tables
from storage.db.engine import Database
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.registers.study_status import StatusTransaction, decided, set_status, study_events

STATES = ("closed", "opened", "piloted")
_fact = tables.events.c


@dataclass(frozen=True, slots=True)
class Preregistration:
    """The act: when, and the version that was preregistered. `files` are the SHA-256 of its files, by name."""

    at_us: int
    hash: str
    version: int
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RecordedLook:
    """A look at an outcome before the end: when, by whom and through what (`look`, `report`, `console`, `export`), with
    how many complete sessions. `number` counts planned looks from 1; None for an unplanned one, which has a reason."""

    at_us: int
    number: int | None
    who: str
    through: str
    why: str
    complete: int
    result: Mapping[str, Any]
    """The boundary and the estimate of each primary hypothesis at a planned look."""


@dataclass(frozen=True, slots=True)
class Closing:
    at_us: int
    why: str
    reopened: bool


@dataclass(frozen=True, slots=True)
class PlanEvents:
    """All that is recorded about a study's plan, each in the order of time; `reasons` by the name of the deviation."""

    preregistrations: tuple[Preregistration, ...] = ()
    looks: tuple[RecordedLook, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    closings: tuple[Closing, ...] = ()


def plan_events(database: Database, study: str) -> PlanEvents:
    with database.connect() as connection:
        return _events_in(connection, study)


def _events_in(connection: Connection, study: str) -> PlanEvents:
    found = [(one.at_us, one.kind, one.data) for one in study_events(connection, study, *PLAN, *STATES)]
    return PlanEvents(
        tuple(Preregistration(at_us, **data) for at_us, kind, data in found if kind == "preregistered"),
        tuple(RecordedLook(at_us, **data) for at_us, kind, data in found if kind == "looked"),
        {data["deviation"]: data["why"] for _, kind, data in found if kind == "explained"},
        tuple(_closings([one for one in found if one[1] in STATES])),
    )


def _closings(decisions: Sequence[tuple[int, str, Mapping[str, Any]]]) -> Iterator[Closing]:
    for number, (at_us, kind, data) in enumerate(decisions):
        if kind == "closed":
            reopened = any(later in ("opened", "piloted") for _, later, _ in decisions[number + 1 :])
            yield Closing(at_us, data["why"], reopened)


def record_preregistration(
    database: Database, study: str, hash_: str, version: int, files: Mapping[str, str], *, at_us: int
) -> None:
    data = {"hash": hash_, "version": version, "files": dict(files)}
    set_status(database, study, "preregistered", data, by="researcher", at_us=at_us)


def record_look(database: Database, study: str, look: RecordedLook) -> None:
    """Record a look at an outcome; raises NotPossible if another user has just taken a planned look."""
    data = {
        "number": look.number,
        "who": look.who,
        "through": look.through,
        "why": look.why,
        "complete": look.complete,
        "result": dict(look.result),
    }

    def record(transaction: StatusTransaction) -> None:
        taken = (one.number for one in _events_in(transaction.connection, study).looks)
        if look.number is not None and look.number in taken:
            raise NotPossible(f"Look {look.number} of {study} was just taken by somebody else; see the Results tab.")
        transaction.add("looked", data, by="researcher", at_us=look.at_us)

    decided(database, study, record)


def record_reason(database: Database, study: str, deviation: str, why: str, *, at_us: int) -> None:
    """Record the reason for a deviation; a later one replaces it."""
    set_status(database, study, "explained", {"deviation": deviation, "why": why}, by="researcher", at_us=at_us)


_seat, _session = tables.seats.c, tables.sessions.c
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
    """The last one before the first participant started, or else the first; None without one."""
    mine = _seat.study == study, _PEOPLE
    with database.connect() as connection:
        began_us = connection.execute(select(func.min(_seat.begun_us)).where(*mine)).scalar()
    early = [one for one in events.preregistrations if began_us is None or one.at_us < began_us]
    return next(iter((*early[-1:], *events.preregistrations[:1])), None)


def started_before(database: Database, study: str, at_us: int) -> int:
    return _count(database, study, 0, _seat.begun_us < at_us)


def exclusions(database: Database, study: str) -> tuple[Exclusion, ...]:
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

"""Recruiters' ids and sessions that a study has kept for their period, and those that wait for a payment.

A period counts from the last activity in a session, or in any of its person's: the last event that no researcher wrote.
The rule of the newest version of the study applies to all of its sessions. Pilots count; rehearsals, simulated and
imported sessions hold nobody's data. What is kept for a payment are the sessions that `parley payments` would list with
a bonus.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, or_, select

from experiments.study.sections.recruitment import days_of
from experiments.study.study import Study
from storage import tables
from storage.db.engine import Database
from storage.log.seats import NOT_WITHDRAWN
from storage.registers.contacts import ADDRESSED
from storage.registers.origins import Origin
from storage.registers.participants import Participants
from storage.registers.studies import Studies

DAY_US = 86_400_000_000
OF_PEOPLE = (Origin.PERSON, Origin.PILOT)
_seat, _session, _identity = tables.seats.c, tables.sessions.c, tables.identities.c
HAS_ID = or_(_identity.sealed != b"", _seat.stream.in_(ADDRESSED))


@dataclass(frozen=True, slots=True)
class DueSession:
    stream: str
    number: int


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """The data to delete now: `ids` alone, or all `data`; `unpaid` wait for a bonus, `next_us` ends the next period."""

    study: str
    keep_ids_for: str | None
    keep_for: str | None
    ids: tuple[DueSession, ...] = ()
    data: tuple[DueSession, ...] = ()
    unpaid: tuple[DueSession, ...] = ()
    next_us: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "keep_ids_for": self.keep_ids_for,
            "keep_for": self.keep_for,
            "ids_due": [one.number for one in self.ids],
            "data_due": [one.number for one in self.data],
            "kept_for_a_payment": [one.number for one in self.unpaid],
        }


def retention_plans(database: Database, participants: Participants, now_us: int) -> Iterator[RetentionPlan]:
    studies = Studies(database)
    for name in studies.names():
        if studies.has(name):
            study = studies.newest(name)
            if study.file.keep_ids_for or study.file.keep_for:
                yield retention_plan(database, participants, study, now_us)


def retention_plan(database: Database, participants: Participants, study: Study, now_us: int) -> RetentionPlan:
    ids, data = _period_us(study.file.keep_ids_for), _period_us(study.file.keep_for)
    with database.connect() as connection:
        due_ids = _due(connection, study.name, now_us, ids, HAS_ID)
        due_data = _due(connection, study.name, now_us, data)
        following = [_next(connection, study.name, now_us, ids, HAS_ID), _next(connection, study.name, now_us, data)]
    unpaid = unpaid_streams(database, participants, study.name) if due_ids or due_data else frozenset()
    erased = {one.stream for one in due_data}
    waiting = {one.number: one for one in (*due_ids, *due_data) if one.stream in unpaid}
    return RetentionPlan(
        study.name,
        study.file.keep_ids_for,
        study.file.keep_for,
        tuple(one for one in due_ids if one.stream not in unpaid and one.stream not in erased),
        tuple(one for one in due_data if one.stream not in unpaid),
        tuple(waiting[number] for number in sorted(waiting)),
        min(filter(None, following), default=None),
    )


def unpaid_streams(database: Database, participants: Participants, study: str) -> frozenset[str]:
    """The sessions of a study with a bonus that is not paid yet, as far as `parley payments` pays it."""
    from storage.payments.payments import payees  # a server pays nobody, and hardly ever has a period that ended
    from storage.payments.prolific import lists

    bonus = lists(payees(database, participants, study, now_us=0), None).bonus
    return frozenset(payee.stream for due in bonus.values() for payee in due)


def _period_us(period: str | None) -> int | None:
    return None if period is None else days_of(period) * DAY_US


def _of_people(study: str) -> ColumnElement[bool]:
    return (_seat.study == study) & _seat.origin.in_(OF_PEOPLE) & NOT_WITHDRAWN


def _due(
    connection: Connection, study: str, now_us: int, period_us: int | None, *more: ColumnElement[bool]
) -> tuple[DueSession, ...]:
    if period_us is None:
        return ()
    query = select(_session.stream, _session.ordinal).join(tables.seats, _seat.stream == _session.stream)
    query = query.outerjoin(tables.identities, _identity.stream == _session.stream).order_by(_session.ordinal)
    query = query.where(_of_people(study), _last_us() <= now_us - period_us, *more)
    return tuple(DueSession(*row) for row in connection.execute(query))


def _next(
    connection: Connection, study: str, now_us: int, period_us: int | None, *more: ColumnElement[bool]
) -> int | None:
    if period_us is None:
        return None
    query = select(func.min(_last_us())).outerjoin(tables.identities, _identity.stream == _seat.stream)
    query = query.where(_of_people(study), _last_us() > now_us - period_us, *more)
    last_us: int | None = connection.execute(query).scalar()
    return None if last_us is None else last_us + period_us


def _last_us() -> ColumnElement[int]:
    """The last activity in a session, or in another of its person; the start of a session without any."""
    own = func.coalesce(func.nullif(_seat.last_us, 0), _seat.begun_us)
    seat, mine, other = tables.seats.alias().c, tables.sessions.alias().c, tables.sessions.alias().c
    any_us = select(func.max(func.coalesce(func.nullif(seat.last_us, 0), seat.begun_us)))
    any_us = any_us.where(mine.stream == _seat.stream, other.person == mine.person, seat.stream == other.stream)
    return func.coalesce(any_us.correlate(tables.seats).scalar_subquery(), own)

"""The people of studies with waves: which sessions are one person's, and where each person is. A person is a random id,
which only the register (`session`) and the event `enrolled` of each session have."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from experiments.session.state import outcome_of
from experiments.session.waves import WaveHistory, WaveVisit
from storage import tables
from storage.db.engine import Database

_ending = tables.events.alias("ending")
_session, _event, _end = tables.sessions.c, tables.events.c, _ending.c


@dataclass(frozen=True, slots=True)
class Person:
    """A person's sessions by wave, in the order in which they began, all of the version `hash` and one origin."""

    id: str
    study: str
    hash: str
    origin: str
    streams: dict[str, str]
    history: WaveHistory

    @property
    def first(self) -> str:
        """The session of the first wave, which has the events about reminders."""
        return next(iter(self.streams.values()))


def siblings(connection: Connection, person: str | None, *, erases: bool = False) -> list[str]:
    """The sessions of a person. On PostgreSQL they are locked until the transaction ends, so that none is erased."""
    query = select(_session.stream).where(_session.person == person).order_by(_session.ordinal)
    locked = query.with_for_update(read=not erases) if connection.dialect.name == "postgresql" else query
    return list(connection.execute(locked).scalars())


def person_of(database: Database, stream: str) -> Person | None:
    """The person of a session; None in a study without waves, or after a withdrawal."""
    mine = select(_session.person).where(_session.stream == stream).scalar_subquery()
    return next(iter(_read(database, _session.person == mine)), None)


def person(database: Database, id_: str) -> Person | None:
    return next(iter(_read(database, _session.person == id_)), None)


def people(database: Database, study: str, origin: str) -> list[Person]:
    """Everybody who takes part in a study with waves, without those who withdrew."""
    return _read(database, and_(_session.study == study, _session.origin == origin))


def _read(database: Database, which: Any) -> list[Person]:
    ends = and_(_end.stream == _session.stream, _end.kind == "finished")
    query = (
        select(
            *(_session.person, _session.wave, _session.stream, _session.study, _session.hash, _session.origin),
            *(_event.at_us, _event.data, _end.at_us.label("ended_us"), _end.data.label("ending")),
        )
        .join(tables.events, and_(_event.stream == _session.stream, _event.seq == 1))
        .outerjoin(_ending, ends)
        .where(_session.person.is_not(None), which)
        .order_by(_session.ordinal)
    )
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    with database.connect() as connection:
        for row in connection.execute(query):
            rows[row.person].append(row)
    return [_person(id_, found) for id_, found in rows.items()]


def _person(id_: str, rows: list[Any]) -> Person:
    visits = tuple(
        WaveVisit(
            *(row.wave, row.at_us, row.ended_us, None if row.ending is None else outcome_of(row.ending)),
            until_us=row.data.get("until_us"),
        )
        for row in rows
    )
    zone = next((row.data["zone"] for row in reversed(rows) if "zone" in row.data), "")
    of = rows[0].study, rows[0].hash, rows[0].origin
    return Person(id_, *of, {row.wave: row.stream for row in rows}, WaveHistory(visits, zone))

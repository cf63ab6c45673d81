"""Decisions about a study (`experiments.session.study_status`), read from and added to the study's own stream.

Decisions are rare and come from commands, the console and any server process, so each is a transaction of its own that
takes the stream's next number under the database's writing lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, func, select

from experiments.events import Actor, Event
from experiments.session.study_status import KINDS, Decision, StudyStatus, fold_operations, refuse_unfit
from storage import tables
from storage.db.append_events import append_events, append_in_turn
from storage.db.engine import Database
from storage.registers.stream_ids import study_stream

Made = TypeVar("Made")
_fact = tables.events.c
_DECIDED = select(*tables.EVENT).where(_fact.stream == bindparam("stream"), _fact.kind.in_(KINDS)).order_by(_fact.seq)


def operations_of(database: Database, study: str) -> StudyStatus:
    with database.connect() as connection:
        return operations_in(connection, study)


def last_decision(database: Database, study: str) -> int:
    """The number of the last event of a study's own stream; 0 if there is none."""
    with database.connect() as connection:
        wanted = select(func.max(_fact.seq)).where(_fact.stream == study_stream(study))
        return connection.execute(wanted).scalar() or 0


def operations_in(connection: Connection, study: str) -> StudyStatus:
    found = connection.execute(_DECIDED, {"stream": study_stream(study)})
    return fold_operations([Event(*fact) for fact in found])


def every_operations_in(connection: Connection, studies: Collection[str]) -> dict[str, StudyStatus]:
    streams = {study_stream(study): study for study in studies}
    wanted = select(_fact.stream, *tables.EVENT).where(_fact.stream.in_(streams), _fact.kind.in_(KINDS))
    found: dict[str, list[Event]] = {study: [] for study in studies}
    for stream, *fact in connection.execute(wanted.order_by(_fact.stream, _fact.seq)):
        found[streams[stream]].append(Event(*fact))
    return {study: fold_operations(events) for study, events in found.items()}


def set_status(
    database: Database, study: str, decision: Decision, data: Mapping[str, Any], *, by: Actor, at_us: int
) -> None:
    """Add a decision; raises NotPossible if the study's status does not allow it."""
    decided(database, study, lambda now: now.add(decision, data, by=by, at_us=at_us))


@dataclass(frozen=True, slots=True)
class StatusTransaction:
    connection: Connection
    study: str
    numbers: Iterator[int]

    def add(self, decision: Decision, data: Mapping[str, Any], *, by: Actor, at_us: int) -> int:
        """Add a decision, and return its number; raises NotPossible where the study's state does not allow it."""
        refuse_unfit(self.study, operations_in(self.connection, self.study), decision)
        event = Event(next(self.numbers), at_us, by, "", decision, data)
        append_events(self.connection, [(study_stream(self.study), event)])
        return event.seq


def decided(database: Database, study: str, make: Callable[[StatusTransaction], Made]) -> Made:
    """Run `make` in a transaction, and again if another decision was written in between."""

    def write(connection: Connection, numbers: Iterator[int]) -> Made:
        return make(StatusTransaction(connection, study, numbers))

    return append_in_turn(database, study_stream(study), study, write)

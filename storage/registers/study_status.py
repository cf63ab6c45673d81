"""Decisions about a study (`experiments.session.study_status`), read from and added to the study's own stream.

Decisions are rare and come from commands, the console and any server process, so each is a transaction of its own that
takes the stream's next number under the database's writing lock.

The publication metadata of the data are `described` events of the same stream, the last of which counts. They belong to
the study, not to a version of it, so that a DOI can be added when the data have been collected. Imported data have them
in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID, uuid5

from sqlalchemy import Connection, func, select

from experiments.events import Actor, Event
from experiments.session.study_status import KINDS, Decision, StudyStatus, fold_operations, refuse_unfit
from experiments.study.sections.dataset_info import DatasetInfo
from storage import tables
from storage.db.append_events import append_events, append_in_turn
from storage.db.engine import Database

# The ids of the streams that no session has: a study's own, and those of imported persons and of recruiters.
NAMESPACE = UUID("6a1c4f3e-6f0e-5b7e-9a55-1f0a6d2c9b11")


def study_stream(study: str) -> str:
    return str(uuid5(NAMESPACE, f"study\n{study}"))


def person_stream(schema: str, study: str, person: str) -> str:
    return str(uuid5(NAMESPACE, f"{schema}\n{study}\n{person}"))


def recruiter_stream(recruiter: str) -> str:
    return str(uuid5(NAMESPACE, f"recruiter\n{recruiter}"))


Made = TypeVar("Made")
_fact = tables.events.c


def study_events(connection: Connection, study: str, *kinds: str) -> list[Event]:
    wanted = select(*tables.EVENT).where(_fact.stream == study_stream(study), _fact.kind.in_(kinds))
    return [Event(*row) for row in connection.execute(wanted.order_by(_fact.seq))]


def operations_of(database: Database, study: str) -> StudyStatus:
    with database.connect() as connection:
        return operations_in(connection, study)


def last_decision(database: Database, study: str) -> int:
    """The number of the last event of a study's own stream; 0 if there is none."""
    with database.connect() as connection:
        wanted = select(func.max(_fact.seq)).where(_fact.stream == study_stream(study))
        return connection.execute(wanted).scalar() or 0


def operations_in(connection: Connection, study: str) -> StudyStatus:
    return fold_operations(study_events(connection, study, *KINDS))


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


def dataset_info_in(connection: Connection, study: str) -> DatasetInfo | None:
    return next(reversed(_recorded(connection, study)), None)


def dataset_info_of(database: Database, study: str) -> DatasetInfo | None:
    with database.connect() as connection:
        return dataset_info_in(connection, study)


def record_dataset_info(
    database: Database, study: str, info: DatasetInfo | None, *, by: Actor, at_us: int, once: bool = False
) -> bool:
    """As `describe_in`, in a transaction of its own."""
    return decided(database, study, lambda now: describe_in(now, info, by=by, at_us=at_us, once=once))


def describe_in(
    transaction: StatusTransaction, info: DatasetInfo | None, *, by: Actor, at_us: int, once: bool = False
) -> bool:
    """Make these the current metadata; returns False if they were, or are None. With `once`, any recorded before are
    not recorded again, so that a restart with an old study file does not replace later metadata."""
    before = _recorded(transaction.connection, transaction.study)
    if info is None or info in (before if once else before[-1:]):
        return False
    data = info.model_dump(mode="json", exclude_defaults=True)
    transaction.add("described", {"dataset": data}, by=by, at_us=at_us)
    return True


def _recorded(connection: Connection, study: str) -> list[DatasetInfo]:
    found = study_events(connection, study, "described")
    return [DatasetInfo.model_validate(event.data["dataset"]) for event in found]

"""The reminders of a study with waves: those due now, and the numbers sent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select

from experiments.events import Event
from experiments.session.reminders import FAILED, REMINDED, SENT, NextReminder, next_reminder
from experiments.study.sections.reminders import Channel
from storage import tables
from storage.db.engine import Database
from storage.registers.contacts import reachable
from storage.registers.origins import Origin
from storage.registers.persons import Person, people
from storage.registers.studies import Studies
from storage.registers.study_status import operations_of

_session, _event = tables.sessions.c, tables.events.c


@dataclass(frozen=True, slots=True)
class ReminderCounts:
    """`unknown` have no result yet, or none that says whether they went out."""

    sent: int
    failed: int
    unknown: int
    due: int


def reminded_studies(database: Database) -> list[str]:
    with database.connect() as connection:
        names = connection.execute(select(_session.study).where(_session.person.is_not(None)).distinct())
        return sorted(names.scalars())


def due_reminders(
    database: Database, study: str, origin: str, now_us: int, channels: Collection[Channel]
) -> list[tuple[Person, NextReminder]]:
    """The people to remind now by one of these channels, unless the study is closed for them."""
    if origin == Origin.PERSON and operations_of(database, study).closed is not None:
        return []
    studies, ways, events = Studies(database), reachable(database, study), _events(database, study, origin)
    found = []
    for person in people(database, study, origin):
        own = [channel for channel in channels if channel not in ways or person.id in ways[channel]]
        due = next_reminder(studies.get(person.hash), person.history, events[person.first], own, now_us)
        if due is not None and due.at_us == now_us:
            found.append((person, due))
    return found


def reminder_counts(database: Database, study: str, origin: str, now_us: int) -> ReminderCounts | None:
    """None if no study of this name has reminders."""
    reminders = Studies(database).newest(study).file.reminders
    if reminders is None:
        return None
    facts = [event for events in _events(database, study, origin).values() for event in events]
    kinds = Counter(event.kind for event in facts)
    failed = sum(event.kind == FAILED and event.data["certain"] for event in facts)
    due = len(due_reminders(database, study, origin, now_us, reminders.channels))
    return ReminderCounts(kinds[SENT], failed, kinds[REMINDED] - kinds[SENT] - failed, due)


def _events(database: Database, study: str, origin: str) -> defaultdict[str, list[Event]]:
    """The events about reminders, by the person's first session."""
    query = select(_event.stream, *tables.EVENT).join(tables.sessions, _session.stream == _event.stream)
    query = query.where(_session.study == study, _session.origin == origin, tables.REMINDERS)
    found: defaultdict[str, list[Event]] = defaultdict(list)
    with database.connect() as connection:
        for stream, *fact in connection.execute(query.order_by(_event.stream, _event.seq)):
            found[stream].append(Event(*fact))
    return found

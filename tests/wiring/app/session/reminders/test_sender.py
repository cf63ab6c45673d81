"""Reminders from the log to a channel: once whatever stops the server, by whoever serves, and to nobody's address in
the log."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.errors import NotDelivered
from app.session.reminders.channels import Failure, SilentChannel
from app.session.reminders.message import ReminderMessage
from app.session.reminders.sender import ReminderTask, Reminding
from app.session.retention import RetentionTask
from app.session.service import SessionService
from experiments.events import Action
from experiments.session.engine import fold
from experiments.session.reminders import FAILED, REMINDED, SENT, UNSUBSCRIBED
from storage import tables
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.recruiter_ids import write_recruiter_ids
from storage.datasets.tidy.columns import NAME, Layout
from storage.datasets.tidy.rows import TidySession, rows
from storage.db.engine import Database
from storage.log.event_log import load
from storage.registers.contacts import Contacts
from storage.registers.participants import ParticipantId, Participants
from storage.registers.persons import Person, people
from storage.registers.reminders import ReminderCounts, reminder_counts
from storage.registers.study_status import set_status
from storage.reports.person import PersonSessions, person_data
from tests.fakes.clicks import click
from tests.fakes.reminders import FIRST_US, study
from tests.fakes.served import SECRET, settings_for
from tests.wiring.reading import query

pytestmark = pytest.mark.anyio
DAY_S = 86_400
ADDRESS = "zqada@example.org"
WHO = ParticipantId("prolific", "5f3a" * 6)


class Channel(SilentChannel):
    """One that does what it is told to in place of sending, and then keeps what came."""

    def __init__(self) -> None:
        self.messages: list[ReminderMessage] = []
        self.at_open: Callable[[], None] = lambda: None
        self.at_send: Callable[[], Failure | None] = lambda: None

    def open(self) -> None:
        self.at_open()

    def send(self, message: ReminderMessage) -> Failure | None:
        self.messages.append(message)
        return self.at_send()


@dataclass
class Reminded:
    """Somebody who has finished the first week and gave an address, and a server that reminds."""

    folder: Path
    database: Database
    channel: Channel = field(default_factory=Channel)

    def __post_init__(self) -> None:
        self.clock = VirtualClock(FIRST_US)
        self.runtime = SessionService(self.database, settings_for(self.folder), self.clock)
        self.people = Participants(self.database, SECRET)
        self.contacts = Contacts(self.database, self.people)

    def task(self, runtime: SessionService | None = None) -> ReminderTask:
        reminding = Reminding(
            runtime or self.runtime, {"mail": self.channel}, self.contacts.reach, lambda one: (f"go/{one.id}", "end")
        )
        return ReminderTask(reminding, self.database, self.clock, 600)

    async def take_part(self, **keys: Any) -> None:
        self.runtime.prepare(study(**keys))
        identity = self.people.entry("weeks", WHO, 1, proven=False)
        live = await self.runtime.enrol(study(**keys), origin="person", zone="UTC", identity=identity)
        bot = RandomBot("1")
        while not live.screen.ended:
            kind, values = bot.act(live.screen)
            live = await click(self.runtime, live, kind, **values)
        self.contacts.save_address("weeks", self.person.id, ADDRESS)
        self.clock.advance(6 * DAY_S)
        assert await self.task().once() == 0
        self.clock.set(FIRST_US + 7 * DAY_S * 1_000_000)

    @property
    def person(self) -> Person:
        (found,) = people(self.database, "weeks", "person")
        return found

    @property
    def kinds(self) -> list[str]:
        kinds = [event.kind for event in load(self.database, self.person.first)]
        return [kind for kind in kinds if kind in (REMINDED, SENT, FAILED)]

    @property
    def counts(self) -> ReminderCounts | None:
        return reminder_counts(self.database, "weeks", "person", self.clock.now_us())

    def addresses(self) -> list[Any]:
        return query(self.database, "SELECT * FROM participant_identity WHERE recruiter = 'mail'")


@pytest.fixture
async def reminded(tmp_path: Path, each_database: Database) -> AsyncIterator[Reminded]:
    found = Reminded(tmp_path, each_database)
    await found.take_part()
    yield found
    await found.runtime.close()


async def test_a_reminder_is_in_the_log_before_it_goes_out_and_its_result_after(reminded: Reminded) -> None:
    seen: list[list[str]] = []
    reminded.channel.at_send = lambda: seen.append(reminded.kinds)
    assert reminded.counts == ReminderCounts(0, 0, 0, 1)
    assert await reminded.task().once() == 1
    assert (seen, reminded.kinds) == ([[REMINDED]], [REMINDED, SENT])
    (message,) = reminded.channel.messages
    assert (message.recipient.to, message.recipient.link) == (ADDRESS, f"go/{reminded.person.id}")
    first = TidySession(study(), fold(load(reminded.database, reminded.person.first)), {})
    names = ("event", "reminder_wave", "reminder", "reminder_channel", "reminder_number")
    told = [tuple(row[name] for name in names) for row in rows("events", first, Layout((study(),)))]
    assert told[-2:] == [(kind, "week-2", "opening", "mail", 1) for kind in (REMINDED, SENT)]
    assert told[0][1:] == (None,) * 4
    assert await reminded.task().once() == 0
    assert reminded.counts == ReminderCounts(1, 0, 0, 0)


async def test_the_person_of_a_webhook_is_found_in_the_file_of_recruiters_ids(
    reminded: Reminded, tmp_path: Path
) -> None:
    await reminded.task().once()
    (message,) = reminded.channel.messages
    file, wanted = tmp_path / "ids.csv", ExportRequest("weeks", NAME, "person")
    assert write_recruiter_ids(reminded.database, reminded.people, wanted, file) == 1
    (row,) = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    assert (row["person"], row["id"]) == (message.facts["person"], WHO.id)


async def test_two_servers_at_once_send_one(reminded: Reminded, tmp_path: Path) -> None:
    other = SessionService(reminded.database, settings_for(tmp_path), reminded.clock)
    try:
        await asyncio.gather(reminded.task().once(), reminded.task(other).once())
        assert (len(reminded.channel.messages), reminded.kinds) == (1, [REMINDED, SENT])
    finally:
        await other.close()


async def test_a_channel_that_cannot_be_used_writes_nothing_and_what_was_not_sent_is_tried_again(
    reminded: Reminded,
) -> None:
    def down() -> None:
        raise NotDelivered("down")

    reminded.channel.at_open = down
    await reminded.task().once()
    assert reminded.kinds == []
    reminded.channel.at_open = lambda: None
    reminded.channel.at_send = lambda: Failure("smtp_450", certain=True, again=True)
    await reminded.task().once()
    await reminded.task().once()
    assert reminded.kinds == [REMINDED, FAILED]
    assert reminded.counts == ReminderCounts(0, 1, 0, 0)
    reminded.clock.advance(900)
    reminded.channel.at_send = lambda: None
    await reminded.task().once()
    assert reminded.kinds == [REMINDED, FAILED, REMINDED, SENT]


async def test_nobody_is_reminded_after_unsubscribing_or_withdrawing(reminded: Reminded) -> None:
    first = reminded.person.first
    await reminded.runtime.act(first, Action(UNSUBSCRIBED, "", {}, reminded.clock.now_us(), by="system"))
    assert await reminded.task().once() == 0
    assert len(reminded.addresses()) == 1
    await reminded.runtime.withdraw(first)
    assert reminded.addresses() == []
    assert await reminded.task().once() == 0
    assert reminded.channel.messages == []


async def test_a_study_that_is_closed_calls_nobody_back(reminded: Reminded) -> None:
    for decided, tried in (("paused", 1), ("closed", 0), ("opened", 1)):
        data = {} if decided == "opened" else {"why": "over"}
        set_status(reminded.database, "weeks", decided, data, by="researcher", at_us=reminded.clock.now_us())  # type: ignore[arg-type]
        counts = reminded.counts
        assert counts is not None
        assert counts.due == tried
    assert await reminded.task().once() == 1


async def test_an_address_is_sealed_in_no_log_and_goes_with_the_recruiters_id(
    tmp_path: Path, each_database: Database
) -> None:
    reminded = Reminded(tmp_path, each_database)
    await reminded.take_part(keep_ids_for="30 days")
    await reminded.task().once()
    streams = PersonSessions(tuple(reminded.person.streams.values()))
    (own,) = person_data(each_database, reminded.people, streams, 0)["sessions"]
    assert own["mail_address"] == ADDRESS, "it is the person's own"
    for table in tables.metadata.sorted_tables:
        assert "zqada" not in str(query(each_database, f"SELECT * FROM {table.name}"))
    task = RetentionTask(reminded.runtime, each_database, reminded.people)
    reminded.clock.set(FIRST_US + 29 * DAY_S * 1_000_000)
    await task.once()
    assert len(reminded.addresses()) == 1
    reminded.clock.advance(2 * DAY_S)
    (plan,) = await task.once()
    assert ([one.number for one in plan.ids], reminded.addresses()) == ([1], [])
    assert (await task.once())[0].ids == ()
    await reminded.runtime.close()

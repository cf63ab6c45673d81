"""`kill -9` while reminders go out by mail: nobody is sent one twice, and who was not reached yet is reminded."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.session.reminders.mail import MailChannel
from app.session.reminders.sender import ReminderTask, Reminding
from app.session.service import SessionService
from experiments.session.reminders import REMINDED, SENT
from storage.db.engine import Database, open_database
from storage.registers.contacts import Contacts
from storage.registers.participants import Participants
from storage.registers.persons import people
from storage.registers.reminders import ReminderCounts, reminder_counts
from tests.fakes.clicks import click
from tests.fakes.forked import Forked
from tests.fakes.mail_server import OVER, MailServer, mail_server
from tests.fakes.reminders import FIRST_US, study
from tests.fakes.served import SECRET, settings_for
from tests.fakes.tool_desk import until
from tests.wiring.reading import query

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
NOW_US = FIRST_US + 7 * 86_400_000_000


def remind(folder: str, url: str, port: int) -> None:
    """A server's task, once, until it is killed or all is sent."""

    async def once() -> None:
        database, clock = open_database(url), VirtualClock(NOW_US)
        mail = {"mail_host": "127.0.0.1", "mail_port": port, "mail_security": "none", "mail_from": "lab@example.org"}
        settings = settings_for(Path(folder), **mail)
        service, contacts = (
            SessionService(database, settings, clock),
            Contacts(database, Participants(database, SECRET)),
        )
        reminding = Reminding(
            service, {"mail": MailChannel(settings)}, contacts.reach, lambda one: (f"go/{one.id}", "")
        )
        await ReminderTask(reminding, database, clock, 600).once()
        await service.close()

    asyncio.run(once())


async def take_part(database: Database, folder: Path, number: int) -> None:
    """People who have finished the first week, and gave an address."""
    service = SessionService(database, settings_for(folder), VirtualClock(FIRST_US))
    service.prepare(study())
    for label in map(str, range(number)):
        live, bot = await service.enrol(study(), origin="person", zone="UTC"), RandomBot(label)
        while not live.screen.ended:
            kind, values = bot.act(live.screen)
            live = await click(service, live, kind, **values)
    await service.close()
    contacts = Contacts(database, Participants(database, SECRET))
    for one in people(database, "weeks", "person"):
        contacts.save_address("weeks", one.id, f"{one.id}@example.org")


def reminded(database: Database, *kinds: str) -> Counter[str]:
    found = query(database, "SELECT stream, kind FROM event")
    return Counter(stream for stream, kind in found if kind in kinds)


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_killed_before_in_and_after_a_mail(tmp_path: Path, database_url: str) -> None:
    database = open_database(database_url)
    await take_part(database, tmp_path, 5)
    with mail_server() as server:
        # where it is killed: connected, and nothing is written; written, and nothing is sent; sent, and not answered
        moments: dict[str, Callable[[], bool]] = {
            "EHLO": lambda: server.connections == 1,
            "MAIL": lambda: reminded(database, REMINDED).total() == 1,
            OVER: lambda: len(server.taken) == 1,
        }
        for command, come in moments.items():
            server.answers = {command: "hang"}
            process = begin(tmp_path, database_url, server)
            await until(come)
            process.kill()
        server.answers = {}
        for _ in "twice":
            assert await asyncio.to_thread(begin(tmp_path, database_url, server).wait) == 0
    found = people(database, "weeks", "person")
    assert len({to for to, _ in server.taken}) == len(server.taken) == len(found) - 1, "each once, and one not at all"
    assert reminded(database, REMINDED) == Counter(one.first for one in found)
    assert reminded(database, SENT) == Counter(one.first for one in found[2:])
    assert reminder_counts(database, "weeks", "person", NOW_US) == ReminderCounts(sent=3, failed=0, unknown=2, due=0)
    database.dispose()


def begin(folder: Path, url: str, server: MailServer) -> Forked:
    return Forked(remind, str(folder), url, server.port, folder=folder, out=folder / "said.txt")

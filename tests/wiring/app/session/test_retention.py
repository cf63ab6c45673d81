"""Recruiters' ids and data are deleted once their period has passed, unless a payment is open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.session.retention import SERVER, RetentionTask
from storage.accounts.audit_log import AuditLog
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.log.event_log import load
from storage.log.projections import differences
from storage.payments.payments import Payment, payees, record
from storage.registers.participants import UNLINKED, ParticipantId
from tests.fakes.commanding import Done, parley
from tests.fakes.http_bot import HttpBot
from tests.fakes.one_database import one_database
from tests.fakes.proofs import signed
from tests.fakes.served import SECRET, serving, settings_for
from tests.fakes.visits import Visits, begin
from tests.wiring.reading import check_sound, exported, query

pytestmark = pytest.mark.anyio
ADA, BOB = "5f3a0c6e9d1b2a7c4e8f0d12", "5f3a0c6e9d1b2a7c4e8f0d34"
DAY_S = 86_400


@pytest.fixture
def database(each_database: Database) -> Database:
    return each_database


@pytest.fixture
async def visits(tmp_path: Path, database: Database) -> AsyncIterator[Visits]:
    found = begin(tmp_path, database, keep_ids_for="90 days", keep_for="1 year")
    await found.take_part(ADA, "zqadaqz")
    found.clock.advance(10 * DAY_S)
    await found.take_part(BOB, "zqbobqz")
    yield found
    await found.runtime.close()


def command_of(visits: Visits, *words: str) -> Done:
    return parley(*words, folder=visits.folder, PARLEY_SECRET=SECRET, PARLEY_DATABASE_URL=visits.url)


def command(visits: Visits, *words: str) -> Done:
    done = command_of(visits, *words)
    assert done.returncode == 0, done.stderr
    return done


def task(visits: Visits) -> RetentionTask:
    return RetentionTask(visits.runtime, visits.database, visits.people)


def find(visits: Visits, id_: str) -> list[str]:
    return visits.people.sessions("short", ParticipantId("prolific", id_))


async def test_an_id_is_deleted_after_its_period_and_the_data_stay(visits: Visits, tmp_path: Path) -> None:
    first, second = visits.streams[ADA], visits.streams[BOB]
    before = exported(visits.database, "short", tmp_path / "before")
    visits.clock.advance(81 * DAY_S)
    (plan,) = await task(visits).once()
    assert [one.number for one in plan.ids] == [1]
    assert (plan.data, plan.unpaid) == ((), ())
    assert visits.people.reveal(first) is None
    assert visits.people.reveal(second) == ParticipantId("prolific", BOB, "submission-zqbobqz")
    assert exported(visits.database, "short", tmp_path / "after") == before
    assert await task(visits).once() == (type(plan)("short", "90 days", "1 year", next_us=plan.next_us),)
    assert AuditLog(visits.database, visits.clock.now_us).read(SERVER)[0].about == "short No. 1"


async def test_neither_the_id_nor_its_digest_leads_to_the_data_any_more(visits: Visits) -> None:
    visits.clock.advance(120 * DAY_S)
    await task(visits).once()
    for id_ in (ADA, BOB):
        (name,) = find(visits, id_)
        assert name.startswith(UNLINKED)
        assert name not in visits.streams.values()
    place = "rowid" if visits.database.dialect.name == "sqlite" else "ctid"
    rows = query(visits.database, f"SELECT {place}, digest FROM participant_identity ORDER BY {place}")
    assert [row[1] for row in rows] == sorted(row[1] for row in rows), "nor the order in which they came"
    done = command_of(visits, "person", "withdraw", ADA, "--yes")
    assert (done.returncode, "no session found" in done.stderr) == (2, True)


@one_database
async def test_who_comes_again_is_still_known(tmp_path: Path, database: Database) -> None:
    visits = begin(tmp_path, database)
    await visits.take_part(ADA, "zqadaqz")
    await visits.runtime.close()
    mine, others = f"?PROLIFIC_PID={BOB}&SESSION_ID=t", signed("short", "prolific", ADA)
    async with (
        serving(settings_for(tmp_path, database_url=visits.url), tmp_path / "short.yaml") as served,
        HttpBot(served.url, "1") as bot,
    ):
        await bot.arrive("short", mine)
        await bot.finish()
        stream = bot.stream
        for id_ in (ADA, BOB):
            command(visits, "person", "delete-id", id_, "--yes")
        assert "ticket" not in (await bot.send("GET", f"/s/short{others}")).text
        await bot.arrive("short", mine)
        assert (bot.stream, bot.screen.ended) == (stream, True)
        assert query(database, "SELECT count(*) FROM session") == [(2,)]


async def test_data_are_erased_after_their_period_as_by_a_withdrawal(visits: Visits, tmp_path: Path) -> None:
    visits.clock.advance(360 * DAY_S)
    (plan,) = await task(visits).once()
    assert ([one.number for one in plan.data], [one.number for one in plan.ids]) == ([1], [2])
    (event,) = load(visits.database, visits.streams[ADA])
    assert (event.kind, event.by) == ("withdrew", "system")
    assert query(visits.database, "SELECT by, reason FROM erasure") == [("system", "kept for its period")]
    assert "zqadaqz" not in (text := exported(visits.database, "short", tmp_path / "out"))
    assert "zqbobqz" in text
    assert list(differences(visits.database)) == []
    check_sound(visits.database)
    visits.clock.advance(10 * DAY_S)
    (plan,) = await task(visits).once()
    assert [one.number for one in plan.data] == [2]


@one_database
async def test_what_waits_for_a_payment_is_kept_until_it_is_paid(tmp_path: Path, database: Database) -> None:
    visits = begin(
        tmp_path, database, keep_ids_for="2 weeks", keep_for="1 month", bonus=[{"per": "completion", "amount": 2}]
    )
    stream = await visits.take_part(ADA, "zqadaqz")
    visits.clock.advance(50 * DAY_S)
    (plan,) = await task(visits).once()
    assert (plan.ids, plan.data, [one.number for one in plan.unpaid]) == ((), (), [1])
    assert visits.people.reveal(stream) is not None
    refused = command_of(visits, "person", "delete-id", ADA, "--yes")
    assert (refused.returncode, "not paid" in refused.stderr) == (2, True)
    status = json.loads(command(visits, "show", "status", "short", "--json").stdout)["retention"]
    assert status["kept_for_a_payment"] == [1]
    assert "retention" not in command(visits, "show", "status", "short").stdout, "which is a word of the code"
    record(
        database,
        [Payment(payees(database, visits.people, "short", now_us=0)[0], "bonus.csv")],
        "key",
        visits.clock.now_us(),
    )
    (plan,) = await task(visits).once()
    assert ([one.number for one in plan.data], plan.unpaid) == ([1], ())
    await visits.runtime.close()


@one_database
async def test_a_running_server_does_it_by_itself(visits: Visits) -> None:
    async with serving(settings_for(visits.folder, database_url=visits.url), visits.folder / "short.yaml"):
        while any(visits.people.reveal(stream) for stream in visits.streams.values()):
            await asyncio.sleep(0.05)
    assert AuditLog(visits.database, visits.clock.now_us).read(SERVER)[0].what == "deleted recruiter IDs by age"


@one_database
async def test_the_command_says_what_it_would_delete_and_deletes_it(visits: Visits) -> None:
    streams = list(visits.streams.values())
    (told,) = json.loads(command(visits, "person", "retention", "--dry-run", "--json").stdout)
    assert (told["deleted"], told["ids_due"]) == (False, [1, 2])
    assert all(visits.people.reveal(stream) for stream in streams)
    status = json.loads(command(visits, "show", "status", "short", "--json").stdout)["retention"]
    assert (status["keep_ids_for"], status["ids_due"]) == ("90 days", [1, 2])
    command(visits, "person", "retention", "short")
    assert not any(visits.people.reveal(stream) for stream in streams)
    assert AuditLog(visits.database, visits.clock.now_us).read(TERMINAL)[0].what == "deleted recruiter IDs by age"

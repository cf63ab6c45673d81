"""Two replicas over one PostgreSQL, each request to the next in turn: people go through whole studies with a chat, also
where one replica is killed among them.

With --soak: 30 people, and 20 kills.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from storage import tables
from storage.engine import open_database
from storage.log import Log
from storage.projections import differences
from storage.verify import verify
from storage.work import Attempt
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.postgres import fresh
from tests.fakes.round_robin import Proxy, in_turns
from tests.fakes.served import Process
from tests.wiring.reading import check_facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
PATIENCE_S = 5.0
"""How long nobody may have to wait for anything once a replica is killed."""


@pytest.fixture
def url(postgres_server: str) -> str:
    return fresh(postgres_server, f"parley_{uuid4().hex}")


@pytest.fixture
def replicas(url: str, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    study = studies.demo(tmp_path, first_ms=40, pace_ms=4)
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        made.append(Process(tmp_path / name, (study,), env={"PARLEY_DATABASE_URL": url}))
    for process in made:
        process.start()
    yield made[0], made[1]
    for process in made:
        process.kill()


class Person(HttpBot):
    """Somebody who keeps the time of every answer."""

    longest_s = 0.0

    async def send(self, *asked, **more):
        began = time.monotonic()
        response = await super().send(*asked, **more)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return response


@asynccontextmanager
async def people(proxy: Proxy, count: int, seed: int) -> AsyncIterator[list[Person]]:
    async with AsyncExitStack() as stack:
        names = [f"{seed}:{number}" for number in range(count)]
        bots = [Person(proxy.url, name, canary="words", patience_s=PATIENCE_S) for name in names]
        yield [await stack.enter_async_context(bot) for bot in bots]


async def take_part(bot: Person) -> None:
    await bot.arrive("demo")
    await bot.finish()


async def check_all(url: str, bots: list[Person]) -> None:
    """What was acknowledged is there, once; rows, seats and draws are what the facts say; nobody is in twice."""

    def look() -> None:
        database = open_database(url)
        for bot in bots:
            assert bot.screen.ended
            check_facts(database, bot)
        assert query(database, "SELECT count(*) FROM session") == [(len(bots),)]
        assert query(database, "SELECT outcome, count(*) FROM seat GROUP BY outcome") == [("complete", len(bots))]
        assert list(differences(database)) == []
        found = verify(database, "demo")
        assert (found.sessions, found.differences) == (len(bots), ())
        database.dispose()

    await asyncio.to_thread(look)
    for bot in bots:
        for act in bot.acts:
            assert (await bot.redo(act)).note == "", "what was acknowledged is known, and makes nothing new"
    await asyncio.to_thread(look)


def test_what_two_processes_ask_for_the_same_reply_is_all_kept(url: str) -> None:
    databases = [open_database(url) for _ in range(2)]
    logs = [Log(database) for database in databases]
    known = {column.name: None for column in tables.attempts.columns}
    values = {"stream": "s", "turn": 3, "slot": "", "study": "demo", "path": "talk", "started_us": 0, "model": "only"}
    row = {**known, **values, "backend": "scripted", "request": {}, "text": "", "total_us": 1}
    told = [log.record_attempt(Attempt(row)) for _ in range(100) for log in logs]
    for future in told:
        future.result(30)
    numbers = query(databases[0], "SELECT number FROM attempt ORDER BY number")
    assert [number for (number,) in numbers] == list(range(1, 201))
    assert query(databases[0], "SELECT calls FROM model_usage") == [(200,)]
    for log, database in zip(logs, databases, strict=True):
        log.close()
        database.dispose()


async def check_asked_once(url: str) -> None:
    """Whoever was looked at while a reply was owed: the model was asked once for each."""

    def look() -> None:
        database = open_database(url)
        ((replied,),) = query(database, "SELECT count(*) FROM event WHERE kind = 'replied'")
        asked = query(database, "SELECT count(*), count(DISTINCT (stream, turn, slot)) FROM attempt")
        assert asked == [(replied, replied)] != [(0, 0)]
        database.dispose()

    await asyncio.to_thread(look)


async def test_people_go_through_a_study_over_both_replicas(
    url: str, replicas: tuple[Process, Process], seed: int, soak: bool
) -> None:
    async with in_turns(*(one.port for one in replicas)) as proxy, people(proxy, 30 if soak else 6, seed) as bots:
        await asyncio.gather(*map(take_part, bots))
        first, second = (proxy.given[one.port] for one in replicas)
        assert abs(first - second) <= 1, "each got every second request"
        assert any(act.kind == "say" for bot in bots for act in bot.acts)
        await check_all(url, bots)
        await check_asked_once(url)
    assert all("Traceback" not in one.log for one in replicas)


async def test_a_replica_is_killed_and_people_go_on_with_the_other(
    url: str, replicas: tuple[Process, Process], seed: int, soak: bool
) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with in_turns(*(one.port for one in replicas)) as proxy, people(proxy, 30 if soak else 6, seed) as bots:
        going = [asyncio.create_task(take_part(bot)) for bot in bots]
        for _ in range(20 if soak else 1):
            await asyncio.sleep(chance.uniform(0.5, 2))
            acknowledged = sum(len(bot.acts) for bot in bots)
            dead = chance.choice(replicas)
            await asyncio.to_thread(dead.kill)
            if soak:
                await asyncio.sleep(chance.uniform(0, 2))
                await asyncio.to_thread(dead.start)
        await asyncio.gather(*going)
        assert sum(len(bot.acts) for bot in bots) > acknowledged, "the kill came when all was over"
        assert max(bot.longest_s for bot in bots) < PATIENCE_S
        await check_all(url, bots)
    assert all("Traceback" not in one.log for one in replicas)


async def test_a_reply_that_a_killed_replica_was_fetching_is_given_by_the_other(
    url: str, replicas: tuple[Process, Process], seed: int
) -> None:
    one, two = replicas
    async with in_turns(one.port) as first, in_turns(two.port) as second, people(first, 1, seed) as (bot,):
        await bot.arrive("demo")
        await bot.until(waiting=True)
        await asyncio.to_thread(one.kill)
        killed = time.monotonic()
        bot.client.base_url = second.url
        await bot.look()
        while (chat := bot.screen.panel.chat) is not None and chat.waiting:
            await bot.step()
        assert time.monotonic() - killed < PATIENCE_S
        await bot.finish()
        await check_all(url, [bot])

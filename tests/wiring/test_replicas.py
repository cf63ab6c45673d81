"""Two replicas over one PostgreSQL behind the real nginx with the file that is shipped: people go through whole studies
with a chat, also where one replica is killed among them."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from storage.db.engine import open_database
from storage.reports.reproducibility import recompute_draws
from tests.fakes import studies
from tests.fakes.crowd import PATIENCE_S, Crowd, check_crowd
from tests.fakes.http_bot import Heard, HttpBot, take
from tests.fakes.nginx import before
from tests.fakes.postgres import fresh
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import query

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.nightly,
]  # a busy machine starts it slowly
# What nginx answers where the server that it asked is gone; pages then ask again, as they do where nobody answers.
NO_SERVER = (502, 504)


@pytest.fixture
def url(postgres_server: str) -> str:
    return fresh(postgres_server, f"parley_{uuid4().hex}")


@pytest.fixture
def replicas(url: str, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    study = studies.demo(tmp_path, first_ms=40, pace_ms=4)
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        env = {"PARLEY_DATABASE_URL": url, "PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
        made.append(Process(tmp_path / name, (study,), env=env))
    try:
        for process in made:
            process.start()
        yield made[0], made[1]
    finally:
        for process in made:
            process.kill()


@asynccontextmanager
async def people(url: str, count: int, seed: str) -> AsyncIterator[list[HttpBot]]:
    async def ask_again(response: httpx2.Response) -> None:
        if response.status_code in NO_SERVER:
            raise httpx2.RemoteProtocolError("nobody answered")

    async with AsyncExitStack() as stack:
        made = [HttpBot(url, f"{seed}:{number}", canary="words", patience_s=PATIENCE_S) for number in range(count)]
        for bot in made:
            bot.client.event_hooks = {"response": [ask_again]}
            await stack.enter_async_context(bot)
        await asyncio.gather(*(bot.arrive("demo") for bot in made))
        yield made


def check_asked_once(url: str) -> None:
    """Whoever was looked at while a reply was owed: the model was asked once for each."""
    database = open_database(url)
    ((replied,),) = query(database, "SELECT count(*) FROM event WHERE kind = 'replied'")
    asked = query(database, "SELECT count(*), count(DISTINCT (stream, turn, slot)) FROM attempt")
    assert asked == [(replied, replied)] != [(0, 0)]
    database.dispose()


async def test_a_replica_is_killed_and_people_go_on_with_the_other(
    url: str, replicas: tuple[Process, Process], nginx: str, tmp_path: Path, seed: int
) -> None:
    (one, two), chance = replicas, random.Random(seed)
    with before(nginx, tmp_path / "nginx", one.port, two.port) as proxy:
        async with people(proxy.url, 6, str(seed)) as bots:
            await asyncio.gather(*(bot.finish() for bot in bots[:3]))
            await asyncio.to_thread(check_asked_once, url)
            assert proxy.complaints == ""
            going = asyncio.gather(*(bot.finish() for bot in bots[3:]))
            await asyncio.sleep(chance.uniform(0.1, 1))
            acknowledged = sum(len(bot.acts) for bot in bots)
            dead = chance.choice(replicas)
            await asyncio.to_thread(dead.kill)
            await going
            assert sum(len(bot.acts) for bot in bots) > acknowledged, "the kill came when all was over"
            await asyncio.to_thread(dead.start)
            await check_all(url, bots)

    async with people(one.url, 1, f"{seed}") as (bot,):
        await bot.until(waiting=True)
        await asyncio.to_thread(one.kill)
        bot.client.base_url = two.url
        await bot.finish()
        await check_all(url, [*bots, bot])
    assert all("Traceback" not in one.log for one in replicas)


async def check_all(url: str, bots: list[HttpBot]) -> None:
    """What was acknowledged is there, once; nobody is in twice, and the draws are what the facts say."""
    for act in bots[-1].acts:
        assert (await bots[-1].redo(act)).note == "", "what was acknowledged is known, and makes nothing new"

    def look() -> None:
        database = open_database(url)
        check_crowd(database, Crowd(url, "demo", 0, arrived=bots))
        assert query(database, "SELECT outcome, count(*) FROM seat GROUP BY outcome") == [("complete", len(bots))]
        assert recompute_draws(database, "demo").differences == ()
        database.dispose()

    await asyncio.to_thread(look)


async def test_words_are_passed_on_as_they_come_and_who_is_away_is_not_waited_for(nginx: str, tmp_path: Path) -> None:
    study = studies.chat(tmp_path, options={"first_ms": 20, "pace_ms": 50})
    async with serving(settings_for(tmp_path, trusted_proxies="127.0.0.1"), study) as served:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            ports = int(served.url.rpartition(":")[2]), nobody.getsockname()[1]
            with before(nginx, tmp_path / "nginx", *ports) as proxy:
                async with HttpBot(proxy.url, "words") as bot:
                    await bot.arrive("talk")
                    await bot.until(waiting=True)
                    async with bot.client.stream("GET", "/api/reply") as response:
                        heard = Heard()
                        async for line in response.aiter_lines():
                            take(line, heard)
                            if heard.text:
                                break
                        assert query(served.database, "SELECT count(*) FROM event WHERE kind = 'replied'") == [(0,)]

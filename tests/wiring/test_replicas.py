"""Two replicas over one PostgreSQL behind the real nginx with the file that is shipped: people go through whole studies
with a chat, also where one replica is killed among them.

With --soak: 30 people, and kills among 300, as long as they are there.
"""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from storage.db.engine import open_database
from storage.log.projections import differences
from storage.reports.reproducibility import recompute_draws
from tests.fakes import studies
from tests.fakes.http_bot import Heard, HttpBot, take
from tests.fakes.nginx import before
from tests.fakes.postgres import fresh
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import check_facts, query

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.nightly,
]  # a busy machine starts it slowly
PATIENCE_S = 60.0
AT_ONCE = 30
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


async def finish(bots: Sequence[HttpBot]) -> None:
    """Let people go through the study, AT_ONCE of them at once."""
    place = asyncio.Semaphore(AT_ONCE)

    async def one(bot: HttpBot) -> None:
        async with place:
            await bot.finish()

    await asyncio.gather(*map(one, bots))


async def kill_among(
    bots: Sequence[HttpBot], replicas: Sequence[Process], chance: random.Random, *, again: bool
) -> None:
    """Let people finish, with a replica killed among them; with `again` one after another, each started again."""
    going = asyncio.ensure_future(finish(bots))
    acknowledged: list[int] = []
    while not acknowledged or (again and not going.done()):
        await asyncio.sleep(chance.uniform(0.1, 1))
        acknowledged.append(sum(len(bot.acts) for bot in bots))
        dead = chance.choice(replicas)
        await asyncio.to_thread(dead.kill)
        if again:
            await asyncio.sleep(chance.uniform(0, 2))
            await asyncio.to_thread(dead.start)
    await going
    assert sum(len(bot.acts) for bot in bots) > acknowledged[0], "the kill came when all was over"


async def check_all(url: str, bots: list[HttpBot], total: int) -> None:
    """What was acknowledged is there, once; rows, seats and draws are what the facts say; nobody is in twice."""
    for bot in bots:
        for act in bot.acts:
            assert (await bot.redo(act)).note == "", "what was acknowledged is known, and makes nothing new"

    def look() -> None:
        database = open_database(url)
        for bot in bots:
            assert bot.screen.ended
            check_facts(database, bot)
        assert query(database, "SELECT count(*) FROM session") == [(total,)]
        assert query(database, "SELECT outcome, count(*) FROM seat GROUP BY outcome") == [("complete", total)]
        assert list(differences(database)) == []
        found = recompute_draws(database, "demo")
        assert (found.sessions, found.differences) == (total, ())
        database.dispose()

    await asyncio.to_thread(look)


def check_asked_once(url: str) -> None:
    """Whoever was looked at while a reply was owed: the model was asked once for each."""
    database = open_database(url)
    ((replied,),) = query(database, "SELECT count(*) FROM event WHERE kind = 'replied'")
    asked = query(database, "SELECT count(*), count(DISTINCT (stream, turn, slot)) FROM attempt")
    assert asked == [(replied, replied)] != [(0, 0)]
    database.dispose()


async def test_a_replica_is_killed_and_people_go_on_with_the_other(
    url: str, replicas: tuple[Process, Process], nginx: str, tmp_path: Path, seed: int, soak: bool
) -> None:
    one, two = replicas
    with before(nginx, tmp_path / "nginx", one.port, two.port) as proxy:
        async with (
            people(proxy.url, 30 if soak else 3, str(seed)) as first,
            people(proxy.url, 300 if soak else 3, f"{seed}:then") as then,
        ):
            await finish(first)
            await asyncio.to_thread(check_asked_once, url)
            assert proxy.complaints == ""
            await kill_among(then, replicas, random.Random(seed), again=soak)
            total = len(first) + len(then)
            await check_all(url, [*first, *then], total)
    await start_all(replicas)

    async with people(one.url, 1, f"{seed}") as (bot,):
        await bot.until(waiting=True)
        await asyncio.to_thread(one.kill)
        bot.client.base_url = two.url
        await bot.finish()
        await check_all(url, [bot], total + 1)
    assert all("Traceback" not in one.log for one in replicas)


async def start_all(replicas: Sequence[Process]) -> None:
    for dead in (one for one in replicas if not one.alive):
        await asyncio.to_thread(dead.start)


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

"""Two replicas over one PostgreSQL, people who go through the demo study there, and what must hold at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx2

from storage.engine import open_database
from storage.projections import differences
from storage.verify import verify
from tests.fakes import studies
from tests.fakes.http_bot import Heard, HttpBot
from tests.fakes.served import Process
from tests.wiring.reading import check_facts, query

PATIENCE_S = 5.0
"""How long nobody may have to wait for anything once a replica is killed."""
AT_ONCE = 30
NO_SERVER = (502, 504)
"""What nginx answers where the server that it asked is gone; pages then ask again, as they do where nobody answers."""


@contextmanager
def two_replicas(url: str, folder: Path) -> Iterator[tuple[Process, Process]]:
    """Two servers of the demo study, until the block ends."""
    study = studies.demo(folder, first_ms=40, pace_ms=4)
    made = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        env = {"PARLEY_DATABASE_URL": url, "PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
        made.append(Process(folder / name, (study,), env=env))
    try:
        for process in made:
            process.start()
        yield made[0], made[1]
    finally:
        for process in made:
            process.kill()


class Person(HttpBot):
    """Somebody who keeps the time of every answer, and what was heard of each reply as it came."""

    longest_s = 0.0

    def __init__(self, *told: Any, **more: Any) -> None:
        super().__init__(*told, **more)
        self.client.event_hooks = {"response": [_ask_again]}
        self.replies: list[str] = []

    async def send(self, *asked: Any, **more: Any) -> httpx2.Response:
        """One request."""
        began = time.monotonic()
        response = await super().send(*asked, **more)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        return response

    async def listen(self, offset: int = 0, slot: str = "", **asked: str) -> Heard:
        """Read a reply's stream to its end."""
        heard = await super().listen(offset, slot, **asked)
        self.replies.append(heard.text)
        return heard


async def _ask_again(response: httpx2.Response) -> None:
    if response.status_code in NO_SERVER:
        raise httpx2.RemoteProtocolError("nobody answered")


@asynccontextmanager
async def people(url: str, count: int, seed: int) -> AsyncIterator[list[Person]]:
    """So many at an address."""
    async with AsyncExitStack() as stack:
        names = [f"{seed}:{number}" for number in range(count)]
        bots = [Person(url, name, canary="words", patience_s=PATIENCE_S) for name in names]
        yield [await stack.enter_async_context(bot) for bot in bots]


async def finish(bots: Sequence[Person]) -> None:
    """Let people who have come go through the study, AT_ONCE of them at once."""
    place = asyncio.Semaphore(AT_ONCE)

    async def one(bot: Person) -> None:
        async with place:
            await bot.finish()

    await asyncio.gather(*map(one, bots))


async def take_part(bot: Person) -> None:
    await bot.arrive("demo")
    await bot.finish()


async def kill_among(
    bots: Sequence[Person], replicas: Sequence[Process], chance: Random, *, again: bool = False
) -> None:
    """Let people come and finish, with a replica killed among them; with `again` one after another, each of which is
    started again. Nobody has to wait for long."""
    await asyncio.gather(*(bot.arrive("demo") for bot in bots))
    going = asyncio.ensure_future(finish(bots))
    acknowledged: list[int] = []
    while not acknowledged or (again and not going.done()):
        await asyncio.sleep(chance.uniform(0.3, 1.5))
        acknowledged.append(sum(len(bot.acts) for bot in bots))
        dead = chance.choice(replicas)
        await asyncio.to_thread(dead.kill)
        if again:
            await asyncio.sleep(chance.uniform(0, 2))
            await asyncio.to_thread(dead.start)
    await going
    print(f"{len(acknowledged)} kills")
    assert sum(len(bot.acts) for bot in bots) > acknowledged[0], "the kill came when all was over"
    assert max(bot.longest_s for bot in bots) < PATIENCE_S


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


async def check_asked_once(url: str) -> None:
    """Whoever was looked at while a reply was owed: the model was asked once for each."""

    def look() -> None:
        database = open_database(url)
        ((replied,),) = query(database, "SELECT count(*) FROM event WHERE kind = 'replied'")
        asked = query(database, "SELECT count(*), count(DISTINCT (stream, turn, slot)) FROM attempt")
        assert asked == [(replied, replied)] != [(0, 0)]
        database.dispose()

    await asyncio.to_thread(look)

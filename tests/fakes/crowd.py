"""Many participants at a server that is in trouble, and what must hold of all they did once it is over."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from storage.db.engine import Database
from tests.fakes.http_bot import HttpBot
from tests.wiring.reading import check_facts, check_rows, check_sound, facts, query

PATIENCE_S = 60.0


@dataclass
class Crowd:
    """Participants who came to a study, one after another at each of many places."""

    url: str
    study: str
    seed: int
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    arrived: list[HttpBot] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def acts(self) -> int:
        return sum(len(bot.acts) for bot in self.arrived)

    async def more(self, acts: int) -> None:
        wanted = self.acts + acts
        while self.acts < wanted:
            await asyncio.sleep(0.02)

    async def one(self, seed: str) -> HttpBot:
        bot = HttpBot(self.url, seed, canary="words", patience_s=PATIENCE_S)
        await self.stack.enter_async_context(bot)
        await bot.arrive(self.study)
        self.arrived.append(bot)
        return bot

    async def take_part(self, number: int) -> None:
        """One session after another until it is over; what was acknowledged is then known, and makes nothing new."""
        while not self.over.is_set():
            bot = await self.one(f"{self.seed}:{number}:{len(self.arrived)}")
            await bot.finish()
            for act in bot.acts:
                assert (await bot.redo(act)).note == ""


@asynccontextmanager
async def crowd(url: str, study: str, people: int, seed: int) -> AsyncIterator[Crowd]:
    found = Crowd(url, study, seed)
    async with found.stack:
        going = [asyncio.create_task(found.take_part(number)) for number in range(people)]
        try:
            yield found
            found.over.set()
            await asyncio.gather(*going)
        finally:
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)


def check_crowd(database: Database, found: Crowd, others: int = 0) -> None:
    """Every acknowledged fact is there, none twice, no reply is owed, and every row is what the log implies; besides
    the crowd, so many `others` have come."""
    for bot in found.arrived:
        check_facts(database, bot)
        check_rows(database, bot)
        assert Counter(event.kind for event in facts(database, bot.stream))["finished"] == 1
    assert query(database, "SELECT count(*) FROM session") == [(len(found.arrived) + others,)]
    check_sound(database)

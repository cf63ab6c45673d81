"""Many people who come to a study at once, some of whom leave in the midst of it: one of several processes.

Who finds no place tries again while others of the process are on their way, who may leave one, and for a while longer.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Any

from app.bots.random_bot import RandomBot
from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from app.session.transitions import LoadedSession
from app.studies.loader import load_study
from experiments.errors import Refused
from storage.db.engine import open_database

TRIES = 6
CLICKS, MOST_CLICKS = 3, 20
"""What it takes from the consent to the end, and more than that."""


class Crowd:
    """The people of one process."""

    def __init__(self, url: str, study: str, seed: str, later_s: float, leaves: float) -> None:
        self.study = load_study(study)
        self.clock = VirtualClock(START_US)
        self.clock.advance(later_s)
        self.runtime = SessionService(open_database(url), Settings(_env_file=None), self.clock)
        self.chance = random.Random(seed)
        self.seed = seed
        self.leaves = leaves
        self.told: Counter[str] = Counter()
        self.going = 0

    async def come(self, number: int) -> None:
        live = await self._begin()
        if live is None:
            self.told["full"] += 1
            return
        self.told["began"] += 1
        self.going += 1
        await self._take_part(live, number)
        self.going -= 1

    async def _take_part(self, live: LoadedSession, number: int) -> None:
        leaves = self.chance.random() < self.leaves
        at = self.chance.randrange(CLICKS) if leaves else MOST_CLICKS
        bot = RandomBot(f"{self.seed}:{number}")
        for _ in range(at):
            screen = live.screen
            if screen.ended:
                self.told["finished"] += 1
                return
            kind, values = bot.act(screen)
            live = await self._act(live, kind, values)
        how = self.chance.choice(("withdraw", "vanish"))
        self.told[how] += 1
        if how == "withdraw":
            await self._act(live, "withdraw", {})

    async def _begin(self) -> LoadedSession | None:
        """Their session once they have a place, with their consent; None if there is none for a while."""
        tries, live = 0, None
        while tries < TRIES:
            try:
                live = live or await self.runtime.enrol(self.study, origin="person")
                return await self._act(live, "submit", {"agreed": "on"}) if self.study.admission else live
            except Refused:
                tries += not self.going
                await asyncio.sleep(self.chance.random())
        self.told["without a place"] += live is not None
        return None

    async def _act(self, live: LoadedSession, kind: str, values: dict[str, object]) -> LoadedSession:
        screen = live.screen
        return await self.runtime.participant(live.stream, kind, screen.path, values, seen=screen.seen)


Of = tuple[str, str, str, float, float]
"""What a Crowd is made of."""


def come_at_once(crowd: Of, people: int, start: Barrier, told: SimpleQueue[Any]) -> None:
    """One process: wait until all are ready, then let its people come; tell what became of them."""
    asyncio.run(_come(Crowd(*crowd), people, start, told))


async def _come(crowd: Crowd, people: int, start: Barrier, told: SimpleQueue[Any]) -> None:
    start.wait()
    await asyncio.gather(*(crowd.come(number) for number in range(people)))
    await crowd.runtime.close()
    told.put(dict(crowd.told))

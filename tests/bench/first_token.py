"""The first word: what Parley adds to the time between what was said and the first word of the reply.

`make bench` runs this after the rest; `python -m tests.bench.first_token` alone. A model server in a process of its own
sends the first word after 200 ms and then 50 a second. It is asked directly, by Parley's own backend in this process,
and by Parley in a process of its own, whose API this process uses as the page does; the clients are the same library
in the same process in the same run, and direct and asked take turns. Parley's time runs from the click, which is
answered once what was said is on disk, to the first word over the stream of server-sent events.

Alone, one chat asks again and again. Together, 100 chats are open at once: each says something, reads the whole reply
(a second), thinks for three to nine, which is quick for a person, and says the next thing: 14 messages a second, with a
sixth of the replies on their way at any moment. All three processes share the machine, the driver's too, so where its
processors are not enough both columns grow; `busy` says how much of one Parley used, and should be well below 1.
The overhead is the difference of the two distributions' quantiles.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.table import Table

from app.backends.base import Backend, Text
from tests.bench.stage import Chatter, Stage, gathered, stage
from tests.fakes import asking
from tests.fakes.http_bot import HttpBot

CHATS = 100
MESSAGES = 2
ROUNDS = 2
ALONE = 100
THINK_S = (3.0, 9.0)
BARS_MS = {1: 15.0, CHATS: 50.0}
"""What Parley may add at p95, by how many chats there are."""
MODEL = {1: "brief", CHATS: "typing"}
WIDTH = 120
TOLD = "What is 7 + (8 - 3) x 2, and why is it not 24?"


@dataclass
class Measured:
    """Seconds to the first word, directly and over Parley, and to the answer of the click."""

    chats: int
    direct: list[float] = field(default_factory=list)
    parley: list[float] = field(default_factory=list)
    clicks: list[float] = field(default_factory=list)
    busy: float = 0.0
    """The share of a processor that Parley used while it was asked."""

    def overhead(self, share: float) -> float:
        """What Parley adds, in milliseconds."""
        return quantile(self.parley, share) - quantile(self.direct, share)

    @property
    def missed(self) -> bool:
        """Whether that is too much."""
        return self.overhead(0.95) >= BARS_MS[self.chats]

    def cells(self) -> tuple[str, ...]:
        """A line of the result."""
        both = [f"{quantile(some, share):.0f}" for some in (self.direct, self.parley) for share in (0.5, 0.95)]
        clicks = f"{quantile(self.clicks, 0.5):.0f} / {quantile(self.clicks, 0.95):.0f}"
        added = f"{self.overhead(0.5):.1f} / {self.overhead(0.95):.1f}"
        bar = f"{'missed' if self.missed else 'ok'} (under {BARS_MS[self.chats]:.0f})"
        return (str(self.chats), " / ".join(both[:2]), " / ".join(both[2:]), added, bar, clicks, f"{self.busy:.2f}")


HEADER = ("chats", "direct p50 / p95", "Parley p50 / p95", "added p50 / p95", "bar at p95", "click p50 / p95", "busy")


def quantile(seconds: list[float], share: float) -> float:
    """Milliseconds below which that share lies."""
    return 1e3 * sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


async def direct(backend: Backend, model: str, into: list[float]) -> None:
    """Ask the model server and read the whole reply; note when its first word came."""
    begun, waits = time.perf_counter(), True
    request = replace(asking.REQUEST, model=f"fault:{model}")
    async with aclosing(backend.stream(request)) as deltas:
        async for delta in deltas:
            if waits and isinstance(delta, Text):
                into.append(time.perf_counter() - begun)
                waits = False


async def alone(at: Stage, backend: Backend) -> Measured:
    """One chat, in turns with the direct call."""
    found = Measured(1)
    async with HttpBot(at.parley.url, "alone") as bot:
        chatter = await Chatter(bot, found.clicks, found.parley).begin(MODEL[1])
        begun, used = time.perf_counter(), at.processor_s
        for _ in range(ALONE):
            await direct(backend, MODEL[1], found.direct)
            await chatter.say(TOLD)
        found.busy = (at.processor_s - used) / (time.perf_counter() - begun)
        await chatter.leave()
    return found


async def together(at: Stage, backend: Backend) -> Measured:
    """Many chats at once, in turns with as many direct calls."""
    found = Measured(CHATS)
    async with AsyncExitStack() as stack:
        bots = [await stack.enter_async_context(HttpBot(at.parley.url, f"chat-{n}")) for n in range(CHATS)]
        chatters = [Chatter(bot, found.clicks, found.parley) for bot in bots]
        await gathered(chatters, MODEL[CHATS])
        for number in range(ROUNDS):
            await asyncio.gather(*(_asks(backend, found.direct, f"{number} {n}") for n in range(CHATS)))
            begun, used = time.perf_counter(), at.processor_s
            await asyncio.gather(*(_chats(chatter, f"{number} {n}") for n, chatter in enumerate(chatters)))
            found.busy += (at.processor_s - used) / (time.perf_counter() - begun) / ROUNDS
        await asyncio.gather(*(chatter.leave() for chatter in chatters))
    return found


async def _asks(backend: Backend, into: list[float], seed: str) -> None:
    chance = random.Random(seed)
    for _ in range(MESSAGES):
        await _think(chance)
        await direct(backend, MODEL[CHATS], into)


async def _chats(chatter: Chatter, seed: str) -> None:
    chance = random.Random(seed)
    for _ in range(MESSAGES):
        await _think(chance)
        await chatter.say(TOLD)


async def _think(chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(*THINK_S))


async def measured() -> list[Measured]:
    """Everything that is measured here."""
    with stage(*MODEL.values()) as at:
        backend = asking.create(asking.settings_at(at.model_url), asking.WAYS["openai"])
        try:
            return [await alone(at, backend), await together(at, backend)]
        finally:
            await backend.close()


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    found = asyncio.run(measured())
    table = Table(*HEADER, title="The first word of a reply, in ms (the model takes 200)")
    for one in found:
        table.add_row(*one.cells())
    Console(width=WIDTH).print(table)
    return int(any(one.missed for one in found))


if __name__ == "__main__":
    sys.exit(main())

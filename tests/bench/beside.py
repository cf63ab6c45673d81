"""What an open console costs those who take part: 200 at once, beside 1,000,000 facts, in one run.

`python -m tests.bench.beside`. Parley's server, the console, the driver and the researchers are processes of their own
over one SQLite file (`tests.bench.million`). Simulated participants think for 4 to 12 seconds, which is quick for a
person, and click as the page does. Short rounds without a console and with one take turns, so that what else the
machine and its disk are doing falls on both alike; in the latter three researchers are there: one watches Live, as a
screen left open does, one reads a session every 8 s, one opens another room every 4 s. Bars: the console's pages under
500 ms at p95; a click's p95 no worse than by 10 % or 5 ms, whichever is more.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import orjson
from rich.console import Console
from rich.table import Table

from app.bots.random_bot import RandomBot
from experiments.core.screen import Screen
from tests.bench import million
from tests.bench.load.wire import Wire
from tests.fakes.accounts import GOOD, ada_and_bob
from tests.fakes.http_bot import screen_of
from tests.fakes.researcher import Researcher
from tests.fakes.served import Process

PEOPLE = 200
THINK_S = (4.0, 12.0)
ROUND_S = 30.0
ROUNDS = 6
SETTLE_S = 40.0
REFRESH_S = 5.0
READS_S = 8.0
WALKS_S = 4.0
"""How long a session is read, and a room looked at."""
COMES_S = 1.0
"""How long after one another they log in."""
BAR_PAGE_MS, BAR_PART, BAR_CLICK_MS = 500.0, 0.1, 5.0
ROOMS = ("studies", "live", "sessions", "data", "results", "people")


@dataclass
class Measured:
    """Milliseconds of clicks without a console and with one, and of the console's pages by room."""

    quiet: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    pages: dict[str, list[float]] = field(default_factory=dict)

    @property
    def worse_ms(self) -> float:
        """By how much a click's p95 is worse."""
        return quantile(self.beside, 0.95) - quantile(self.quiet, 0.95)

    @property
    def allowed_ms(self) -> float:
        """By how much it may be."""
        return max(BAR_PART * quantile(self.quiet, 0.95), BAR_CLICK_MS)

    @property
    def missed(self) -> bool:
        """Whether a bar is."""
        every = [ms for room in self.pages.values() for ms in room]
        return self.worse_ms >= self.allowed_ms or quantile(every, 0.95) >= BAR_PAGE_MS


def quantile(some: list[float], share: float) -> float:
    """The value below which that share lies."""
    return sorted(some)[min(len(some) - 1, int(share * len(some)))]


class Clicks:
    """Where clicks go at the moment; nowhere between rounds."""

    into: list[float] | None = None


async def takes_part(url: str, study: str, number: int, clicks: Clicks) -> None:
    """One participant after another, for ever."""
    chance = random.Random(number)
    at = urlsplit(url)
    assert at.hostname
    assert at.port
    await asyncio.sleep(chance.uniform(0, THINK_S[1]))
    for visit in range(1_000):
        async with Wire(at.hostname, at.port) as wire:
            await goes_through(Person(wire, RandomBot(f"beside-{number}-{visit}")), study, chance, clicks)


async def goes_through(person: Person, study: str, chance: random.Random, clicks: Clicks) -> None:
    """From the link to the last screen."""
    await person.arrive(study)
    while not person.screen.ended:
        chat = person.screen.panel.chat
        if chat is not None and chat.waiting:
            await person.hear(chat.slots)
            continue
        took_s = await person.click(f"{chance.getrandbits(128):032x}")
        if clicks.into is not None:
            clicks.into.append(1e3 * took_s)
        await asyncio.sleep(chance.uniform(*THINK_S))


class Person:
    """A participant on one thin connection: what is measured shares the machine with two hundred of them."""

    def __init__(self, wire: Wire, bot: RandomBot) -> None:
        self._wire, self._bot = wire, bot
        self.screen: Screen

    async def arrive(self, study: str) -> None:
        """Come by the link, press its button, look."""
        for method, body in (("GET", None), ("POST", b"")):
            await self._wire.ask(method, f"/s/{study}", body)
        await self._ask("/api/look", {})

    async def hear(self, slots: Sequence[str]) -> None:
        """Read what is being replied, then look."""
        for slot in slots:
            await self._wire.ask("GET", f"/api/reply?slot={slot}")
        await self._ask("/api/look", {})

    async def click(self, key: str) -> float:
        """Do what comes next; seconds until the answer was there."""
        kind, values = self._bot.act(self.screen)
        seen = {"path": self.screen.path, "seen": self.screen.seen}
        return await self._ask("/api/act", {"kind": kind, **seen, "key": key, "values": values})

    async def _ask(self, path: str, body: Mapping[str, Any]) -> float:
        begun = time.perf_counter()
        reply = await self._wire.ask("POST", path, orjson.dumps({**body, "view": "screen"}))
        took_s = time.perf_counter() - begun
        told = orjson.loads(reply.body)
        assert (reply.status, told["note"]) == (200, ""), reply
        self.screen = screen_of(told["screen"])
        return took_s


async def watches(at: Researcher, found: Measured) -> None:
    """A screen left open on Live."""
    await timed(found, "live", at, at.open(study=million.STUDY, tab="live"))
    while True:
        await asyncio.sleep(REFRESH_S)
        await timed(found, "live", at, at.enter("live"))


async def reads(at: Researcher, found: Measured) -> None:
    """One session after another."""
    await timed(found, "sessions", at, at.open(study=million.STUDY, tab="sessions"))
    for number in range(1, 1_000_000, 97):
        await asyncio.sleep(READS_S)
        await timed(found, "session", at, at.enter("sessions", session=str(number)))
        await timed(found, "sessions", at, at.enter("sessions", session=""))


async def goes_round(at: Researcher, found: Measured) -> None:
    """Every room in turn, and the page itself."""
    while True:
        for room in ROOMS:
            await timed(found, room, at, at.enter(room) if at.events else at.open(study=million.STUDY))
            await asyncio.sleep(WALKS_S)
        await timed(found, "page", at, at.open(study=million.STUDY, tab="live"))


async def timed(found: Measured, room: str, at: Researcher, page: Awaitable[object]) -> None:
    """Note how long the console takes for a page; what a browser then makes of it is no part of that."""
    before_ms = at.waited_ms
    await page
    found.pages.setdefault(room, []).append(at.waited_ms - before_ms)


def sit(url: str, out: Connection) -> None:
    """Three researchers in a process of their own: at a word they begin, and in the end they tell how long it took."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # elsewhere in truth, and no part of what is measured
    found = Measured()
    out.send("ready")
    out.recv()
    asyncio.run(at_work(url, found))
    out.send(found.pages)


async def at_work(url: str, found: Measured) -> None:
    """As long as a round."""
    async with AsyncExitStack() as stack:
        tasks = []
        for what in (watches, reads, goes_round):
            at = await stack.enter_async_context(Researcher(url))
            await at.log_in("Ada", GOOD)
            tasks.append(asyncio.create_task(what(at, found)))
            await asyncio.sleep(COMES_S)
        await asyncio.sleep(ROUND_S)
        for task in tasks:
            if task.done():
                task.result()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def beside_them(url: str, found: Measured, clicks: Clicks) -> None:
    """A round with a console open."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=sit, args=(url, there), daemon=True)
    process.start()
    await asyncio.to_thread(here.recv)
    here.send("go")
    clicks.into = found.beside
    pages = await asyncio.to_thread(here.recv)
    clicks.into = None
    for room, some in pages.items():
        found.pages.setdefault(room, []).extend(some)
    process.join()


async def measure(folder: Path) -> Measured:
    """Everything, in turns."""
    found, clicks = Measured(), Clicks()
    server = Process(folder, (million.FILE,))
    console = Process(folder, (), command="console")
    with ada_and_bob(server.database_url):
        pass
    server.start()
    console.start()
    people = [asyncio.create_task(takes_part(server.url, million.STUDY, number, clicks)) for number in range(PEOPLE)]
    try:
        await asyncio.sleep(SETTLE_S)
        for _ in range(ROUNDS):
            clicks.into = found.quiet
            await asyncio.sleep(ROUND_S)
            clicks.into = None
            await beside_them(console.url, found, clicks)
        for person in people:
            if person.done():
                person.result()
    finally:
        for person in people:
            person.cancel()
        await asyncio.gather(*people, return_exceptions=True)
        console.stop()
        server.stop()
    return found


def main() -> None:
    """Measure, tell, and exit with 1 where a bar is missed."""
    out = Console(width=120)
    with TemporaryDirectory() as name:
        folder = Path(name)
        million.copy_to(folder / "parley.db")
        found = asyncio.run(measure(folder))
    table = Table("what", "n", "p50 ms", "p95 ms", "p99 ms")
    rows = {"click, no console": found.quiet, "click, console open": found.beside, **found.pages}
    for name, some in rows.items():
        table.add_row(name, f"{len(some):,}", *(f"{quantile(some, share):.1f}" for share in (0.5, 0.95, 0.99)))
    out.print(table)
    out.print(f"A click's p95 is worse by {found.worse_ms:.1f} ms; allowed are {found.allowed_ms:.1f}.")
    if found.missed:
        out.print("[red]A bar is missed.[/red]")
        sys.exit(1)


if __name__ == "__main__":
    main()

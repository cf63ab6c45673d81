"""`make bench`: what a click costs, from the pure engine to the whole server over HTTP.

Absolute figures belong to the machine; the last column, a ratio within the same run, can be compared. Issue by issue
more is measured here: many at once in load/, the browser's page in page.py, the same load beside many facts in
growth.py (here in short), imports and exports in exports.py, the first word of a reply in first_token.py, what an
extreme one does to others in extremes.py, models asked alone in alone.py, agreement of raters in agreement.py. Apart
are coverage.py, for how often intervals hold the truth, keeping.py, for beginnings and backups, and rival/, for oTree
under the same load.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from rich.console import Console
from rich.table import Table

from experiments.core.session import fold
from storage.projections import rows_of
from tests.bench import agreement, alone, exports, extremes, first_token, growth, page
from tests.bench.load import __main__ as load
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import serving, settings_for
from tests.fakes.sessions import play, study, whole

SESSIONS = 30
VISITORS = 25
PAGES = 400
GROWTH = ["--facts", "1000000", "--rounds", "1"]
"""A tenth of what growth.py measures by itself: the whole takes 10 GB of disk."""


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Note how many seconds the block takes."""
    begun = time.perf_counter()
    yield
    into.append(time.perf_counter() - begun)


def engine() -> tuple[float, float]:
    """Microseconds for a fact (decide, fold, screen, as bots play ChatBench) and for all rows of a session."""
    played: list[float] = []
    with timed(played):
        facts = sum(len(events) for n in range(SESSIONS) for _, events in play(study("chatbench"), f"bench {n}"))
    state = fold(whole("chatbench", "bench"))
    projected: list[float] = []
    for _ in range(SESSIONS):
        with timed(projected):
            rows_of(study("chatbench"), state)
    return 1e6 * played[0] / facts, 1e6 * statistics.median(projected)


class Timed(HttpBot):
    """A bot that notes how long each of its clicks takes."""

    clicks: list[float]

    async def step(self) -> bool:
        """As ever, but timed where it is a click."""
        chat = self.screen.panel.chat
        if chat and chat.waiting:
            return await super().step()
        with timed(self.clicks):
            return await super().step()


async def server(folder: Path) -> tuple[list[float], list[float], list[float]]:
    """Seconds of clicks by many visitors at once, of the page, and of the smallest request there is."""
    clicks: list[float] = []
    pages: list[float] = []
    bare: list[float] = []
    async with serving(settings_for(folder), "chatbench") as served:

        async def visit(number: int) -> None:
            async with Timed(served.url, f"visitor-{number}") as bot:
                bot.clicks = clicks
                await bot.arrive("chatbench")
                await bot.until(path="with_ai")

        await asyncio.gather(*(visit(number) for number in range(VISITORS)))
        async with HttpBot(served.url, "reader") as bot, httpx2.AsyncClient(base_url=served.url) as stranger:
            await bot.arrive("chatbench")
            for _ in range(PAGES):
                with timed(pages):
                    await bot.client.get("/")
                with timed(bare):
                    await stranger.get("/robots.txt")
    return clicks, pages, bare


def quantile(seconds: list[float], share: float) -> float:
    """Milliseconds below which that share lies."""
    return 1e3 * sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


def main() -> int:
    """Measure and print; 1 if a bar is missed."""
    fact_us, rows_us = engine()
    with TemporaryDirectory() as folder:
        clicks, pages, bare = asyncio.run(server(Path(folder)))
    table = Table("what", "p50 ms", "p95 ms", "against the smallest request", title="Parley on this machine")
    table.add_row("engine: a fact with its screen", f"{fact_us / 1e3:.3f}", "", "")
    table.add_row("all rows of a session", f"{rows_us / 1e3:.3f}", "", "")
    base = quantile(bare, 0.5)
    for name, seconds in (
        (f"a click, {VISITORS} visitors at once, without pause, same process", clicks),
        ("GET / by one visitor", pages),
        ("the smallest request (a 404 of the page's own server)", bare),
    ):
        p50, p95 = quantile(seconds, 0.5), quantile(seconds, 0.95)
        table.add_row(name, f"{p50:.2f}", f"{p95:.2f}", f"{p50 / base:.1f}")
    Console().print(table)
    return max(
        load.main([]),
        page.main([]),
        growth.main(GROWTH),
        first_token.main(),
        extremes.main(),
        agreement.main(),
        alone.main(["--rivals"]),
        exports.main([]),
    )


if __name__ == "__main__":
    sys.exit(main())

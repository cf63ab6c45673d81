"""Extreme replies: what others feel of one without end, of a megabyte, of ten thousand words of formulas.

`make bench` runs this after the rest; `python -m tests.bench.extremes` alone. Some participants chat; first among
themselves, then beside one to whom such replies come without a pause. What counts is how long the others' clicks take,
and how far the server's memory rises above what it held before (Linux only). The processor's time for painting these
formulas is measured apart.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack

from rich.console import Console
from rich.table import Table

from app.web import markdown, maths
from tests.bench.first_token import quantile
from tests.bench.stage import Chatter, Stage, gathered, stage
from tests.fakes.http_bot import HttpBot
from tests.fakes.latex import BROKEN, latex
from tests.fakes.model_faults import WORDS

KINDS = ("flood", "megabyte-in-pieces", "latex")
OTHERS = 5
CLICKS = 8
GROWTH_MB = 64.0
"""How far memory may rise."""


async def clicks(chatters: list[Chatter]) -> list[float]:
    """How long the others' clicks take now."""

    async def chat(chatter: Chatter) -> list[float]:
        for _ in range(CLICKS):
            await chatter.say("Hello")
        return chatter.clicks[-CLICKS:]

    return [seconds for some in await asyncio.gather(*(chat(chatter) for chatter in chatters)) for seconds in some]


async def beside(at: Stage, kind: str, others: list[Chatter]) -> tuple[list[float], float, int]:
    """The same while one is given extreme replies; with the megabytes that memory rose, and how many came."""
    async with HttpBot(at.parley.url, f"extreme-{kind}") as bot:
        victim = await Chatter(bot).begin(kind)
        at.forget_peak()
        held = at.mb("VmRSS")

        async def go_on() -> None:
            while True:
                await victim.say("Prove it")

        task = asyncio.create_task(go_on())
        found = await clicks(others)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await victim.leave()
        return found, at.mb("VmHWM") - held, len(victim.clicks)


async def measured() -> tuple[list[float], dict[str, tuple[list[float], float, int]]]:
    """The others' clicks without and with each kind."""
    patient = {"PARLEY_MAX_REPLY_CHARS": "100000", "PARLEY_BREAKER_FAILURES": "100000"}
    with stage("brief", *KINDS, **patient) as at:
        async with AsyncExitStack() as stack:
            bots = [await stack.enter_async_context(HttpBot(at.parley.url, f"other-{n}")) for n in range(OTHERS)]
            others = [Chatter(bot) for bot in bots]
            await gathered(others, "brief")
            found = await clicks(others), {kind: await beside(at, kind, others) for kind in KINDS}
            await asyncio.gather(*(other.leave() for other in others))
            return found


def painting() -> dict[str, float]:
    """Milliseconds of the processor for painting: the most that is painted of the formulas, and each broken text."""
    proof = latex(WORDS)
    texts = {
        f"{WORDS:,} words of LaTeX": proof,
        f"{markdown.MAX_CHARS:,} characters of it": proof[: markdown.MAX_CHARS],
    }
    found = {}
    for name, text in (texts | BROKEN).items():
        markdown.html.cache_clear()
        maths.mathml.cache_clear()
        begun = time.process_time()
        markdown.html(text, images=False, dollars=True)
        found[name] = 1e3 * (time.process_time() - begun)
    return found


def main() -> int:
    """Measure and print; 1 if memory rose too far."""
    alone, found = asyncio.run(measured())
    table = Table("one is given", "others' clicks p50 / p95 ms", "p95 against none", "memory MB", "replies")
    table.add_row("nothing of the kind", f"{quantile(alone, 0.5):.0f} / {quantile(alone, 0.95):.0f}", "1.0", "", "")
    for kind, (seconds, mb, replies) in found.items():
        p50, p95 = quantile(seconds, 0.5), quantile(seconds, 0.95)
        ratio = f"{p95 / quantile(alone, 0.95):.1f}"
        table.add_row(kind, f"{p50:.0f} / {p95:.0f}", ratio, f"+{mb:.0f}", str(replies))
    console = Console(width=120)
    console.print(table)
    for name, ms in painting().items():
        console.print(f"painting {name}: {ms:.0f} ms of the processor")
    return int(any(mb > GROWTH_MB for _, mb, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())

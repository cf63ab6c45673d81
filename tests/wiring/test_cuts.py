"""A connection that is cut in the middle of a reply: the whole of it is read once it is mended, and the model was asked
once.

With --soak at ten moments, and also for 5 and for 30 seconds.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.fakes import studies
from tests.fakes.cable import Cable, cable
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import check_facts, facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
MOMENTS = 4
# A fourth of what the reply takes, as a busy machine may sleep for longer.
LASTS_S = 1.0


async def cut_at(served: Served, line: Cable, bot: HttpBot, at_s: float, for_s: float) -> None:
    """Say something, lose the connection at a moment of the reply, and hear the rest of it."""
    await bot.arrive("talk")
    await bot.until(path="with_ai")
    await bot.do("say", {"text": "Please explain the Pythagorean theorem."})
    hearing = asyncio.create_task(bot.listen(view="screen"))
    await asyncio.sleep(at_s)
    assert not hearing.done(), "the reply was over before"
    line.cut()
    await asyncio.sleep(for_s)
    line.mend()
    heard = await hearing
    (replied,) = (event for event in facts(served.database, bot.stream) if event.kind == "replied")
    assert replied.data["text"].startswith(heard.text.strip())
    told = heard.after["screen"]["panel"]["chat"]["messages"][-1]["text"]  # also of a reply that was over by then
    assert told == replied.data["text"]
    await bot.look()
    assert query(served.database, "SELECT count(*) FROM attempt WHERE stream = :s", s=bot.stream) == [(1,)]
    assert line.cuts > 0
    await bot.finish()
    check_facts(served.database, bot)


@pytest.mark.parametrize("for_s", [1, *(pytest.param(s, marks=pytest.mark.soak) for s in (5, 30))])
async def test_a_reply_is_whole_after_a_cut_and_the_model_was_asked_once(
    tmp_path: Path, seed: int, for_s: float, soak: bool
) -> None:
    chance = random.Random(seed)
    study = studies.chat(tmp_path, options={"first_ms": 100, "pace_ms": 80})
    async with serving(settings_for(tmp_path), study) as served, AsyncExitStack() as stack:
        port = urlsplit(served.url).port or 0
        lines = [stack.enter_context(cable(port)) for _ in range(10 if soak else MOMENTS)]
        made = [HttpBot(line.url, f"{seed}:{n}", patience_s=for_s + 60) for n, line in enumerate(lines)]
        bots = [await stack.enter_async_context(bot) for bot in made]
        moments = [chance.uniform(0, LASTS_S) for _ in bots]
        await asyncio.gather(*(cut_at(served, *one, for_s) for one in zip(lines, bots, moments, strict=True)))

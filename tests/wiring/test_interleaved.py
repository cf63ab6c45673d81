"""Four, with --soak twenty participants at once: nobody ever sees or stores anything of another's."""

import asyncio
import random
from contextlib import AsyncExitStack
from itertools import permutations
from pathlib import Path

import pytest

from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.reading import (
    check_facts,
    check_rows,
    check_sound,
    exported,
    facts,
    query,
    released_rows,
    words,
)

pytestmark = pytest.mark.anyio


async def interleave(bots: list[HttpBot], chance: random.Random, at_once: int) -> None:
    """Let some of those who are not done take one step each, at the same time, until all are done."""
    going = list(bots)
    while going:
        chosen = chance.sample(going, min(len(going), chance.randint(1, at_once)))
        more = await asyncio.gather(*(bot.step() for bot in chosen))
        going = [bot for bot in going if bot not in chosen or more[chosen.index(bot)]]


async def check_apart(served: Served, bots: list[HttpBot], folder: Path) -> None:
    database = served.database
    logs = {bot.stream: words(facts(database, bot.stream)) for bot in bots}
    assert len(logs) == len(bots)
    for bot, other in permutations(bots, 2):
        assert other.canary not in logs[bot.stream]
        assert not any(other.canary.encode() in heard for heard in bot.heard), f"{bot.stream} heard {other.stream}"
    rows = [row for table in released_rows(database).values() for row in table]
    for row in rows:
        told = {bot.stream for bot in bots if bot.canary in repr(row)}
        assert told <= {row[1]}, f"a row of {row[1]} holds words of {told}"
    text = exported(database, "demo", folder)
    for bot in bots:
        assert bot.canary in logs[bot.stream]
        assert bot.canary in text
        assert bot.stream not in text


@pytest.mark.parametrize(
    ("count", "at_once"),
    [(4, 3), pytest.param(20, 8, marks=pytest.mark.soak)],
    ids=["four", "twenty"],
)
async def test_participants_share_nothing(tmp_path: Path, seed: int, count: int, at_once: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    async with serving(settings_for(tmp_path), studies.demo(tmp_path)) as served, AsyncExitStack() as stack:
        bots = [HttpBot(served.url, f"{seed}:{n}", canary=f"canary{n:02}bird") for n in range(count)]
        for bot in bots:
            await stack.enter_async_context(bot)
        await asyncio.gather(*(bot.arrive("demo") for bot in bots))
        await interleave(bots, chance, at_once)
        for bot in bots:
            check_facts(served.database, bot)
            check_rows(served.database, bot)
        await check_apart(served, bots, tmp_path)
        assert query(served.database, "SELECT count(*), count(DISTINCT ordinal) FROM session") == [(count, count)]
        check_sound(served.database)


async def test_no_stream_of_words_reaches_another(tmp_path: Path, seed: int) -> None:
    path = studies.chat(tmp_path, options={"first_ms": 0, "pace_ms": 5})
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serving(settings_for(tmp_path), path))
        bots = [await stack.enter_async_context(HttpBot(served.url, f"{seed}:{name}")) for name in ("anna", "ben")]
        texts = ("Please explain the Pythagorean theorem.", "What is 17 + 4?")
        for bot in bots:
            await bot.arrive("talk")
            await bot.until(path="with_ai")
        await asyncio.gather(*(bot.do("say", {"text": text}) for bot, text in zip(bots, texts, strict=True)))
        heard = await asyncio.gather(*(bot.listen() for bot in bots))
        for bot, reply in zip(bots, heard, strict=True):
            (event,) = (e for e in facts(served.database, bot.stream) if e.kind == "replied")
            assert reply.text.strip() == event.data["text"]
        assert heard[0].text != heard[1].text

"""`kill -9` at any moment: nothing acknowledged is lost, nothing is stored twice, and the reply that was owed is given.

With --soak: 100 cycles under 50 participants.
"""

import asyncio
import random
from pathlib import Path

import pytest

from experiments.core.events import Event
from storage.engine import open_database
from tests.fakes import studies
from tests.fakes.crowd import PATIENCE_S, Crowd, check_crowd, crowd
from tests.fakes.http_bot import Heard, HttpBot, take
from tests.fakes.served import Process
from tests.wiring.reading import facts

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine starts it slowly


def facts_of(process: Process, bot: HttpBot) -> list[Event]:
    database = open_database(process.database_url)
    try:
        return facts(database, bot.stream)
    finally:
        database.dispose()


def check_all(process: Process, found: Crowd) -> None:
    database = open_database(process.database_url)
    try:
        check_crowd(database, found)
    finally:
        database.dispose()
    assert "Traceback" not in process.log


async def first_words(bot: HttpBot) -> Heard:
    """Listen until words have come, and leave."""
    heard = Heard()
    async with bot.client.stream("GET", "/api/reply") as response:
        async for line in response.aiter_lines():
            take(line, heard)
            if heard.text:
                break
    return heard


async def test_killed_in_the_middle_of_a_reply(tmp_path: Path) -> None:
    study = studies.chat(tmp_path, options={"first_ms": 20, "pace_ms": 8})
    process = Process(tmp_path, (study,))
    await asyncio.to_thread(process.start)
    try:
        async with HttpBot(process.url, "kill", patience_s=PATIENCE_S) as bot:
            await bot.arrive("talk")
            await bot.until(path="with_ai")
            said = bot.intend("say", {"text": "Please explain the Pythagorean theorem."})
            assert (await bot.redo(said)).note == ""
            bot.acts.append(said)
            before = bot.screen
            heard = await first_words(bot)

            await asyncio.to_thread(process.kill)
            stored = facts_of(process, bot)
            assert stored[-1].kind == "said"
            await asyncio.to_thread(process.start)

            assert await bot.look() == before, "the same screen, still waiting"
            await bot.redo(said)
            reply = await bot.listen()
            assert reply.text.startswith(heard.text), "the same seed gives the same words"
            await bot.look()
            assert [e.kind for e in facts_of(process, bot)[len(stored) :]] == ["replied"]
            assert bot.screen.panel.chat
            assert bot.screen.panel.chat.messages[-1].text == reply.text.strip()

            await bot.finish()
        await asyncio.to_thread(process.stop)
        check_all(process, Crowd(process.url, "talk", 0, arrived=[bot]))
    finally:
        process.kill()


async def test_killed_at_random_moments(tmp_path: Path, seed: int, soak: bool) -> None:
    print(f"seed {seed}")
    cycles, people = (100, 50) if soak else (3, 5)
    chance = random.Random(seed)
    process = Process(tmp_path, (studies.demo(tmp_path, first_ms=30, pace_ms=4),))
    await asyncio.to_thread(process.start)
    try:
        async with crowd(process.url, "demo", people, seed) as found:
            for _ in range(cycles):
                await asyncio.sleep(chance.uniform(0.1, 1.5))
                await asyncio.to_thread(process.kill)
                await asyncio.to_thread(process.start)
        await asyncio.to_thread(process.stop)
        check_all(process, found)
    finally:
        process.kill()

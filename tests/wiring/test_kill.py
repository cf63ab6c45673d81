"""`kill -9` at any moment: nothing acknowledged is lost, nothing is stored twice, and the reply that was owed is given.
So it is when the server is stopped and started under many who are at work.

With --soak: 500 cycles under 20 participants, on PostgreSQL as well, and a stop under 50.
"""

import asyncio
import random
import shutil
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from experiments.events import Event
from storage.db.engine import open_database
from tests.fakes import studies
from tests.fakes.crowd import PATIENCE_S, Crowd, check_crowd, crowd
from tests.fakes.http_bot import Heard, HttpBot, take
from tests.fakes.served import Process
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]  # a busy machine starts it slowly

SOON_S = 10.0


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


def check_dead(process: Process, found: Crowd, folder: Path) -> None:
    """What a killed server has left is whole, and has all that was acknowledged by then. Of SQLite's files a copy is
    looked at, so that the next server finds them as they were left."""
    acts = {(bot.stream, act.key) for bot in found.arrived for act in bot.acts}
    url = process.database_url
    if url.startswith("sqlite"):
        for left in ("parley.db", "parley.db-wal"):
            shutil.copy(process.folder / left, folder / left)
        url = f"sqlite:///{folder}/parley.db"
    database = open_database(url)
    try:
        if database.dialect.name == "sqlite":
            assert query(database, "PRAGMA integrity_check") == [("ok",)]
        kept = query(database, "SELECT stream, key FROM event WHERE key IS NOT NULL")
        assert acts <= {*kept}
        assert len(kept) == len({*kept})
    finally:
        database.dispose()


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_killed_at_random_moments(tmp_path: Path, database_url: str, seed: int, soak: bool) -> None:
    print(f"seed {seed}")
    cycles, people = (500, 20) if soak else (2, 4)
    chance = random.Random(seed)
    env = {"PARLEY_DATABASE_URL": database_url}
    process = Process(tmp_path, (studies.demo(tmp_path, first_ms=30, pace_ms=4),), env=env)
    (tmp_path / "left").mkdir()
    await asyncio.to_thread(process.start)
    try:
        async with crowd(process.url, "demo", people, seed) as found:
            for _ in range(cycles):
                await asyncio.sleep(chance.uniform(0.1, 1.5))
                await asyncio.to_thread(process.kill)
                await asyncio.to_thread(check_dead, process, found, tmp_path / "left")
                await asyncio.to_thread(process.start)
        await asyncio.to_thread(process.stop)
        check_all(process, found)
    finally:
        process.kill()


async def test_a_server_is_restarted_under_many_who_go_on_by_themselves(tmp_path: Path, seed: int, soak: bool) -> None:
    people, soon_s = (50, SOON_S) if soak else (5, PATIENCE_S)
    chance = random.Random(seed)
    process = Process(tmp_path, (studies.demo(tmp_path, first_ms=30, pace_ms=4),))
    await asyncio.to_thread(process.start)
    try:
        async with AsyncExitStack() as stack:
            made = [HttpBot(process.url, f"{seed}:{n}", canary="words", patience_s=PATIENCE_S) for n in range(people)]
            bots = [await stack.enter_async_context(bot) for bot in made]
            for bot in bots:
                await bot.arrive("demo")
                for _ in range(chance.randint(1, 6)):
                    await bot.step()
            going = [asyncio.create_task(bot.step()) for bot in bots]
            await asyncio.to_thread(process.stop)
            began = time.monotonic()
            await asyncio.to_thread(process.start)
            await asyncio.gather(*going)
            before = [len(bot.acts) for bot in bots]
            await asyncio.gather(*(goes_on(bot) for bot in bots))
            assert time.monotonic() - began < soon_s
            assert all(len(bot.acts) > acts for bot, acts in zip(bots, before, strict=True))
            await asyncio.gather(*(bot.finish() for bot in bots))
            for bot in bots:
                assert [act.path for act in bot.acts].count("consent") == 1
                assert Counter(event.kind for event in facts_of(process, bot))["enrolled"] == 1
        await asyncio.to_thread(process.stop)
        check_all(process, Crowd(process.url, "demo", 0, arrived=bots))
    finally:
        process.kill()


async def goes_on(bot: HttpBot) -> None:
    acts = len(bot.acts)
    while len(bot.acts) == acts:
        await bot.step()

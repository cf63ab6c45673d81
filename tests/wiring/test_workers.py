"""Servers over one database: a second one over an SQLite file is refused, and workers of one server share a
PostgreSQL: people go through whole studies with a chat, each request to any worker, also where one is killed."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from app.cli.serve import serve_studies
from app.errors import SettingsError
from app.studies.loader import load_study
from storage.db.engine import open_database
from tests.fakes import studies
from tests.fakes.crowd import PATIENCE_S, Crowd, check_crowd
from tests.fakes.forked import Forked, command, lives
from tests.fakes.http_bot import HttpBot
from tests.fakes.model_server import Server, serve
from tests.fakes.served import SECRET, Process, settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]  # a busy machine starts processes slowly
WORKERS = 2


async def test_a_second_server_over_one_file_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    study = studies.chat(tmp_path)
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/other.db").symlink_to(tmp_path / "parley.db")

    async def said(*words: str, database: Path) -> tuple[int | None, str]:
        out = tmp_path / "said.txt"
        out.unlink(missing_ok=True)
        forked = Forked(command, *words, "--database", f"sqlite:///{database}", folder=tmp_path, out=out)
        return await asyncio.to_thread(forked.wait), forked.said()

    first, second = Process(tmp_path, (study,)), Process(tmp_path, (study,))
    await asyncio.to_thread(first.start)
    try:
        for words, file in (
            (("serve", f"{study}"), "linked/other.db"),
            (("demo", "--no-browser"), "parley.db"),
        ):
            code, told = await said(*words, "--port", "0", database=tmp_path / file)
            assert (code, f"process {first.pid} serves" in told) == (2, True), told
        process = Forked(
            command,
            *("simulate", f"{study}", "-n", "1"),
            folder=tmp_path,
            out=tmp_path / "simulated.txt",
        )
        assert await asyncio.to_thread(process.wait) == 0, process.said()
        await asyncio.to_thread(first.kill)
        await asyncio.to_thread(second.start)
    finally:
        first.kill()
        second.kill()


def test_workers_over_an_sqlite_file_are_refused_before_it_is_made(tmp_path: Path) -> None:
    study, settings = studies.chat(tmp_path), settings_for(tmp_path)
    with pytest.raises(SettingsError, match="PARLEY_DATABASE_URL"):
        serve_studies(settings, [(str(study), load_study(str(study)))], workers=WORKERS)
    assert not (tmp_path / "parley.db").exists()


@pytest.fixture
def model() -> Iterator[Server]:
    with serve() as server:
        yield server


@pytest.fixture
def process(tmp_path: Path, database_url: str, model: Server) -> Iterator[Process]:
    study = studies.chat(tmp_path, backend="openai", model="any", options={})
    env = {
        "PARLEY_DATABASE_URL": database_url,
        "PARLEY_OPENAI_BASE_URL": model.base_url,
        "PARLEY_OPENAI_API_KEY": "sk-x",
    }
    made = Process(tmp_path, (study,), env=env, options=("--workers", f"{WORKERS}"))
    made.start()
    yield made
    made.stop()


@asynccontextmanager
async def people(url: str, count: int, seed: str) -> AsyncIterator[list[HttpBot]]:
    """So many who have come; each request of theirs is a connection of its own, which any worker may take."""
    async with AsyncExitStack() as stack:
        bots = [HttpBot(url, f"{seed}:{n}", canary=f"{seed}:{n}", patience_s=PATIENCE_S) for n in range(count)]
        for bot in bots:
            bot.client.headers["connection"] = "close"
            await stack.enter_async_context(bot)
            await bot.arrive("talk")
        yield bots


def asked(model: Server) -> Counter[str]:
    """How often a model was asked for each reply; every message says who wrote it."""
    return Counter(repr(request.body["messages"]) for request in model.requests)


async def workers_of(process: Process) -> list[int]:
    """The numbers of its workers, once all are up."""
    while True:
        begun = map(int, re.findall(r"Started server process \[(\d+)\]", process.log))
        if len(found := [pid for pid in begun if lives(pid)]) == WORKERS:
            return found
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_people_chat_through_two_workers_and_one_is_killed_among_them(
    process: Process, model: Server, database_url: str, seed: int, soak: bool
) -> None:
    print(f"seed {seed}")
    chance, count = random.Random(seed), 30 if soak else 4
    first = await workers_of(process)
    async with people(process.url, count, "a") as before, people(process.url, count, "b") as bots:
        await asyncio.gather(*(bot.finish() for bot in before))
        assert set(asked(model).values()) == {1}, "whichever worker is looked at, one asks for each reply"

        going = [asyncio.create_task(bot.finish()) for bot in bots]
        for _ in range(20 if soak else 1):
            await asyncio.sleep(chance.uniform(0.1, 1))
            os.kill(chance.choice(await workers_of(process)), signal.SIGKILL)
        await asyncio.gather(*going)
        async with asyncio.timeout(60):  # another takes its place
            while sorted(await workers_of(process)) == sorted(first):
                await asyncio.sleep(0.1)
        times = asked(model)
        again = sum(times.values()) - len(times)
        assert again <= count * (20 if soak else 1), "no reply was asked for again but those that were on their way"
        for bot in bots:
            for act in bot.acts:
                assert (await bot.redo(act)).note == "", "what was acknowledged is known, and makes nothing new"
    workers = await workers_of(process)
    process.kill()
    await gone(workers)
    database = open_database(database_url)
    check_crowd(database, Crowd(process.url, "talk", 0, arrived=[*before, *bots]))
    database.dispose()
    assert "Traceback" not in process.log


async def gone(workers: list[int]) -> None:
    """Wait until they have ended with their supervisor: they would serve on, and ask, beside the next server."""
    async with asyncio.timeout(60):
        while any(map(lives, workers)):
            await asyncio.sleep(0.1)


@pytest.mark.nightly
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_workers_end_with_a_supervisor_that_is_told_to_stop(tmp_path: Path, database_url: str) -> None:
    env = {"PARLEY_DATABASE_URL": database_url}
    process = Process(tmp_path, (studies.chat(tmp_path),), env=env, options=("--workers", f"{WORKERS}"))
    await asyncio.to_thread(process.start)
    workers = await workers_of(process)
    await asyncio.to_thread(process.stop)
    await gone(workers)


@pytest.mark.nightly
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_workers_that_cannot_start_end_the_server(tmp_path: Path, database_url: str) -> None:
    study = studies.chat(tmp_path, backend="openai", model="any", options={})
    words = ("serve", f"{study}", "--workers", f"{WORKERS}", "--port", "0")
    env = {"PARLEY_DATABASE_URL": database_url, "PARLEY_SECRET": SECRET, "PARLEY_OPENAI_API_KEY": ""}
    forked = Forked(command, *words, folder=tmp_path, out=tmp_path / "said.txt", env=env)
    assert await asyncio.to_thread(forked.wait, 300) == 3
    assert "PARLEY_OPENAI_API_KEY" in forked.said()

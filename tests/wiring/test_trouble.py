"""A full disk, a locked database, PostgreSQL restarted, a clock that jumps, all with people at work: nothing that was
acknowledged is lost, nothing is there twice, and whoever could not be served goes on once it is over.

With --soak: 50 people, and longer.
"""

import asyncio
import os
import random
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import text

from app.clock import SystemClock, VirtualClock
from storage.db.engine import connect, open_database
from storage.log.seats import last_us
from tests.fakes import studies
from tests.fakes.crowd import Crowd, check_crowd, crowd
from tests.fakes.http_bot import HttpBot
from tests.fakes.postgres import one_that_restarts, outside
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.full import CALM, fill_disk, free_disk, refused, refused_at_work, small_disk
from tests.wiring.reading import facts

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]  # a busy machine starts it slowly
# How soon an answer comes: on a machine of our own, and on one that does other things besides, as most tests' does.
SOON_S, LOADED_S = 2.0, 60.0
HOUR_US = 3_600_000_000


@pytest.fixture
def people(soak: bool) -> int:
    return 50 if soak else 2


@pytest.fixture
def soon_s(soak: bool) -> float:
    return SOON_S if soak else LOADED_S


Fill = Callable[[Process], None]


def let_no_file_grow(process: Process) -> None:
    largest = max(path.stat().st_size for path in process.folder.iterdir() if path.is_file())
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (largest, hard))


def let_files_grow(process: Process) -> None:
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hard, hard))


@pytest.fixture(params=[pytest.param("a small file system", marks=pytest.mark.soak), "a limit of the size of files"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Fill, Fill]]:
    """A folder, what fills it up, and what makes room again."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.param == "a small file system":
        with small_disk(folder, 4):
            yield folder, lambda process: fill_disk(process.folder), lambda process: free_disk(process.folder)
    elif not hasattr(resource, "prlimit"):
        pytest.skip("only Linux can limit another process")
    else:
        yield folder, let_no_file_grow, let_files_grow


async def test_a_full_disk(
    tmp_path: Path, disk: tuple[Path, Fill, Fill], people: int, seed: int, soak: bool, soon_s: float
) -> None:
    folder, fill, free = disk
    process = Process(folder, (studies.short(tmp_path),))
    await asyncio.to_thread(process.start)
    others = 0
    try:
        async with (
            crowd(process.url, "short", people, seed) as found,
            httpx2.AsyncClient(base_url=process.url, timeout=60) as client,
        ):
            for number in range(5 if soak else 1):
                bot = await found.one(f"{seed}:{number}")
                await bot.until(path="remarks")
                await found.more(4 * people)
                fill(process)
                others += sum(answer.status_code == 303 for answer in await refused(client, soon_s))
                await refused_at_work(bot, soon_s)
                assert (await client.get("/healthz/ready")).status_code == 503, "from the first write that failed"
                assert (await bot.client.post("/api/look", json={})).status_code == 200
                free(process)
                await found.more(4 * people)
                while (await client.get("/healthz/ready")).status_code != 200:
                    await asyncio.sleep(0.1)
                await bot.finish()
        await asyncio.to_thread(process.stop)
        database = open_database(process.database_url)
        check_crowd(database, found, others)
        database.dispose()
    finally:
        process.kill()


@pytest.mark.parametrize("seconds", [3, pytest.param(15, marks=pytest.mark.soak)])
async def test_a_locked_database(tmp_path: Path, people: int, seed: int, seconds: int) -> None:
    process = Process(tmp_path, (studies.short(tmp_path),))
    await asyncio.to_thread(process.start)
    other = sqlite3.connect(tmp_path / "parley.db", isolation_level=None)
    try:
        async with crowd(process.url, "short", people, seed) as found:
            await found.more(4 * people)
            bot = found.arrived[-1]
            other.execute("BEGIN EXCLUSIVE")
            before = -1
            while before != found.acts:  # what was written before is still being answered
                before = found.acts
                await asyncio.sleep(1)
            assert (await bot.client.post("/api/look", json={})).status_code == 200
            await asyncio.sleep(seconds)
            assert found.acts == before
            other.execute("ROLLBACK")
            await found.more(4 * people)
        assert not [answer for bot in found.arrived for answer in bot.heard if CALM.encode() in answer]
        await asyncio.to_thread(process.stop)
        database = open_database(process.database_url)
        check_crowd(database, found)
        database.dispose()
        assert "Traceback" not in process.log
    finally:
        other.close()
        process.kill()


def kill_one_at_work(address: str, chance: random.Random) -> None:
    """`kill -9` to a process of PostgreSQL's that serves Parley; PostgreSQL then ends all others and recovers."""
    own = connect(address)
    told = "backend_type = 'client backend' AND pid <> pg_backend_pid()"
    with own.connect() as connection:
        found = connection.execute(text(f"SELECT pid FROM pg_stat_activity WHERE {told}")).scalars().all()
    own.dispose()
    os.kill(chance.choice(found), signal.SIGKILL)


@pytest.mark.nightly
async def test_postgresql_is_restarted_and_a_process_of_it_is_killed(
    tmp_path: Path, people: int, seed: int, soak: bool
) -> None:
    chance = random.Random(seed)
    with outside() as folder, one_that_restarts(folder) as (address, restart):
        settings = settings_for(tmp_path, database_url=address)
        async with serving(settings, studies.short(tmp_path)) as served:
            async with crowd(served.url, "short", people, seed) as found:
                for round_ in range(100 if soak else 2):
                    await found.more(4 * people)
                    if round_ % 5 == 0:
                        await asyncio.to_thread(restart, chance.uniform(0, 2))
                    else:
                        await asyncio.to_thread(kill_one_at_work, address, chance)
                    await found.more(4 * people)
            check_told(found)
            check_crowd(served.database, found)
        assert "was terminated by signal 9" in (folder / "log").read_text(encoding="utf-8")


def check_told(found: Crowd) -> None:
    """Nobody has met an error page, nor heard of what Parley is made of."""
    heard = b"".join(part for bot in found.arrived for part in bot.heard)
    assert b"Internal Server Error" not in heard
    assert b"psycopg" not in heard


async def test_a_clock_that_is_set_back_is_carried_on(tmp_path: Path) -> None:
    study, settings = studies.short(tmp_path), settings_for(tmp_path)
    async with HttpBot("", "clock") as bot:
        ahead = VirtualClock(SystemClock().now_us() + HOUR_US)
        async with serving(settings, study, clock=ahead) as served:
            bot.client.base_url = served.url
            await bot.arrive("short")
            for _ in range(3):
                ahead.advance(5)
                await bot.step()
        async with serving(settings, study) as served:
            bot.client.base_url = served.url
            await bot.look()
            await bot.finish()
            times = [event.at_us for event in facts(served.database, bot.stream)]
            assert times == sorted(times)
            assert times[-1] - times[0] < HOUR_US / 2, "no duration is an hour longer or shorter"
            assert last_us(served.database) == times[-1] > SystemClock().now_us()


def test_the_worlds_clock_goes_on_from_what_was_written_before() -> None:
    now_us = SystemClock().now_us()
    assert abs(SystemClock(now_us - HOUR_US).now_us() - now_us) < 60_000_000
    ahead = SystemClock(now_us + HOUR_US)
    assert now_us + HOUR_US <= ahead.now_us() <= ahead.now_us()

"""Two replicas over one PostgreSQL, each request to the next in turn: people go through whole studies with a chat, also
where one replica is killed among them.

With --soak: 30 people, and kills among 300, as long as they are there.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from storage import tables
from storage.engine import open_database
from storage.log import Log
from storage.work import Attempt
from tests.fakes.postgres import fresh
from tests.fakes.round_robin import in_turns
from tests.fakes.served import Process
from tests.wiring.reading import query
from tests.wiring.replicas import PATIENCE_S, check_all, check_asked_once, kill_among, people, take_part, two_replicas

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def url(postgres_server: str) -> str:
    return fresh(postgres_server, f"parley_{uuid4().hex}")


@pytest.fixture
def replicas(url: str, tmp_path: Path) -> Iterator[tuple[Process, Process]]:
    with two_replicas(url, tmp_path) as found:
        yield found


def test_what_two_processes_ask_for_the_same_reply_is_all_kept(url: str) -> None:
    databases = [open_database(url) for _ in range(2)]
    logs = [Log(database) for database in databases]
    known = {column.name: None for column in tables.attempts.columns}
    values = {"stream": "s", "turn": 3, "slot": "", "study": "demo", "path": "talk", "started_us": 0, "model": "only"}
    row = {**known, **values, "backend": "scripted", "request": {}, "text": "", "total_us": 1}
    told = [log.record_attempt(Attempt(row)) for _ in range(100) for log in logs]
    for future in told:
        future.result(30)
    numbers = query(databases[0], "SELECT number FROM attempt ORDER BY number")
    assert [number for (number,) in numbers] == list(range(1, 201))
    assert query(databases[0], "SELECT calls FROM model_usage") == [(200,)]
    for log, database in zip(logs, databases, strict=True):
        log.close()
        database.dispose()


async def test_people_go_through_a_study_over_both_replicas(
    url: str, replicas: tuple[Process, Process], seed: int, soak: bool
) -> None:
    async with in_turns(*(one.port for one in replicas)) as proxy, people(proxy.url, 30 if soak else 6, seed) as bots:
        await asyncio.gather(*map(take_part, bots))
        first, second = (proxy.given[one.port] for one in replicas)
        assert abs(first - second) <= 1, "each got every second request"
        assert any(act.kind == "say" for bot in bots for act in bot.acts)
        await check_all(url, bots)
        await check_asked_once(url)
    assert all("Traceback" not in one.log for one in replicas)


async def test_a_replica_is_killed_and_people_go_on_with_the_other(
    url: str, replicas: tuple[Process, Process], seed: int, soak: bool
) -> None:
    print(f"seed {seed}")
    async with in_turns(*(one.port for one in replicas)) as proxy, people(proxy.url, 300 if soak else 6, seed) as bots:
        await kill_among(bots, replicas, random.Random(seed), again=soak)
        await check_all(url, bots)
    assert all("Traceback" not in one.log for one in replicas)


async def test_a_reply_that_a_killed_replica_was_fetching_is_given_by_the_other(
    url: str, replicas: tuple[Process, Process], seed: int
) -> None:
    one, two = replicas
    async with in_turns(one.port) as first, in_turns(two.port) as second, people(first.url, 1, seed) as (bot,):
        await bot.arrive("demo")
        await bot.until(waiting=True)
        await asyncio.to_thread(one.kill)
        killed = time.monotonic()
        bot.client.base_url = second.url
        await bot.look()
        while (chat := bot.screen.panel.chat) is not None and chat.waiting:
            await bot.step()
        assert time.monotonic() - killed < PATIENCE_S
        await bot.finish()
        await check_all(url, [bot])

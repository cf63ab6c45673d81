"""Health: `/healthz/live` while the process answers, `/healthz/ready` while what it is told is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.routing import Route

from app.web.health import KEPT_S, NOBODY, liveness, readiness
from storage import tables
from storage.db.engine import Database, writer
from storage.log.event_log import Log
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.sound import rows

pytestmark = pytest.mark.anyio
SOON_S = 60.0


@pytest.fixture
def log(each_database: Database) -> Log:
    return Log(each_database)


@pytest.fixture
async def client(log: Log) -> AsyncIterator[httpx2.AsyncClient]:
    times = iter(range(1_000))
    app = Starlette(routes=[Route("/ready", readiness(log, lambda: next(times))), Route("/live", liveness)])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://parley") as client:
        yield client


async def check_nobody_outside_is_told(url: str, *paths: str) -> None:
    async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
        for path in paths:
            for outside in ("8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "10.0.0.1, 8.8.8.8"):
                response = await client.get(path, headers={"x-forwarded-for": outside})
                assert (response.status_code, response.text) == (404, "not found")
            for near in ("127.0.0.1", "::1", "10.0.0.1", "172.31.77.1", "fd00::1", "8.8.8.8, 10.0.0.1"):
                response = await client.get(path, headers={"x-forwarded-for": near})
                assert (response.status_code, response.text) == (200, "ok")


async def test_nobody_outside_is_told(tmp_path: Path) -> None:
    async with serving(settings_for(tmp_path, trusted_proxies="127.0.0.1")) as served:
        await check_nobody_outside_is_told(served.url, "/healthz", "/healthz/live", "/healthz/ready")


async def test_nobody_outside_is_told_of_the_console(tmp_path: Path) -> None:
    process = Process(tmp_path, (), env={"PARLEY_TRUSTED_PROXIES": "127.0.0.1"}, command="console")
    await asyncio.to_thread(process.start)
    try:
        await check_nobody_outside_is_told(process.url, "/healthz")
    finally:
        await asyncio.to_thread(process.kill)


async def test_ready_is_a_write_and_many_who_ask_are_one(
    log: Log, client: httpx2.AsyncClient, each_database: Database
) -> None:
    answers = await asyncio.gather(*(client.get("/ready") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}
    (draft,) = rows(each_database, tables.drafts)
    assert (draft.stream, draft.at_us) == (NOBODY, 0)
    await asyncio.sleep(KEPT_S)
    await client.get("/ready")
    (draft,) = rows(each_database, tables.drafts)
    assert draft.at_us == 1
    log.close()


async def test_without_its_writer_a_server_lives_and_is_not_ready(log: Log, client: httpx2.AsyncClient) -> None:
    assert (await client.get("/ready")).status_code == 200
    log.close()
    await asyncio.sleep(KEPT_S)
    response = await client.get("/ready")
    assert (response.status_code, response.text) == (503, "not ready")
    assert (await client.get("/live")).status_code == 200


async def test_what_is_written_and_cannot_be_read_is_not_ready(log: Log, client: httpx2.AsyncClient) -> None:
    """The writer keeps its own connection, so it may work where nobody else's does."""
    reading = log.draft
    log.draft = lambda stream, path: {}  # type: ignore[method-assign]
    assert (await client.get("/ready")).status_code == 503
    log.draft = reading  # type: ignore[method-assign]
    await asyncio.sleep(KEPT_S)
    assert (await client.get("/ready")).status_code == 200
    log.close()


async def test_where_nothing_can_be_written_it_is_not_ready_and_then_is_again(
    log: Log, client: httpx2.AsyncClient, each_database: Database
) -> None:
    with writer(each_database) as connection:
        with connection.begin():
            if each_database.dialect.name == "postgresql":
                connection.execute(text("LOCK TABLE draft IN EXCLUSIVE MODE"))
            assert (await client.get("/ready")).status_code == 503
        async with asyncio.timeout(SOON_S):
            while (await client.get("/ready")).status_code != 200:
                await asyncio.sleep(0.1)
    log.close()

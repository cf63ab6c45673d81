"""Health: `/healthz/live` while the process answers, `/healthz/ready` while what it is told is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from app.web.console import page
from app.web.console.server import build_console
from app.web.health import KEPT_S, NOBODY, liveness, readiness
from storage import tables
from storage.db.engine import Database
from storage.log.event_log import Log
from tests.fakes.one_database import one_database
from tests.fakes.served import answering, serving, settings_for
from tests.wiring.sound import rows

pytestmark = pytest.mark.anyio


@pytest.fixture
def log(each_database: Database) -> Log:
    return Log(each_database)


def asking(log: Log) -> httpx2.AsyncClient:
    """A client of a server that has nothing but its health; each time that it looks at its clock is one later."""
    times = iter(range(1_000))
    app = Starlette(routes=[Route("/ready", readiness(log, lambda: next(times))), Route("/live", liveness)])
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://parley")


@pytest.fixture
async def client(log: Log) -> AsyncIterator[httpx2.AsyncClient]:
    async with asking(log) as client:
        yield client


async def check_nobody_outside_is_told(client: httpx2.AsyncClient, *paths: str) -> None:
    for path in paths:
        for outside in ("8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "10.0.0.1, 8.8.8.8"):
            response = await client.get(path, headers={"x-forwarded-for": outside})
            assert (response.status_code, response.text) == (404, "not found")
        for near in ("127.0.0.1", "::1", "10.0.0.1", "172.31.77.1", "fd00::1", "8.8.8.8, 10.0.0.1"):
            response = await client.get(path, headers={"x-forwarded-for": near})
            assert (response.status_code, response.text) == (200, "ok")


async def test_nobody_outside_is_told(tmp_path: Path) -> None:
    async with (
        serving(settings_for(tmp_path, trusted_proxies="127.0.0.1")) as served,
        httpx2.AsyncClient(base_url=served.url, timeout=60) as client,
    ):
        await check_nobody_outside_is_told(client, "/healthz", "/healthz/live", "/healthz/ready")


async def test_nobody_outside_is_told_of_the_console(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "routes", lambda desk: [])  # which take seconds to make, and come last
    settings = settings_for(tmp_path, trusted_proxies="127.0.0.1")
    async with (
        answering(build_console(settings, database), settings) as url,
        httpx2.AsyncClient(base_url=url, timeout=60) as client,
    ):
        await check_nobody_outside_is_told(client, "/healthz")


@one_database
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


@one_database
async def test_what_is_written_and_cannot_be_read_is_not_ready(log: Log, client: httpx2.AsyncClient) -> None:
    reading = log.draft
    log.draft = lambda stream, path: {}  # type: ignore[method-assign]
    assert (await client.get("/ready")).status_code == 503
    log.draft = reading  # type: ignore[method-assign]
    await asyncio.sleep(KEPT_S)
    assert (await client.get("/ready")).status_code == 200
    log.close()

"""A disk that is full while models are asked: the server says at once that it is not ready, asks no model while no
reply could be kept, and writes the replies and attempts that it has, each paid for once, as soon as there is room."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import Connection

from app.backends.base import Backend, Delta, Request, StreamEnd, TextDelta
from app.errors import BackendUnavailable
from tests.fakes import studies
from tests.fakes.alone import Talk, ask, asking, database_in, rows, seeds
from tests.fakes.backends import registered
from tests.fakes.crowd import PATIENCE_S
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.wiring.full import fill_disk, free_disk, refused_at_work, small_disk
from tests.wiring.reading import check_sound, query

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
PEOPLE = 4
PRICE = {"prompt": 1.0, "completion": 1.0}
# For each time that a model was asked, what lets it answer.
ASKED: list[asyncio.Event] = []
BUSY = "Be busy once."


class Held(Backend):
    """A backend that answers when it is let; the first time that it is told BUSY it has no answer."""

    was_busy = False

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        ASKED.append(asyncio.Event())
        await ASKED[-1].wait()
        if BUSY in request.messages[-1].text and not self.was_busy:
            self.was_busy = True
            raise BackendUnavailable("busy", reason="status_503")
        yield TextDelta("word " * 3_000)
        yield StreamEnd("stop", "held-v1", 1_000_000, 0)


@pytest.fixture(autouse=True)
def held() -> Iterator[None]:
    ASKED.clear()
    with registered("held", Held):
        yield


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    folder = tmp_path / "disk"
    folder.mkdir()
    study = studies.chat(tmp_path, backend="held", options={}, price=PRICE)
    with small_disk(folder, 6):
        times = {"retry_wait_s": 0.01, "first_token_timeout_s": 600, "reply_timeout_s": 600}
        async with serving(settings_for(folder, **times), study) as served:
            yield served


@asynccontextmanager
async def at_the_chat(served: Served, count: int) -> AsyncIterator[list[HttpBot]]:
    async with AsyncExitStack() as stack:
        made = [HttpBot(served.url, f"{number}", patience_s=PATIENCE_S) for number in range(count)]
        for bot in made:
            await stack.enter_async_context(bot)
            await bot.arrive("talk")
            await bot.until(path="with_ai")
        yield made


def reading(served: Served) -> Connection:
    """Somebody who reads, so that SQLite keeps what is in its journal; else it would begin it anew, and have room. One
    who comes when all of it was copied into the database reads only that, so two are needed, with a write between."""
    reader = served.database.connect()
    reader.exec_driver_sql("SELECT count(*) FROM event").scalar_one()
    return reader


async def answered(bot: HttpBot) -> None:
    while (await bot.look()).panel.chat.waiting:  # type: ignore[union-attr]
        for let in ASKED:
            let.set()
        await asyncio.sleep(0.05)


async def test_replies_that_come_when_the_disk_is_full_are_kept_and_paid_for_once(
    served: Served, tmp_path: Path
) -> None:
    async with (
        at_the_chat(served, PEOPLE + 1) as (typist, *bots),
        httpx2.AsyncClient(base_url=served.url, timeout=60) as client,
    ):
        readers = [reading(served)]
        for number, bot in enumerate(bots):
            await bot.do("say", {"text": BUSY if not number else "Hello"})
        while len(ASKED) < PEOPLE:
            await asyncio.sleep(0.01)
        assert (await client.get("/healthz/ready")).status_code == 200

        readers.append(reading(served))
        fill_disk(tmp_path / "disk")
        await refused_at_work(typist, PATIENCE_S)
        for let in ASKED:
            let.set()
        for _ in range(20):
            assert (await client.get("/healthz/ready")).status_code == 503
            for bot in bots:
                assert (await bot.look()).panel.chat.waiting  # type: ignore[union-attr]
            await asyncio.sleep(0.15)
        assert len(ASKED) == PEOPLE, "a model was asked though its reply could not be kept"

        for reader in readers:
            reader.close()
        free_disk(tmp_path / "disk")
        for bot in bots:
            await answered(bot)
        assert (await client.get("/healthz/ready")).status_code == 200
    assert len(ASKED) == PEOPLE + 1, "each reply that had come was kept, and the one try that failed was made again"
    attempts = query(served.database, "SELECT reason, count(*), sum(cost) FROM attempt GROUP BY reason")
    assert set(attempts) == {("status_503", 1, None), (None, PEOPLE, float(PEOPLE))}, "so the budget counts them all"
    check_sound(served.database)


SAMPLES, FULL_AFTER = 200, 40


async def test_models_alone_are_not_asked_while_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    cells = [Talk("x" * 50_000, SAMPLES)]

    def told(seed: str) -> None:
        time.sleep(0.005)  # or all would be asked before anything is written
        if len(model.asked) == FULL_AFTER:
            fill_disk(tmp_path / "disk")

    with small_disk(tmp_path / "disk", 40), asking(told) as model:
        database = database_in(tmp_path / "disk")
        running = asyncio.create_task(asyncio.to_thread(ask, database, cells))
        before = -1
        while not running.done() and (len(model.asked) < FULL_AFTER or len(model.asked) != before):
            before = len(model.asked)
            await asyncio.sleep(1)
        assert not running.done()
        assert before < SAMPLES
        free_disk(tmp_path / "disk")
        ended = await running
        assert (ended.why, ended.asked, ended.progress.failed) == ("done", SAMPLES, 0)
        assert sorted(model.asked) == sorted(seeds(cells)), "none was lost, so none is paid for twice"
        assert len(rows(database, cells)) == SAMPLES
        assert ended.cost == pytest.approx(SAMPLES * 0.001)
        database.dispose()

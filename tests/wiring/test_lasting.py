"""What a server has done before costs it nothing: more sessions than it keeps at hand go on and hear their replies, and
neither files nor threads stay open behind those who left. Exports are made meanwhile, and keep nobody from writing.

With --soak: 12,000 sessions, 2,000 visits, and 50 people who write.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from pathlib import Path

import pytest

from app.bots.simulate import START_US
from app.clock import VirtualClock
from app.session.service import SessionCache, SessionService
from app.studies.loader import load_study
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.db.engine import Database
from tests.fakes import studies
from tests.fakes.clicks import click, present
from tests.fakes.crowd import Crowd, check_crowd, crowd
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import facts

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(300)]
# Files and threads by which pools may still grow; 30 visits that left one each behind would be twice as many.
POOLED = 15
# So many sessions are at hand here, where it is 5,000 otherwise.
KEPT = 10


async def test_more_sessions_than_are_kept_at_hand_all_hear_their_replies(
    tmp_path: Path, database: Database, soak: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 12_000 if soak else 50
    if not soak:
        monkeypatch.setattr("app.session.service.SessionCache", partial(SessionCache, KEPT))
    runtime = SessionService(database, settings_for(tmp_path), VirtualClock(START_US))
    study = load_study(str(studies.chat(tmp_path)))
    runtime.prepare(study)
    streams = []
    for seed in range(number):
        live = await runtime.enrol(study, origin="person", seed=str(seed))
        for values in ({"agreed": "on"}, {"confidence": "very-confident"}):
            live = await click(runtime, live, **values)
        streams.append(live.stream)
    for stream in streams:  # the first was forgotten long ago
        found = await present(runtime, stream)
        said = await runtime.participant(stream, "say", found.screen.path, {"text": "Hello"}, seen=found.screen.seen)
        heard = "".join([text async for text, _ in runtime.follow(said, 0)])
        after = await present(runtime, stream)
        (replied,) = (event for event in facts(database, stream) if event.kind == "replied")
        assert heard.strip() in ("", replied.data["text"])
        assert after.screen.panel.chat
        assert after.screen.panel.chat.messages[-1].text == replied.data["text"]
    await runtime.close()


async def visit(url: str, name: str) -> None:
    async with HttpBot(url, name, patience_s=60) as bot:
        await bot.arrive("short")
        await bot.finish()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells what another process has open")
async def test_nothing_stays_open_behind_those_who_left(tmp_path: Path, soak: bool) -> None:
    process = Process(tmp_path, (studies.short(tmp_path),))
    await asyncio.to_thread(process.start)
    try:

        def left() -> tuple[int, int]:
            its = Path(f"/proc/{process.pid}")
            return len([*(its / "fd").iterdir()]), len([*(its / "task").iterdir()])

        async def visits(number: int) -> tuple[int, int]:
            for begin in range(0, number, 10):
                await asyncio.gather(*(visit(process.url, f"{number}:{begin + n}") for n in range(10)))
            await asyncio.sleep(0.5)
            return left()

        first = await visits(10)
        last = await visits(2_000 if soak else 30)
        assert last[0] <= first[0] + POOLED
        assert last[1] <= first[1] + POOLED
        await asyncio.to_thread(process.stop)
    finally:
        process.kill()
    assert "Traceback" not in process.log


class Slow:
    """Told of an export's files, it stays with the first until people have written more."""

    def __init__(self, found: Crowd) -> None:
        self._found = found
        self._wanted = found.acts + 5

    def __call__(self, name: str, rows: int) -> None:
        give_up = time.monotonic() + 60
        while self._found.acts < self._wanted:
            assert time.monotonic() < give_up, "an export keeps people waiting"
            time.sleep(0.01)


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
async def test_exports_while_people_write_keep_nobody_waiting(
    tmp_path: Path, database_url: str, seed: int, soak: bool, caplog: pytest.LogCaptureFixture
) -> None:
    people, exports = (50, 100) if soak else (4, 3)
    settings = settings_for(tmp_path, database_url=database_url)
    with caplog.at_level(logging.WARNING):
        async with serving(settings, studies.short(tmp_path)) as served:
            async with crowd(served.url, "short", people, seed) as found:
                for number in range(exports):
                    await found.more(people)
                    query, folder = ExportRequest("short", "chatbench"), tmp_path / f"export-{number}"
                    done = await asyncio.to_thread(export, served.database, query, folder, Slow(found))
                    assert done.files
            check_crowd(served.database, found)
    told = [record.getMessage() for record in caplog.records]
    assert not [words for words in told if "in the way" in words or "locked" in words or "does not answer" in words]

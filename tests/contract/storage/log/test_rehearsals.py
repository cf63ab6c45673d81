"""A rehearsal takes nothing from participants, and its removal leaves every table as if it had never been."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from experiments.errors import Refused
from experiments.events import Event
from problems.errors import ParleyError
from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database, open_database
from storage.errors import Conflict
from storage.log.event_log import Log
from storage.log.rehearsals import rehearsed_sessions, remove_rehearsal
from storage.log.writer import Append
from storage.registers.study_status import set_status
from tests.fakes.databases import busy, read_tables, rows
from tests.fakes.sessions import study

pytestmark = pytest.mark.nightly


@pytest.fixture
def made(database_url: str) -> Iterator[Database]:
    opened = open_database(database_url)
    yield opened
    opened.dispose()


def everything(database: Database) -> dict[str, Any]:
    """All rows but those of the audit log; sums of money rounded, as they are added up in another order."""
    own = {name: rows(database, table) for name, table in tables.metadata.tables.items() if table is not tables.deeds}
    for row in own["model_usage"]:
        row["cost"] = round(row["cost"], 9)
    return {**own, **read_tables(database)}


def remove(database: Database) -> Any:
    audit = AuditLog(database, lambda: 1)
    return remove_rehearsal(
        database, "demo", 1, lambda connection, gone: audit.forward(connection, "ada", f"{gone.sessions}", "demo")
    )


async def whole(database: Database) -> str:
    """A rehearsed session from the consent to the end, with calls of the models; its stream."""
    clock = VirtualClock(5_000_000)
    runtime = SessionService(database, Settings(), clock)
    live = await runtime.enrol(study("demo"), origin="rehearsal", data={"models": "scripted"})
    bot = RandomBot("1")
    while not live.screen.ended:
        clock.advance(20)
        kind, values = bot.act(live.screen)
        await runtime.participant(live.stream, kind, live.screen.path, values, seen=live.screen.seen)
        await runtime.settled(live.stream)
        live = await runtime.get(live.stream) or live
    await runtime.close()
    return live.stream


def test_nothing_more_is_written_of_a_removed_session(made: Database) -> None:
    (stream, *_) = asyncio.run(busy(made, origin="rehearsal"))
    last = max(row["seq"] for row in rows(made, tables.events) if row["stream"] == stream)
    remove(made)
    before, log = everything(made), Log(made)
    late = Append(stream, "demo", (Event(last + 1, 0, "participant", "", "said", {}),), origin="rehearsal")
    with pytest.raises(Conflict):
        log.append(late).result()
    log.close()
    assert everything(made) == before


def test_quotas_are_counted_apart(made: Database) -> None:
    asyncio.run(_fill_quotas(made))


async def _fill_quotas(database: Database) -> None:
    runtime = SessionService(database, Settings(), VirtualClock(1_000_000))
    runtime.studies.register(study("demo"))
    set_status(database, "demo", "capped", {"where": {}, "most": 1}, by="researcher", at_us=1)
    for origin in ("rehearsal", "person"):
        live = await runtime.enrol(study("demo"), origin=origin)
        await runtime.participant(live.stream, "submit", live.screen.path, {"agreed": "on"}, seen=live.screen.seen)
        with pytest.raises(Refused):
            await runtime.enrol(study("demo"), origin=origin)
    set_status(database, "demo", "paused", {"why": "not yet"}, by="researcher", at_us=2)
    set_status(database, "demo", "capped", {"where": {}, "most": 2}, by="researcher", at_us=3)
    await runtime.close()
    runtime = SessionService(database, Settings(), VirtualClock(9_000_000))
    with pytest.raises(Refused):
        await runtime.enrol(study("demo"), origin="person")
    assert (await runtime.enrol(study("demo"), origin="rehearsal")).state.enrolled["origin"] == "rehearsal"
    await runtime.close()


def test_a_rehearsal_is_removed_while_it_runs(made: Database) -> None:
    before = everything(made)
    with ThreadPoolExecutor() as pool:
        for _ in range(3):
            going = pool.submit(_sessions_until_removed, made)
            while not rehearsed_sessions(made, "demo"):
                assert not going.done(), going.result()
            assert remove(made).sessions > 0
            going.result()
            remove(made)
    assert everything(made) == before


def _sessions_until_removed(database: Database) -> None:
    with suppress(ParleyError):
        while True:
            asyncio.run(whole(database))

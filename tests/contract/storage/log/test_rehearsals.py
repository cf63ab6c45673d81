"""A rehearsal takes nothing from participants, and its removal leaves every table as if it had never been."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import insert

from app.bots.random_bot import RandomBot
from app.clock import VirtualClock
from app.config.settings import Settings
from app.session.service import SessionService
from experiments.errors import Refused
from experiments.events import Event
from problems.errors import ParleyError
from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database, open_database, writer
from storage.errors import Conflict
from storage.log.event_log import Log
from storage.log.projections import rebuild
from storage.log.rehearsals import rehearsed_sessions, remove_rehearsal
from storage.log.writer import Append
from storage.registers.participants import ParticipantId, Participants
from storage.registers.study_status import set_status
from tests.fakes.databases import busy, read_tables, rows
from tests.fakes.sessions import study

pytestmark = pytest.mark.nightly

SECRET = "0123456789abcdef0123456789abcdef"


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


def belongings(database: Database, stream: str) -> None:
    """What else may belong to a session: an identity, an annotation with its call, a draft."""
    person = Participants(database, SECRET).entry("demo", ParticipantId("prolific", f"rehearsal-{stream}"))
    cell = {
        "study": "demo",
        "cell": f"cell {stream}",
        "kind": "annotation",
        "name": "x",
        "model": "m",
        "stream": stream,
    }
    answer = {"study": "demo", "cell": f"cell {stream}", "sample": 0, "outcome": "right"}
    draft = {"stream": stream, "path": "here", "data": {}, "at_us": 1}
    with writer(database) as connection, connection.begin():
        connection.execute(insert(tables.identities), [{"stream": stream, "study": "demo", **person}])
        connection.execute(insert(tables.cells), [{**cell, "position": 0, "samples": 1, "data": {}}])
        connection.execute(insert(tables.answers), [answer])
        connection.execute(insert(tables.drafts), [draft])


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


def test_its_removal_leaves_every_table_as_it_was(made: Database) -> None:
    real = asyncio.run(busy(made))
    belongings(made, real[0])
    before = everything(made)
    streams = [*asyncio.run(busy(made, origin="rehearsal")), asyncio.run(whole(made))]
    for stream in streams:
        belongings(made, stream)
    assert set(rehearsed_sessions(made, "demo")) == set(streams)
    assert everything(made) != before
    removed = remove(made)
    assert (removed.sessions, removed.identities, removed.annotations) == (len(streams),) * 3
    assert min(removed.events, removed.model_calls) > 0
    assert everything(made) == before
    (deed,) = AuditLog(made, lambda: 1).read()
    assert (deed.who, deed.what, deed.about) == ("ada", f"{len(streams)}", "demo")
    assert remove(made).sessions == 0
    assert len(AuditLog(made, lambda: 1).read()) == 1
    rebuild(made)
    assert everything(made) == before


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

"""What pages tell of themselves, over the API: what is kept of it, what is dropped, and what is no such thing."""

import asyncio
import csv
import json
import time
from collections.abc import AsyncIterator
from datetime import datetime
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest

from app.clock import VirtualClock
from storage.datasets.exports.exporter import stream
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.tidy.columns import session_id
from storage.log import seats, telemetry
from storage.log.telemetry import MOST_RECORDS
from tests.fakes import studies
from tests.fakes.http_bot import HttpBot
from tests.fakes.served import Served, serving, settings_for
from tests.fakes.sitting import Sitting
from tests.wiring.reading import facts, query

pytestmark = pytest.mark.anyio
VISIT = {"kind": "screen", "seen": 4, "shown_ms": 9000, "visible_ms": 8000, "reading_ms": 3000, "typing_ms": 1000}
FINISH = {"step": "finish"}
KEYED = {"first_key_ms": 3000, "keys": {"comment": 12}, "choices": 1}


@pytest.fixture(scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    folder = tmp_path_factory.mktemp("telemetry")
    async with serving(settings_for(folder), studies.short(folder)) as served:
        yield served


@pytest.fixture
async def agreed(bot: HttpBot) -> HttpBot:
    await bot.until(path="remarks")
    return bot


def record(**more: Any) -> dict[str, Any]:
    return {"kind": "left", "path": "remarks", "ago_ms": 0, **more}


async def tell(bot: HttpBot, *records: dict[str, Any], key: str = "0" * 32, **more: Any) -> int:
    response = await bot.send("POST", "/api/telemetry", {"key": key, "records": list(records), **more})
    if response.status_code == 204:
        assert response.content == b""
    return response.status_code


def count(served: Served, bot: HttpBot) -> int:
    return int(query(served.database, "SELECT count(*) FROM telemetry WHERE stream = :s", s=bot.stream)[0][0])


async def stored(served: Served, bot: HttpBot) -> list[tuple[Any, ...]]:
    """What is kept of a session, once all that was told before is written: a draft is written after it."""
    await bot.send("POST", "/api/draft", {"path": bot.screen.path, "values": {}})
    sql = "SELECT number, path, at_us, kind, data FROM telemetry WHERE stream = :s ORDER BY number"
    return [(*row[:4], json.loads(row[4])) for row in query(served.database, sql, s=bot.stream)]


async def test_what_is_told_is_kept_by_the_servers_clock_and_is_no_fact(served: Served, agreed: HttpBot) -> None:
    before = facts(served.database, agreed.stream)
    pasted = record(kind="pasted", box="comment", chars=40, blocked=False, ago_ms=60_000)
    assert await tell(agreed, record(**VISIT, **KEYED), pasted, record(kind="here", ago_ms=10**9)) == 204
    now_us = time.time_ns() // 1000
    visit, pasted_row, here = await stored(served, agreed)
    assert (visit[:2], visit[3]) == ((1, "remarks"), "screen")
    assert visit[4] == {**{name: value for name, value in VISIT.items() if name != "kind"}, **KEYED}
    assert (pasted_row[0], pasted_row[4]) == (2, {"box": "comment", "chars": 40, "blocked": False})
    for row, ago_s in ((visit, 0), (pasted_row, 60), (here, 24 * 3600)):
        assert abs(row[2] - (now_us - ago_s * 1_000_000)) < 5_000_000
    assert facts(served.database, agreed.stream) == before


async def test_a_batch_that_comes_twice_is_kept_once(served: Served, agreed: HttpBot) -> None:
    records = [record(), record(kind="came_back", away_ms=5)]
    assert set(await asyncio.gather(*(tell(agreed, *records, key="a" * 32) for _ in range(10)))) == {204}
    assert await tell(agreed, *records, key="b" * 32) == 204
    assert [row[0] for row in await stored(served, agreed)] == [1, 2, 3, 4]


async def test_beyond_the_cap_nothing_more_is_kept(served: Served, agreed: HttpBot) -> None:
    for number in range(MOST_RECORDS // 100 + 1):
        assert await tell(agreed, *[record()] * 99, key=f"{number:032x}") == 204
    rows = await stored(served, agreed)
    assert [row[0] for row in rows] == list(range(1, MOST_RECORDS + 1))[: len(rows)]
    assert len(rows) == MOST_RECORDS
    await agreed.finish()
    assert agreed.screen.ended


async def test_the_times_of_screens_are_the_facts_and_the_rest_what_pages_told(served: Served, agreed: HttpBot) -> None:
    await tell(agreed, record(**VISIT, **KEYED), record(), record(kind="came_back", away_ms=1500))
    await stored(served, agreed)
    await agreed.finish()
    rows = {row["path"]: row for row in timings(served, agreed)}
    log = facts(served.database, agreed.stream)
    (consent,) = (fact for fact in log if fact.path == "consent")
    (remarks,) = (fact for fact in log if fact.path == "remarks")
    assert datetime.fromisoformat(rows["remarks"]["time"]).timestamp() == pytest.approx(consent.at_us / 1e6, abs=0.001)
    assert float(rows["remarks"]["seconds"]) == pytest.approx((remarks.at_us - consent.at_us) / 1e6, abs=0.001)
    told = [rows["remarks"][name] for name in ("visible_s", "reading_s", "first_key_s", "left", "away_s", "pasted")]
    assert list(map(float, told)) == [8, 3, 3, 1, 1.5, 0]
    assert rows["consent"]["visible_s"] == ""
    kinds = [row["kind"] for row in telemetry.read(served.database, "short") if row["stream"] == agreed.stream]
    assert kinds == ["screen", "left", "came_back"]


def timings(served: Served, bot: HttpBot) -> list[dict[str, str]]:
    """The rows of a session in the tidy table."""
    out, (first, *_) = BytesIO(), facts(served.database, bot.stream)
    stream(served.database, ExportRequest("short", "tidy"), out, "timings.csv")
    rows = csv.DictReader(StringIO(out.getvalue().decode()))
    return [row for row in rows if row["session"] == session_id(first.data["seed"])]


async def test_who_leaves_before_screens_that_go_on_by_themselves_is_timed_out_and_gives_the_place_back(
    tmp_path: Path,
) -> None:
    limit = {"time_limit": {"after_s": 60, "on_expiry": "continue"}}
    flow = [{"step": "info", "id": f"r{n}", "text": "Read.", **limit} for n in range(4)]
    study, clock = {"study": "rows", "title": "Rows", "flow": [*flow, FINISH]}, VirtualClock(10**15)
    async with Sitting(tmp_path, study, clock) as rows:
        gone, there = [(await rows.begin(seed)).live for seed in "12"]
        for number in range(4):
            await rows.service.save_draft(there.stream, f"r{number}", {})
            clock.advance(63)
            await rows.service.sweep()
            live = await rows.service.get(gone.stream)
            assert live is not None
            assert live.state.outcome == ("timed_out" if number else "")
        sql = "SELECT outcome, flags FROM seat ORDER BY begun_us, stream = :s"
        assert query(rows.database, sql, s=there.stream) == [("timed_out", "unattended"), ("complete", "")]
        with rows.database.connect() as connection:
            assert seats.counts(connection, "rows", "person", clock.now_us(), 7200) == [({}, 1)]

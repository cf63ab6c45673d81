"""The tab Monitoring, as a researcher has it open: figures and stuck sessions."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from app.bots.simulate import DAY_US, START_US
from app.clock import VirtualClock
from storage import tables
from storage.db.engine import open_database
from storage.registers.studies import Studies
from storage.reports.monitoring import load_monitor
from tests.fakes import four_weeks
from tests.fakes.console import Room, room
from tests.fakes.databases import busy
from tests.fakes.model_replies import OneReply, write_sessions
from tests.fakes.researcher import Researcher, text
from tests.fakes.sessions import study
from tests.fakes.sitting import Sitting

pytestmark = pytest.mark.anyio
NAME = "chatbench"


@pytest.fixture(scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("live") / "parley.db"
    database = open_database(f"sqlite:///{path}")
    Studies(database).register(study("demo"))
    await busy(database, NAME)
    database.dispose()
    return path


@pytest.fixture
def console(filled: Path, tmp_path: Path) -> Iterator[Room]:
    shutil.copyfile(filled, tmp_path / "parley.db")
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    with room(tmp_path, database, VirtualClock(400_000_000)) as made:
        made.as_("owner", "olga")
        yield made
    database.dispose()


@pytest.fixture
async def olga(console: Room) -> AsyncIterator[Researcher]:
    async with Researcher(app=console) as researcher:
        await researcher.open(study=NAME, tab="monitoring")
        yield researcher


def cards(head: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r'data-count="(\w+)"><b>([\d,]+)</b>', head)}


async def test_only_who_has_been_idle_for_a_minute_may_be_stuck(filled: Path, tmp_path: Path) -> None:
    shutil.copyfile(filled, tmp_path / "parley.db")
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    with database.connect() as connection:
        unended = select(func.max(tables.seats.c.last_us)).where(tables.seats.c.outcome.is_(None))
        last_us = connection.execute(unended).scalar_one()
    listed = []
    for idle_us in (800_000, 61_000_000):
        clock = VirtualClock(last_us + idle_us)
        found = load_monitor(database, study(NAME), "person", clock.now_us())
        listed.append(len(found.waiting))
        assert all(clock.now_us() - one.since_us >= 60_000_000 for one in found.waiting)
    database.dispose()
    assert listed[0] < listed[1]


async def test_the_tiles_tell_how_a_study_stands(olga: Researcher) -> None:
    painted = await olga.enter("monitoring", study=NAME)
    tiles = cards(painted["live-head"])
    assert tiles["started"] == 5
    assert tiles["excluded"] == 1
    assert tiles["withdrawn"] == 1
    assert tiles["started"] == sum(tiles[name] for name in ("live", "complete", "incomplete", "withdrawn"))
    assert ">not published</span>" in painted["live-head"]
    body = painted["live-body"]
    assert re.search(rf'href="\?study={NAME}&amp;tab=sessions&amp;session=\d+"', body)
    assert "answer-first" in text(body)
    assert "withdrawn" in text(body)


async def test_adherence_by_arm_and_day_and_a_new_version_are_shown(console: Room, tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    replies = [OneReply(kept=n > 0, version="m-1" if n < 3 else "<m>") for n in range(4)]
    write_sessions(database, NAME, replies, begin_us=400_000_000)
    database.dispose()
    async with Researcher(app=console) as olga:
        await olga.open(study=NAME, tab="monitoring")
        body = (await olga.enter("monitoring", study=NAME))["live-body"]
    assert re.findall(r'data-shift="(\w+)">.*m: m-1 before, &lt;m&gt; since', body) == ["version"]
    assert re.search(r"asks</td><td>role: tutor</td>\s*<td[^>]*>75 %<br><span[^>]*>of 4<", body)


async def test_the_people_of_each_wave_are_shown_and_that_one_arm_stays_away(tmp_path: Path) -> None:
    clock = VirtualClock(START_US)
    async with Sitting(tmp_path, four_weeks.study(), clock) as weeks:
        await four_weeks.play(weeks.service, weeks.study, clock, 10, {"plain": 0, "warm": 1})
        with room(tmp_path, weeks.database, VirtualClock(START_US + 60 * DAY_US)) as console:
            async with Researcher(app=console) as olga:
                await olga.open(study="weeks", tab="monitoring")
                body = (await olga.enter("monitoring", study="weeks"))["live-body"]
    states = re.findall(r'data-wave="(week-\d)" data-state="(\w+)">([1-9]\d*)<', body)
    lost = [("week-2", "missed", "10"), *[(f"week-{n}", "dropped", "10") for n in (3, 4)]]
    assert {*states} == {("week-1", "done", "20"), *[(f"week-{n}", "done", "10") for n in (2, 3, 4)], *lost}
    assert re.findall(r'data-attrition="(\w+)"', body) == ["companion"]
    assert re.search(r"companion: plain</th>.*companion: warm</th>", body)

"""People who come back for four weeks: what was planted in one arm is in the export, Monitoring and the report."""

from __future__ import annotations

import asyncio
import csv
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import pytest
from sqlalchemy import update

from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.config.settings import Settings
from app.extensions.analysis.report.build import build_report, flow_stages
from app.session.service import SessionService
from experiments.session.reminders import REMINDED, SENT
from experiments.session.waves import wave_schedule
from storage import tables
from storage.datasets.exports.exporter import export
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.tidy.columns import NAME
from storage.db.engine import Database, open_database
from storage.log.event_log import load
from storage.log.projections import differences, rebuild
from storage.registers.origins import Origin
from storage.registers.persons import people
from storage.registers.reminders import ReminderCounts
from storage.registers.studies import Studies
from storage.reports.monitoring import load_monitor
from storage.reports.reproducibility import recompute_draws
from tests.fakes import reminders
from tests.fakes.commanding import parley
from tests.fakes.four_weeks import GROWTH, play, study

PEOPLE = 24
AFTERWARDS_US = START_US + 60 * 86_400_000_000
WAVES = ("week-1", "week-2", "week-3", "week-4")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database in which many of one arm stay away, and whose trust grows."""
    folder, clock = tmp_path_factory.mktemp("weeks"), VirtualClock(START_US)
    database = open_database(f"sqlite:///{folder}/parley.db")

    async def all_weeks() -> None:
        service = SessionService(database, Settings(_env_file=None), clock)
        try:
            service.prepare(study())
            for _ in range(2):  # the second time everybody is found again
                await play(service, study(), clock, PEOPLE, {"plain": 0.02, "warm": 0.3})
        finally:
            await service.close()

    asyncio.run(all_weeks())
    database.dispose()
    return folder / "parley.db"


@pytest.fixture
def weeks(played: Path, tmp_path: Path) -> Iterator[Database]:
    database = open_database(f"sqlite:///{shutil.copy(played, tmp_path)}")
    yield database
    database.dispose()


def rows(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.nightly
def test_everybody_comes_when_their_wave_is_open_and_nobody_after_they_stayed_away(weeks: Database) -> None:
    found, seen = people(weeks, "weeks", Origin.BOT), Counter[str]()
    for person in found:
        version = Studies(weeks).get(person.hash)
        windows = wave_schedule(version, person.history, AFTERWARDS_US)
        for window, visit in zip(windows, person.history.visits, strict=False):
            assert window.wave == visit.wave
            assert visit.outcome == "complete"
            assert window.opens_us is not None
            assert window.opens_us <= visit.begun_us <= (window.until_us or AFTERWARDS_US)
            seen["late"] += window.closes_us is not None and visit.begun_us >= window.closes_us
        states = [window.state for window in windows]
        assert states == sorted(states, key=("done", "missed", "dropped").index)
        assert states.count("missed") <= 1
    assert len(found) == 2 * PEOPLE
    assert seen["late"] > 10
    draws = recompute_draws(weeks, "weeks", lambda number, total: None)
    assert not draws.differences


def test_the_export_has_the_person_and_the_wave_of_every_row(weeks: Database, tmp_path: Path) -> None:
    export(weeks, ExportRequest("weeks", NAME, Origin.BOT), tmp_path / "data")
    visits, answers = rows(tmp_path / "data", "sessions"), rows(tmp_path / "data", "answers")
    by_person = Counter(row["person"] for row in visits)
    assert len(by_person) == 2 * PEOPLE
    assert {(row["person"], row["wave"]) for row in visits} == {(row["person"], row["wave"]) for row in answers}
    waves = {row["session"]: row["wave"] for row in visits}
    assert all(waves[row["session"]] == row["wave"] == row["path"].partition("/")[0] for row in answers)
    arms = {row["person"]: row["companion"] for row in visits}
    trust = {arm: {wave: [float(row["number"]) for row in answers if (row["question"], row["wave"]) == ("trust", wave)
                          and arms[row["person"]] == arm] for wave in WAVES} for arm in ("plain", "warm")}  # fmt: skip
    assert fmean(trust["warm"]["week-4"]) - fmean(trust["warm"]["week-1"]) > 1
    assert abs(fmean(trust["plain"]["week-4"]) - fmean(trust["plain"]["week-1"])) < 1
    assert len(trust["warm"]["week-4"]) < 0.7 * PEOPLE < len(trust["plain"]["week-4"])


def test_the_report_finds_the_attrition_and_the_growth_that_were_planted(weeks: Database) -> None:
    report = build_report(weeks, "weeks", Origin.BOT, AFTERWARDS_US)
    found = {one.name: one for finding in report.findings for one in finding.estimates}
    assert found["waves.attrition_test.companion"].further["p"] < 0.01
    assert found["waves.attrition.week-4.companion.warm"].value > 0.3 > found["waves.attrition.week-4"].value / 2
    growth = found["waves.growth_difference.trust.companion.warm.plain"]
    assert growth.further["p"] < 0.001
    assert (growth.low or 0) < GROWTH < (growth.high or 0)
    plain = found["waves.growth.trust.companion.plain"]
    assert (plain.low or 1) < 0 < (plain.high or -1)
    bounds = [found[f"waves.bounds.trust.{kind}.companion.warm.plain"].value for kind in ("lower", "upper")]
    assert bounds[0] < found["waves.bounds.trust.observed.companion.warm.plain"].value < bounds[1]
    assert growth.participants == report.results.analysed == 2 * PEOPLE
    assert [stage.number for stage in flow_stages(report)] == [2 * PEOPLE] * 3


def test_verify_finds_a_session_that_lost_its_person_and_rebuild_joins_it_again(weeks: Database) -> None:
    assert list(differences(weeks)) == []
    before = people(weeks, "weeks", Origin.BOT)
    with weeks.begin() as connection:
        its = tables.sessions.c
        connection.execute(update(tables.sessions).where(its.stream == before[0].streams["week-1"]).values(person=None))
        connection.execute(
            update(tables.sessions).where(its.stream == before[1].streams["week-1"]).values(wave="week-9")
        )
    assert len(list(differences(weeks))) == 2
    rebuild(weeks)
    assert list(differences(weeks)) == []
    assert people(weeks, "weeks", Origin.BOT) == before


@pytest.mark.anyio
async def test_simulated_people_are_reminded_in_the_log_alone_each_once_and_never_in_quiet_hours(
    tmp_path: Path, database: Database
) -> None:
    send = [{"when": when} for when in ("opening", "10 hours after opening", "2 days after opening")]
    its = reminders.study(reminders={"channels": ["mail"], "send": send})
    clock = VirtualClock(0)
    service = SessionService(database, Settings(_env_file=None), clock)
    service.prepare(its)
    try:
        done = [one async for one in simulate(service, clock, its, 30, "1")]
    finally:
        await service.close()
    firsts = [event for one in done for event in load(database, one.streams[0])]
    hours = [datetime.fromtimestamp(one.at_us / 1e6, UTC).hour for one in firsts if one.kind == REMINDED]
    assert len(hours) >= 30
    assert all(8 <= hour < 21 for hour in hours)
    assert sum(one.kind == SENT for one in firsts) == len(hours)
    for one in done:
        kinds = [event.data["kind"] for event in load(database, one.streams[0]) if event.kind == REMINDED]
        assert len(kinds) == len(set(kinds))
    counts = ReminderCounts(len(hours), 0, 0, 0)
    assert load_monitor(database, its, Origin.BOT, clock.now_us()).reminders == counts
    database.dispose()
    shown = parley("show", "status", "weeks", "--origin", "bot", "--json", folder=tmp_path)
    assert json.loads(shown.stdout)["reminders"] == asdict(counts)

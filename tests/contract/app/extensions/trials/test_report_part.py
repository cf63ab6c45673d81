"""The report of a trial: what was planned comes first and apart, with the flow by group, looks and deviations."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from app.extensions.analysis.estimates import POINTS, format_interval, format_value
from app.extensions.analysis.report import Report, build_report, html
from app.extensions.trials.reads.plan_events import RecordedLook
from app.extensions.trials.report_part import TrialReport, part_of, trial_report
from app.extensions.trials.results import unit_of
from experiments.study.sections.plan import Looks
from storage.db.engine import Database, open_database
from tests.fakes.databases import busy, fill
from tests.fakes.trials import PLAN, trial

AT_US = 1_800_000_000_000_000


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Database:
    path = trial(tmp_path_factory.mktemp("trial"))
    database = open_database(f"sqlite:///{path.with_name('parley.db')}")
    asyncio.run(fill(database, [str(path)], 24, "s"))
    return database


@pytest.fixture(scope="module")
def report(simulated: Database) -> Report:
    return build_report(simulated, "trial", "bot", AT_US)


@pytest.fixture(scope="module")
def planned(simulated: Database) -> TrialReport:
    found = trial_report(simulated, "trial", "bot")
    assert found is not None
    return found


def _heading(text: str, title: str) -> int:
    return [found.start() for found in re.finditer(title, text)][1]


def test_the_page_has_the_planned_results_before_the_others_and_says_which_are_which(
    report: Report, planned: TrialReport
) -> None:
    text = html(report).replace("<wbr>", "")
    start, rest = _heading(text, "Confirmatory results"), _heading(text, "Exploratory results")
    names = [one.name for finding in planned.findings for one in finding.estimates]
    assert len(names) == 16
    assert all(start < text.index(name) < rest for name in names)
    assert "not preregistered" in text[start:rest]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, Path]:
    path = trial(tmp_path_factory.mktemp("people"), "people", {**PLAN, "exclude": ["incomplete"]})
    database = open_database(f"sqlite:///{path.with_name('parley.db')}")
    asyncio.run(busy(database, str(path)))
    return database, path


def test_the_flow_by_group_counts_everybody_assigned(people: tuple[Database, Path]) -> None:
    found = trial_report(people[0], "people", "person")
    assert found is not None
    flow = found.flows[0]
    assert flow.groups == ("ai", "none")
    counts = {row.words: row.counts for row in flow.rows}
    assert sum(counts["assigned"]) == 5
    assert sum(counts["withdrew, data erased"]) == 1
    for group in (0, 1):
        there = counts["assigned"][group] - counts["withdrew, data erased"][group]
        analysed = counts["analysed as assigned (intention to treat)"][group]
        assert there == analysed + counts["without the outcome"][group]
        assert there - counts["left out: did not complete the study"][group] >= counts["analysed per protocol"][group]
    assert sum(counts["excluded by a researcher for another reason"]) == 1


def test_each_planned_result_has_the_interval_of_its_test(planned: TrialReport) -> None:
    text = part_of(planned).before
    results = {one.hypothesis.id: one for one in planned.results}
    assert {id_: results[id_].level for id_ in ("trusting", "hinted")} == pytest.approx(
        {"trusting": 0.95, "hinted": 0.9}
    )
    for result in results.values():
        ends = format_interval(result.low, result.high, unit_of(result.hypothesis))
        assert f"{ends} ({result.level:.0%})".replace("%)", " %)") in text


def test_what_planned_looks_showed_is_in_the_report(people: tuple[Database, Path]) -> None:
    seen = {"id": "right", "effect": 0.125, "low": -0.25, "high": 0.5, "p": 0.04, "boundary": 0.0031, "crossed": False}
    result = {"blinded": True, "stop": False, "hypotheses": [seen]}
    trial = trial_report(people[0], "people", "person")
    assert trial is not None
    events = replace(trial.events, looks=(RecordedLook(AT_US, 1, "<ada>", "look", "", 2, result),))
    plan = trial.plan.model_copy(update={"looks": Looks(at=(0.5, 1))})
    looked = part_of(replace(trial, events=events, plan=plan))
    effect, interval = format_value(0.125, POINTS), format_interval(-0.25, 0.5, POINTS)
    row = re.findall(r">([^<>]+)</t[hd]>", looked.after.split("What the planned looks showed")[1].split("</table>")[0])
    assert row[7:] == ["1", "right", f"{effect} (A minus B)", interval, "0.040", "0.0031", "go on"]
    assert looked.data["planned_looks"][0]["result"] == result
    made = build_report(people[0], "people", "person", AT_US)
    assert "tested once" in html(made)
    assert "tested once" not in html(replace(made, trial=looked))

"""The rows of a trial's outcomes are those of the tidy tables, and populations follow the plan's rules."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pandas as pd
import pytest

from app.extensions.analysis.public import load
from app.extensions.analysis.tidy_frames import TidyData
from app.extensions.trials.outcomes import TrialData, read_trial
from app.extensions.trials.populations import intention_to_treat, per_protocol
from app.extensions.trials.wording import missing_words
from experiments.study.sections.plan import Hypothesis, Plan
from storage.datasets.exports.session_filter import SessionFilter
from storage.db.engine import Database, open_database
from tests.fakes.databases import busy, fill
from tests.fakes.sessions import study
from tests.fakes.trials import PLAN, trial

PEOPLE = 24


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trial(tmp_path_factory.mktemp("trial"))


@pytest.fixture(scope="module")
def played(path: Path) -> Database:
    database = open_database(f"sqlite:///{path.with_name('parley.db')}")
    asyncio.run(fill(database, [str(path)], PEOPLE, "1"))
    return database


@pytest.fixture(scope="module")
def tidy(played: Database) -> TidyData:
    return load("trial", "bot", database=played)


def planned(path: Path) -> Plan:
    plan = study(str(path)).file.plan
    assert plan is not None
    return plan


@pytest.fixture(scope="module")
def data(path: Path, played: Database) -> TrialData:
    return read_trial(played, "trial", "bot", planned(path))


def hypothesis(path: Path, name: str) -> Hypothesis:
    return next(one for one in planned(path).hypotheses if one.id == name)


def rows(data: TrialData, path: Path, name: str) -> pd.DataFrame:
    one = hypothesis(path, name)
    return data.rows(one, intention_to_treat(data, one.contrast))


def means(frame: pd.DataFrame, group: str) -> dict[str, float]:
    return {str(key): float(value) for key, value in frame.groupby(group)["value"].mean().items()}


def test_the_last_answer_to_each_question_counts_by_the_arm_assigned(
    path: Path, data: TrialData, tidy: TidyData
) -> None:
    found = rows(data, path, "right")
    answers = tidy.answers[(tidy.answers["step"] == "answer") & tidy.answers["path"].str.endswith("/second")]
    joined = answers.merge(tidy.sessions[["session", "arm"]], on="session")
    assert len(found) == len(joined) == PEOPLE * 4
    wanted = joined["correct"].astype(float).groupby(joined["arm"]).mean()
    assert means(found, "arm") == pytest.approx({"treatment": wanted["ai"], "control": wanted["none"]})
    ages = tidy.answers[tidy.answers["question"] == "age"].set_index("session")["number"]
    assert (found["age"].to_numpy() == ages.loc[found["participant"]].to_numpy(dtype=float)).all()
    assert found["question"].nunique() == 4


def test_those_left_out_by_a_rule_are_not_analysed(path: Path, data: TrialData, tidy: TidyData) -> None:
    contrast = hypothesis(path, "right").contrast
    checked = tidy.answers[tidy.answers["question"] == "fine"]
    failed = set(checked.loc[checked["correct"] == 0, "session"])
    assert 0 < len(failed) < PEOPLE
    assert per_protocol(data, contrast) == intention_to_treat(data, contrast) - failed
    assert per_protocol(data, contrast, ()) == intention_to_treat(data, contrast)


def test_withdrawn_data_are_in_no_population_and_those_stopped_on_the_way_in_one(tmp_path: Path) -> None:
    path = trial(tmp_path, "left", {**PLAN, "exclude": ["incomplete", "integrity"]})
    database = open_database(f"sqlite:///{tmp_path / 'parley.db'}")
    asyncio.run(busy(database, str(path)))
    data = read_trial(database, "left", "person", planned(path))
    contrast = hypothesis(path, "right").contrast
    everybody = load("left", "person", database=database, session_filter=SessionFilter(with_excluded=True)).sessions
    assert len(data.sessions) == len(everybody) == 4
    assert data.by_session.keys() == set(everybody["session"])
    assert len(intention_to_treat(data, contrast)) == len(everybody)
    assert [one.excluded for one in data.sessions if one.excluded] == ["a friend of ours"]
    assert len(per_protocol(data, contrast)) == (everybody["outcome"] == "complete").sum()


def test_worst_case_counts_those_without_any_answer_as_all_wrong_and_says_so(
    path: Path, played: Database, tmp_path: Path
) -> None:
    worst = trial(tmp_path, plan={**PLAN, "hypotheses": PLAN["hypotheses"][:1], "missing": "worst-case"})
    data = read_trial(played, "trial", "bot", planned(worst))
    one = planned(worst).hypotheses[0]
    first, second = (session.session for session in data.sessions[:2])
    kept = [v for v in data.values["correct"] if v.session != first and (v.session != second or "q0" in v.question)]
    found = TrialData(data.plan, data.sessions, {"correct": tuple(kept)}).rows(one, data.by_session)
    assert len(found) == PEOPLE
    values = found.set_index("participant")["value"]
    assert values[first] == 0
    assert values[second] == [v.value for v in kept if v.session == second][-1]
    assert "question" not in found
    assert "without any answer" in missing_words(data.plan)

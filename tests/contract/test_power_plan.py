"""What `parley trial power` simulates follows from the study: arms, answers, alpha, a pilot or release."""

from __future__ import annotations

import asyncio
from pathlib import Path
from statistics import median

import pandas as pd
import pytest

from app.analysis.trial.outcomes import TrialData, read_trial
from app.analysis.trial.planned_design import chosen_hypotheses, contrast_of, plan_of, planned_design, wanted_effect
from app.analysis.trial.power_plan import Pilot, PowerOptions, plan_power, release, trial_rows
from app.analysis.trial.variance import observe
from app.errors import TrialError
from experiments.study.study import Study
from storage.db.engine import Database, open_database
from tests.fakes.databases import fill
from tests.fakes.sessions import study
from tests.fakes.trials import PLAN, trial

FLAGS = {"baseline": 0.6, "icc_participant": 0.1, "icc_question": 0.05, "dropout": 0.1, "covariate_r2": 0.04}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("power")
    plan = PLAN | {"looks": {"at": [0.5, 1]}}
    return study(str(trial(folder, plan=plan, factors={"arm": {"ai": 2, "none": 1, "other": 1}})))


@pytest.fixture(scope="module")
def data(made: Study, tmp_path_factory: pytest.TempPathFactory) -> TrialData:
    folder = tmp_path_factory.mktemp("played")
    path = trial(folder)
    database = open_database(f"sqlite:///{folder}/parley.db")
    asyncio.run(fill(database, [str(path)], 24, "s"))
    return read_trial(database, "trial", "bot", plan_of(made))


def test_the_design_is_the_studys(made: Study, data: TrialData) -> None:
    plan = plan_of(made)
    right, _, later, hinted = plan.hypotheses
    design = planned_design(made, right, trial_rows(data, right))
    assert (design.contrast, design.treated, design.compared) == ("between", 2 / 3, 0.75)
    assert (design.answers, design.questions, design.direction) == (4, 4, "greater")
    assert design.alpha == 0.025  # with looks, the two primary hypotheses share alpha
    assert design.looks == plan.looks
    assert [contrast_of(made, one) for one in (later, hinted)] == ["paired", "within"]
    assert planned_design(made, hinted, trial_rows(data, hinted)).alpha == 0.025  # Holm's first step of two in a family
    moments = planned_design(made, later, trial_rows(data, later))
    assert (moments.contrast, moments.answers, moments.treated, moments.looks) == ("paired", 4, 0.5, None)
    assert planned_design(made, hinted, trial_rows(data, hinted)).margin == 0.3


def test_with_looks_a_secondary_hypothesis_is_corrected_for_the_secondary_ones_alone(
    data: TrialData, tmp_path: Path
) -> None:
    hypotheses = [{**one, "family": "main"} for one in PLAN["hypotheses"]]
    found = study(str(trial(tmp_path, plan=PLAN | {"hypotheses": hypotheses, "looks": {"at": [0.5, 1]}})))
    hinted = plan_of(found).hypotheses[3]
    assert planned_design(found, hinted, trial_rows(data, hinted)).alpha == 0.05 / 2


def test_the_grid_has_the_null_the_smallest_effect_and_the_planned_number(made: Study, data: TrialData) -> None:
    plan = plan_of(made)
    right = plan.hypotheses[0]
    found = plan_power(made, plan, right, data, Pilot(), PowerOptions(FLAGS, runs=20, seed=3))
    assert found.effects == pytest.approx((0.0, 0.05, 0.075))
    assert {point.participants for point in found.grid} >= {40}
    assert (found.assumed.sd, found.assumed.dropout) == (None, 0.1)
    asked = PowerOptions(FLAGS, answers=2, questions=9, participants=(100,), effects=(0.2,))
    chosen = plan_power(made, plan, right, data, Pilot(), asked)
    assert {(point.participants, point.effect) for point in chosen.grid} == {
        (40, 0.0), (100, 0.0), (40, 0.2), (100, 0.2),
    }  # fmt: skip
    assert (chosen.design.answers, chosen.design.questions) == (2, 9)


def test_assumptions_are_the_pilots_where_no_option_says_otherwise(made: Study, data: TrialData) -> None:
    plan = plan_of(made)
    right = plan.hypotheses[0]
    found = plan_power(made, plan, right, data, Pilot(data), PowerOptions({"icc_question": 0.2}, participants=(50,)))
    seen = observe(trial_rows(data, right))
    assert (found.assumed.baseline, found.assumed.icc_participant) == (seen.baseline, seen.icc_participant)
    assert found.assumed.icc_question == 0.2
    assert Pilot(data).minutes == pytest.approx(median(one.seconds for one in data.sessions if one.complete) / 60)
    assert Pilot().minutes is None


def test_assumptions_that_nobody_gave_are_asked_for(made: Study, data: TrialData) -> None:
    plan = plan_of(made)
    with pytest.raises(TrialError, match=r"baseline=.*icc_participant=.*icc_question="):
        plan_power(made, plan, plan.hypotheses[0], data, Pilot(), PowerOptions())
    with pytest.raises(TrialError, match="sd="):
        plan_power(made, plan, plan.hypotheses[1], data, Pilot(), PowerOptions(FLAGS))
    with pytest.raises(TrialError, match="smallest_effect"):
        plan_power(made, plan, plan.hypotheses[1], data, Pilot(), PowerOptions({**FLAGS, "sd": 1.0}))


def test_hypotheses_are_the_primary_ones_or_those_that_are_named(made: Study) -> None:
    plan = plan_of(made)
    assert [one.id for one in chosen_hypotheses(plan, ())] == ["right", "trusting"]
    assert [one.id for one in chosen_hypotheses(plan, ("hinted",))] == ["hinted"]
    assert [wanted_effect(one) for one in plan.hypotheses] == [0.05, None, None, 0.0]
    with pytest.raises(TrialError, match="right, trusting"):
        chosen_hypotheses(plan, ("rihgt",))
    with pytest.raises(TrialError, match="no `plan:`"):
        plan_of(study("demo"))


def test_a_release_of_chatbench_has_both_arms(published: Database) -> None:
    rows = release(published, "published")
    assert list(rows) == ["participant", "arm", "question", "value"]
    assert set(rows["arm"]) == {"treatment", "control"}
    with pytest.raises(TrialError, match="no imported"):
        release(published, "chatbench")


def test_a_release_has_no_other_outcome(made: Study) -> None:
    with pytest.raises(TrialError, match=r"no `survey\.trust`"):
        Pilot(release=pd.DataFrame()).observed(plan_of(made).hypotheses[1])


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Database:
    """A release that was exported of simulated people, and imported again."""
    from tests.fakes.commanding import parley

    folder = tmp_path_factory.mktemp("published")
    for words in (
        ("simulate", "chatbench", "-n", "3"),
        ("export", "chatbench", "--schema", "chatbench", "-o", f"{folder}/release"),
        ("import", "chatbench", f"{folder}/release", "--study", "published"),
    ):
        done = parley(*words, folder=folder)
        assert done.returncode == 0, done.stderr
    return open_database(f"sqlite:///{folder}/parley.db")

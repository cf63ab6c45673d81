"""What `parley trial power` simulates follows from the study: arms, answers, alpha, or a pilot."""

from __future__ import annotations

import asyncio

import pytest

from app.extensions.trials.outcomes import TrialData, read_trial
from app.extensions.trials.power_plan import (
    PowerOptions,
    contrast_of,
    observe,
    plan_of,
    plan_power,
    planned_design,
    trial_rows,
)
from experiments.study.study import Study
from storage.db.engine import open_database
from tests.fakes.databases import fill
from tests.fakes.sessions import study
from tests.fakes.trials import PLAN, trial

FLAGS = {"baseline": 0.6, "icc_participant": 0.1, "icc_question": 0.05, "dropout": 0.1}


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


def test_the_grid_has_the_null_the_smallest_effect_and_the_planned_number(made: Study, data: TrialData) -> None:
    plan = plan_of(made)
    right = plan.hypotheses[0]
    found = plan_power(made, plan, right, data, None, PowerOptions(FLAGS, runs=20, seed=3))
    assert found.effects == pytest.approx((0.0, 0.05, 0.075))
    assert {point.participants for point in found.grid} >= {40}
    assert (found.assumed.sd, found.assumed.dropout) == (None, 0.1)
    asked = PowerOptions(FLAGS, answers=2, questions=9, participants=(100,), effects=(0.2,))
    chosen = plan_power(made, plan, right, data, None, asked)
    assert {(point.participants, point.effect) for point in chosen.grid} == {
        (40, 0.0), (100, 0.0), (40, 0.2), (100, 0.2),
    }  # fmt: skip
    assert (chosen.design.answers, chosen.design.questions) == (2, 9)


def test_assumptions_are_the_pilots_where_no_option_says_otherwise(made: Study, data: TrialData) -> None:
    plan = plan_of(made)
    right = plan.hypotheses[0]
    found = plan_power(made, plan, right, data, data, PowerOptions({"icc_question": 0.2}, participants=(50,)))
    seen = observe(trial_rows(data, right))
    assert (found.assumed.baseline, found.assumed.icc_participant) == (seen["baseline"], seen["icc_participant"])
    assert found.assumed.icc_question == 0.2

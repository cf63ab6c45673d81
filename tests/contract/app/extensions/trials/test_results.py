"""The results of a trial: estimates and corrections equal independent ones, and a decision claims what was shown."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats
from statsmodels.regression.linear_model import OLS

from app.extensions.analysis.intervals import codes
from app.extensions.analysis.report import wording
from app.extensions.analysis.report.data_formats import figure
from app.extensions.trials.outcomes import TrialData, TrialSession, TrialValue, read_trial
from app.extensions.trials.populations import intention_to_treat, per_protocol
from app.extensions.trials.reads.plan_events import RecordedLook
from app.extensions.trials.results import HypothesisResult, trial_results
from experiments.study.sections.plan import Hypothesis, Plan, PlannedContrast
from storage.db.engine import open_database
from tests.fakes.clustered import by_definition
from tests.fakes.databases import fill
from tests.fakes.sessions import study
from tests.fakes.trials import trial

CONTRAST = PlannedContrast(factor="arm", treatment="ai", control="none")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrialData:
    path = trial(tmp_path_factory.mktemp("trial"))
    database = open_database(f"sqlite:///{path.with_name('parley.db')}")
    asyncio.run(fill(database, [str(path)], 24, "s"))
    plan = study(str(path)).file.plan
    assert plan is not None
    return read_trial(database, "trial", "bot", plan)


@pytest.fixture(scope="module")
def results(data: TrialData) -> dict[str, HypothesisResult]:
    return {one.hypothesis.id: one for one in trial_results(data)}


def test_estimate_and_p_are_those_of_statsmodels(data: TrialData, results: dict[str, HypothesisResult]) -> None:
    for name, formula in (("right", "value ~ treated + age + C(question)"), ("trusting", "value ~ treated + age")):
        result = results[name]
        rows = data.rows(result.hypothesis, data.by_session).assign(treated=lambda r: (r["arm"] == "treatment") * 1.0)
        model = OLS.from_formula(formula, rows)
        at, people = model.exog_names.index("treated"), codes(rows["participant"])
        _, variance, df = by_definition(model.endog, model.exog[:, at], people, np.delete(model.exog, at, axis=1))
        assert result.found is not None
        assert result.found.estimate == pytest.approx(model.fit().params["treated"], abs=1e-9)
        assert result.found.standard_error**2 == pytest.approx(variance, rel=1e-9)
        t = result.found.estimate / variance**0.5
        assert result.p == pytest.approx(stats.t.sf(t, df) if name == "right" else 2 * stats.t.sf(abs(t), df), rel=1e-9)


def made(
    effect: float, people: int = 60, *, excluded: str | None = None, outcome: str = "survey.x", seed: str = "a"
) -> tuple[tuple[TrialSession, ...], tuple[TrialValue, ...]]:
    """Sessions of two arms with values around 0 and `effect`."""
    chance = random.Random(seed)
    sessions, values = [], []
    for number in range(people):
        arm = ("ai", "none")[number % 2]
        why = excluded if number == 0 else None
        sessions.append(TrialSession(f"s{number}", {"arm": arm}, frozenset(), "complete", 60, why, False, True))
        value = chance.gauss(effect if arm == "ai" else 0, 1)
        values.append(TrialValue(f"s{number}", "end", {}, "", 1, value))
    return tuple(sessions), tuple(values)


def planned(*hypotheses: Hypothesis, **keys: object) -> Plan:
    return Plan.model_validate({"hypotheses": hypotheses, "participants": 60, **keys})


def one(direction: str = "greater", **keys: object) -> Hypothesis:
    known = {"id": "h", "claim": "It helps.", "outcome": "survey.x", "contrast": CONTRAST, "direction": direction}
    return Hypothesis.model_validate(known | keys)


def result_of(
    effect: float, hypothesis: Hypothesis, looks_taken: tuple[RecordedLook, ...] = (), **keys: object
) -> HypothesisResult:
    sessions, values = made(effect)
    return trial_results(TrialData(planned(hypothesis, **keys), sessions, {"survey.x": values}), looks_taken)[0]


def test_sessions_whose_replies_left_their_arm_are_in_intention_to_treat_alone() -> None:
    every, _ = made(1)
    sessions = (replace(every[0], adherence=0.5), replace(every[1], outcome="off_protocol"), *every[2:])
    data = TrialData(planned(one(), exclude=["off_protocol"], least_adherence=0.8), sessions, {})
    assert len(intention_to_treat(data, CONTRAST)) == 60
    assert per_protocol(data, CONTRAST) == {session.session for session in every[2:]}
    with pytest.raises(ValidationError, match="least_adherence"):
        planned(one(), exclude=["off_protocol"])


@pytest.mark.parametrize(
    ("effect", "hypothesis", "confirmed"),
    [
        (1, one(), True),
        (0, one(), False),
        (-1, one(), False),
        (-1, one("less"), True),
        (-1, one("different"), True),
        (0, one("equivalent", margin=1), True),
        (0, one("equivalent", margin=0.05), False),
        (0, one("not_worse", margin=1), True),
        (-1, one("not_worse", margin=0.2), False),
    ],
)
def test_a_claim_is_confirmed_only_where_the_test_shows_it(
    effect: float, hypothesis: Hypothesis, confirmed: bool
) -> None:
    found = result_of(effect, hypothesis)
    assert found.confirmed is confirmed
    assert found.decision.startswith("The data show") is confirmed
    assert ("This is no evidence" in found.decision) is not confirmed


@pytest.mark.parametrize("effect", [-0.9, -0.45, 0.0, 0.4, 0.45, 0.5, 0.9])
@pytest.mark.parametrize("direction", ["greater", "less", "different"])
def test_the_interval_beside_p_is_that_of_its_test_everywhere(effect: float, direction: str) -> None:
    found = result_of(effect, one(direction))
    assert found.finding is not None
    first, *others = found.finding.estimates
    assert (first.low, first.high, first.level) == (found.low, found.high, found.level)
    assert first.level == pytest.approx(0.95 if direction == "different" else 0.9)
    assert {each.level for each in others} == {first.level}
    assert figure(found.finding, first)["level"] == first.level
    beyond_0 = first.high < 0 if direction == "less" else first.low > 0
    assert (found.p <= 0.05) == (beyond_0 or (direction == "different" and first.high < 0))
    assert first.further["sides"] == (2 if direction == "different" else 1)
    assert (
        ("one-sided" in first.sentence) == ("one-sided" in wording.tested(found.finding)) == (direction != "different")
    )


def test_the_smallest_effect_is_not_claimed_where_p_is_corrected_and_the_interval_is_not() -> None:
    sessions, values = made(3)
    plan = planned(one(smallest_effect=0.8), one(id="other"))
    first, _ = trial_results(TrialData(plan, sessions, {"survey.x": values}))
    assert first.confirmed
    assert "at least" not in first.decision

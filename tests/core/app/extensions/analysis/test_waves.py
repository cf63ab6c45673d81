"""Attrition, growth and bounds find what was planted, and are those of SciPy and of their definitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from app.extensions.analysis.base import IN_FILE
from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.intervals import Values
from app.extensions.analysis.waves import (
    GrowthModel,
    attrition,
    growth,
    growth_model,
    lee_bounds,
    sensitivity,
)
from experiments.study.fields import Scale
from tests.fakes.figures import named

WAVES = 4
TRUST = Scale(type="scale", name="trust", text="I trust it.", options=[str(n) for n in range(1, 8)])
NO_SCORES = pd.DataFrame(
    [], columns=["path", "instrument", "title", "score", "score_title", "value", SESSION], dtype="object"
)


def study(
    people: int, lost: Sequence[float], slopes: Sequence[float], seed: int = 1, sd: float = 0.3
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The waves and answers of participants in arms a, b, ..., lost with a probability of their arm before each later
    wave, and whose answers grow with its slope."""
    chance = np.random.default_rng(seed)
    waves, answers = [], []
    for person in range(people):
        arm = person % len(slopes)
        stays = np.cumsum(chance.random(WAVES - 1) < lost[arm]) == 0
        start, slope = chance.normal(3, 0.5), chance.normal(slopes[arm], sd)
        for wave in range(WAVES):
            done = wave == 0 or bool(stays[wave - 1])
            waves.append((f"w{wave}", wave, "done" if done else "missed", {"arm": "abc"[arm]}, f"p{person}"))
            if done:
                value = start + slope * wave + chance.normal(0, 0.5)
                answers.append((f"w{wave}/talk/ask", TRUST, value, f"p{person}"))
    columns = ["path", "field", "value", SESSION]
    return pd.DataFrame(waves, columns=["wave", "number", "state", "arms", SESSION]), pd.DataFrame(
        answers, columns=columns, dtype="object"
    )


def test_attrition_is_the_share_that_did_not_complete_a_wave_and_its_difference_is_found() -> None:
    waves, _ = study(200, [0.05, 0.25], [0, 0])
    waves.loc[waves[SESSION] == "p1", "state"] = ["done", "missed", "pending", "pending"]
    found = named(attrition(waves))
    last = waves[(waves["number"] == 3) & (waves["state"] != "pending")]
    by_arm = last.assign(arm=[one["arm"] for one in last["arms"]], gone=last["state"] != "done").groupby("arm")["gone"]
    for arm, share in by_arm.mean().items():
        assert found[f"waves.attrition.w3.arm.{arm}"].value == share
    assert found["waves.attrition.w3"].n == 199
    assert not [name for name in found if ".w0" in name]
    assert found["waves.attrition_test.arm"].further["p"] == 1 / 2000
    alike, _ = study(200, [0.15, 0.15], [0, 0])
    assert named(attrition(alike))["waves.attrition_test.arm"].further["p"] > 0.05


def model(arms: Values, outcomes: Values) -> GrowthModel | str:
    """The model of complete data: a row for each participant, a column for each wave."""
    people = np.repeat(np.arange(len(outcomes)), outcomes.shape[1])
    waves = np.tile(np.arange(float(outcomes.shape[1])), len(outcomes))
    return growth_model(people, arms[people], waves, outcomes.ravel())


def outcomes_of(chance: np.random.Generator, size: int, slope: float) -> tuple[Values, Values]:
    arms = np.arange(size) % 2
    slopes = chance.normal(0.1, 0.4, size) + slope * arms
    return arms, chance.normal(0, 1, (size, 1)) + slopes[:, None] * np.arange(WAVES) + chance.normal(
        0, 1, (size, WAVES)
    )


def test_where_nobody_misses_a_wave_growth_is_the_t_test_of_own_slopes() -> None:
    arms, outcomes = outcomes_of(np.random.default_rng(4), 60, 0.3)
    found = model(arms, outcomes)
    assert isinstance(found, GrowthModel)
    own = np.polyfit(np.arange(WAVES), outcomes.T, 1)[0]
    test = stats.ttest_ind(own[arms == 1], own[arms == 0])
    difference, p = found.contrast(np.array([-1.0, 1.0]))
    assert p == pytest.approx(test.pvalue, rel=1e-3)
    assert (difference.low, difference.high) == pytest.approx(tuple(test.confidence_interval()), rel=1e-3)
    assert found.slopes == pytest.approx([own[arms == 0].mean(), own[arms == 1].mean()], rel=1e-4)


@pytest.mark.nightly
def test_a_difference_of_slopes_that_is_not_there_is_rarely_found(soak: bool) -> None:
    chance, studies = np.random.default_rng(8), 1_500 if soak else 60
    found = [model(*outcomes_of(chance, 16, 0)) for _ in range(studies)]
    fitted = [one.contrast(np.array([-1.0, 1.0]))[1] for one in found if isinstance(one, GrowthModel)]
    assert len(fitted) > 0.9 * studies
    assert stats.binomtest(sum(p <= 0.05 for p in fitted), len(fitted), 0.05, alternative="greater").pvalue > 0.001


def test_planted_growth_is_found_in_spite_of_attrition() -> None:
    waves, answers = study(240, [0.05, 0.25], [0.0, 0.4])
    found = named(growth(waves, answers, NO_SCORES))
    a, b = found["waves.growth.trust.arm.a"], found["waves.growth.trust.arm.b"]
    difference = found["waves.growth_difference.trust.arm.b.a"]
    assert (a.low or 0) < 0 < (a.high or 0)
    assert (b.low or 0) < 0.4 < (b.high or 0)
    assert difference.value == pytest.approx(b.value - a.value)
    assert difference.further["p"] < 0.001
    assert (difference.n, difference.participants) == (len(answers), 240)


def test_arms_are_compared_with_the_first_of_the_file_whoever_came_first() -> None:
    waves, answers = study(120, [0.1, 0.1], [0.0, 0.4])
    waves.attrs = {IN_FILE: {"arm": ("c", "b", "a")}}
    found = named((*growth(waves, answers, NO_SCORES), *sensitivity(waves, answers, NO_SCORES)))
    assert found["waves.growth_difference.trust.arm.a.b"].value < 0
    assert found["waves.bounds.trust.observed.arm.a.b"].value < 0
    assert not [name for name in found if name.endswith(".b.a")]


def test_what_cannot_be_fitted_is_said_and_has_no_figures() -> None:
    waves, answers = study(40, [0, 0], [0, 0])
    (finding,) = growth(waves, answers.assign(value=4), NO_SCORES)
    assert finding.estimates == ()
    assert finding.note
    (other,) = growth(waves, answers[answers[SESSION] == "p0"], NO_SCORES)
    assert other.estimates == ()
    assert growth(waves, answers[answers["path"].str.startswith("w1")], NO_SCORES) == ()


def test_lees_bounds_are_those_of_every_choice_of_whom_to_cut() -> None:
    one, other = np.array([1.0, 5, 2, 7, 3, np.nan]), np.array([4.0, 6, 1, np.nan, np.nan, np.nan])
    kept = [np.mean(some) for some in combinations([1.0, 5, 2, 7, 3], 3)]
    assert lee_bounds(one, other) == pytest.approx((min(kept) - 11 / 3, max(kept) - 11 / 3))
    assert lee_bounds(other, one) == pytest.approx((11 / 3 - max(kept), 11 / 3 - min(kept)))
    same = np.array([1.0, np.nan])
    assert lee_bounds(same, same) == (0, 0)
    assert np.isnan(lee_bounds(one, np.array([np.nan]))).all()


def test_missing_data_are_bounded_in_the_last_wave() -> None:
    waves, answers = study(300, [0.02, 0.2], [0.0, 0.5])
    found = named(sensitivity(waves, answers, NO_SCORES))
    by = {name.split(".")[3]: one for name, one in found.items()}
    order = [by[kind].value for kind in ("lower", "observed", "upper")]
    assert order == sorted(order)
    assert all(one.low is not None and one.high is not None and one.low < one.value < one.high for one in by.values())
    assert by["observed"].further["missing"] == sum(waves[waves["number"] == 3]["state"] != "done")
    assert sensitivity(*study(60, [0, 0], [0, 0]), NO_SCORES) == ()

"""Simulated trials and power: against closed forms, within Monte Carlo error, and the same whatever the workers."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from statsmodels.stats.power import TTestIndPower

from app.errors import TrialError
from app.extensions.trials import simulation
from app.extensions.trials.power import GridPoint, PowerPoint, null_effect, run_grid, run_point
from app.extensions.trials.simulation import Assumptions, Design, monitor_of, observed_correlation, simulate
from experiments.study.sections.plan import Looks

SCORES = Assumptions(baseline=3.0, sd=2.0)
PLAIN = Design("between", "different", 0.05)


def point(
    design: Design, assumptions: Assumptions, participants: int, effect: float, runs: int = 800, seed: int = 1
) -> PowerPoint:
    return run_point(GridPoint(design, assumptions, participants, effect, runs, seed))


def near(found: PowerPoint, power: float, slack: float = 0.0) -> bool:
    return abs(found.power - power) <= 4 * sqrt(power * (1 - power) / found.runs) + slack


@pytest.mark.parametrize(("participants", "d"), [(40, 0.5), (128, 0.5), (128, 0.3)])
def test_without_clusters_it_is_the_power_of_the_t_test(participants: int, d: float) -> None:
    theirs = TTestIndPower().power(effect_size=d, nobs1=participants // 2, alpha=0.05)
    assert near(point(PLAIN, SCORES, participants, 2.0 * d), theirs)


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
def test_looks_keep_alpha_under_the_null(spending: str) -> None:
    looks = Looks(at=(0.25, 0.5, 0.75, 1.0), spending=spending)  # type: ignore[arg-type]
    design = replace(PLAIN, looks=looks, answers=3, questions=6)
    assumed = Assumptions(0.6, None, 0.15, 0.1, 0.1)
    assert near(point(design, assumed, 120, 0.0, runs=600), 0.05)


@pytest.mark.parametrize("contrast", ["between", "paired"])
def test_nothing_is_shown_with_fewer_than_eight_in_a_group(contrast: simulation.Contrast) -> None:
    design = replace(PLAIN, contrast=contrast, looks=Looks(at=(0.5, 1.0), spending="pocock"))
    enough = 16 if contrast == "between" else 8
    random, sure = np.random.default_rng(1), 20.0
    assert not simulate(random, SCORES, design, enough - 1, sure, monitor_of(design, enough - 1)).rejected
    for people, stops in ((enough, enough), (2 * enough - 2, 2 * enough - 2), (2 * enough, enough)):
        end = simulate(random, SCORES, design, people, sure, monitor_of(design, people))
        assert (end.rejected, end.participants) == (True, stops)


def test_confidence_sequences_keep_alpha_under_the_null_and_cost_power() -> None:
    every = Looks(at=tuple(k / 10 for k in range(1, 11)), spending="always-valid")
    found = point(replace(PLAIN, looks=every), SCORES, 200, 0.0, runs=500)
    assert found.power <= 0.05 + 4 * sqrt(0.05 * 0.95 / 500)
    with_effect = point(replace(PLAIN, looks=every), SCORES, 200, 1.0, runs=300)
    fixed = TTestIndPower().power(effect_size=0.5, nobs1=100, alpha=0.05)
    assert with_effect.power < fixed
    assert with_effect.mean_participants < 200


def test_equivalence_and_non_inferiority_have_their_null_at_the_margin() -> None:
    near_null = replace(PLAIN, direction="equivalent", margin=1.0)
    assert null_effect(near_null) == 1.0
    assert near(point(near_null, SCORES, 200, 1.0), 0.05)
    worse = replace(PLAIN, direction="not_worse", margin=1.0)
    assert near(point(worse, SCORES, 100, null_effect(worse)), 0.05)
    theirs = TTestIndPower().power(effect_size=0.5, nobs1=50, alpha=0.05, alternative="larger")
    assert near(point(worse, SCORES, 100, 0.0), theirs)


@pytest.mark.parametrize(("latent", "share"), [(0.0, 0.3), (0.4, 0.5), (0.7, 0.9), (0.99, 0.2)])
def test_the_correlation_of_yes_no_answers_is_that_of_the_bivariate_normal(latent: float, share: float) -> None:
    c = norm.ppf(share)
    both = multivariate_normal(cov=[[1, latent], [latent, 1]]).cdf([c, c])
    assert observed_correlation(latent, share) == pytest.approx((both - share**2) / (share * (1 - share)), abs=1e-7)
    # of two medians: (2/pi) asin(r), Sheppard 1899
    assert observed_correlation(latent, 0.5) == pytest.approx(2 / np.pi * np.arcsin(latent), abs=1e-9)


POINTS = [GridPoint(PLAIN, SCORES, n, effect, 20, 7) for n in (20, 40) for effect in (0.0, 1.0)]


def test_results_do_not_depend_on_the_number_of_workers() -> None:
    assert run_grid(POINTS, workers=2) == run_grid(POINTS) == tuple(run_point(one) for one in POINTS)
    assert run_grid([replace(one, seed=8) for one in POINTS]) != run_grid(POINTS)


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"baseline": 1.2}, "between 0 and 1"),
        ({"baseline": 3.0, "sd": 0.0}, "deviation"),
        ({"baseline": 0.5, "icc_participant": 0.7, "icc_question": 0.4}, "less than 1 together"),
        ({"baseline": 0.5, "dropout": 1.0}, "drop out"),
    ],
)
def test_impossible_assumptions_are_refused(wrong: dict[str, float], part: str) -> None:
    with pytest.raises(TrialError, match=part):
        Assumptions(**wrong)

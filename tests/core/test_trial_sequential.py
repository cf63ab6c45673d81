"""Boundaries of looks against published tables, and confidence sequences against their formula and by simulation."""

from __future__ import annotations

from math import inf, log, sqrt
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import multivariate_normal

from app.analysis.intervals import student
from app.analysis.trial.estimator import difference
from app.analysis.trial.sequential import (
    boundaries,
    confidence_sequence,
    crossing,
    monitor,
    repeated_interval,
    sequence_width,
)
from app.errors import TrialError
from experiments.study.sections.plan import Looks

FIVE = (0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.mark.parametrize(
    ("spending", "published"),
    [
        # Two-sided 0.05, five equal looks: the program of Reboussin, DeMets, Kim and Lan, as the R package ldbounds
        ("obrien-fleming", (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)),
        ("pocock", (2.4380, 2.4268, 2.4101, 2.3966, 2.3859)),
    ],
)
def test_spending_boundaries_are_the_published_ones(spending: str, published: tuple[float, ...]) -> None:
    found = boundaries(FIVE, 0.05, spending)  # type: ignore[arg-type]
    assert found.critical == pytest.approx(published, abs=1.5e-4)  # their quadrature is a trapezoid's
    assert sum(crossing(found.critical, FIVE)) == pytest.approx(0.05, abs=1e-9)


def test_one_sided_boundaries_are_those_of_another_program() -> None:
    found = boundaries([0.25, 0.5, 0.75, 1.0], 0.05, "obrien-fleming", sides=1)  # the README of PharmCat/SeqBounds.jl
    assert found.critical == pytest.approx((3.74955, 2.53993, 2.01604, 1.72014), abs=1.5e-4)
    assert found.spent == pytest.approx((8.85754e-5, 0.0055746, 0.0236251, 0.05), abs=1e-7)


@pytest.mark.parametrize(("constant", "looks"), [(2.413, 5), (2.178, 2), (2.289, 3)])
def test_pococks_classical_constants_spend_alpha(constant: float, looks: int) -> None:
    times = [(k + 1) / looks for k in range(looks)]  # Jennison and Turnbull (2000), table 2.1
    assert sum(crossing([constant] * looks, times)) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize(("constant", "looks"), [(2.040, 5), (1.977, 2), (2.004, 3)])
def test_obrien_and_flemings_classical_constants_spend_alpha(constant: float, looks: int) -> None:
    times = [(k + 1) / looks for k in range(looks)]  # Jennison and Turnbull (2000), table 2.3
    assert sum(crossing([constant / sqrt(t) for t in times], times)) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
def test_the_integration_is_that_of_the_multivariate_normal(spending: str) -> None:
    times = np.array([0.3, 0.6, 1.0])
    bounds = np.array(boundaries(times, 0.05, spending).critical)  # type: ignore[arg-type]
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    inside = multivariate_normal(cov=correlation, maxpts=2_000_000, abseps=1e-8).cdf(bounds, lower_limit=-bounds)
    assert 1 - inside == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("near", [1e-2, 1e-3, 1e-4, 1e-6])
def test_two_looks_may_be_as_near_as_one_participant(sides: int, near: float) -> None:
    found = boundaries((0.5, 0.5 + near, 1), 0.05, sides=sides)  # type: ignore[arg-type]
    once = boundaries((0.5, 1), 0.05, sides=sides)  # type: ignore[arg-type]
    assert all(0 < nominal < 0.05 for nominal in found.nominal)
    assert found.nominal[-1] == pytest.approx(once.nominal[-1], rel=0.005)
    times = np.array(found.fractions)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    bounds, lower = np.array(found.critical), [-inf] * 3 if sides == 1 else -np.array(found.critical)
    inside = multivariate_normal(cov=correlation, maxpts=200_000, allow_singular=True).cdf(bounds, lower_limit=lower)
    assert 1 - inside == pytest.approx(0.05, abs=5e-4)


def test_one_look_is_the_usual_test() -> None:
    for sides, z in ((2, 1.959964), (1, 1.644854)):
        found = boundaries([1], 0.05, sides=sides)  # type: ignore[arg-type]
        assert (found.critical[0], found.nominal[0]) == pytest.approx((z, 0.05), abs=1e-6)
    power = sum(crossing([1.959964], [1.0], drift=2.8))
    normal = NormalDist()
    assert power == pytest.approx(normal.cdf(2.8 - 1.959964) + normal.cdf(-2.8 - 1.959964), abs=1e-9)


def test_probabilities_to_cross_are_those_of_simulated_motion() -> None:
    rng = np.random.default_rng(1)
    times = np.array([0.3, 0.7, 1.0])
    steps = rng.normal(np.diff(times, prepend=0) * 2, np.sqrt(np.diff(times, prepend=0)), (40_000, 3))
    z = steps.cumsum(axis=1) / np.sqrt(times)
    bounds = boundaries(times, 0.025, "pocock", sides=1)
    hit = z >= np.array(bounds.critical)
    first = np.where(hit.any(axis=1), hit.argmax(axis=1), 3)
    simulated = [np.mean(first == k) for k in range(3)]
    assert crossing(bounds.critical, times, 2.0, sides=1) == pytest.approx(simulated, abs=0.01)


def test_looks_too_early_to_spend_anything_cannot_cross() -> None:
    found = boundaries([0.001, 1], 0.05)
    assert (found.critical[0], found.nominal[0]) == (inf, 0.0)
    assert not found.crossed(1e-9, 0)
    assert found.critical[1] == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize("fractions", [(), (0.5,), (0.5, 0.4, 1.0), (0.0, 1.0)])
def test_fractions_that_do_not_rise_to_one_are_refused(fractions: tuple[float, ...]) -> None:
    with pytest.raises(TrialError, match="rise"):
        boundaries(fractions)


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame({
        "participant": range(n),
        "arm": ["treatment", "control"] * (n // 2),
        "value": np.random.default_rng(seed).normal(size=n),
    })  # fmt: skip


def test_a_repeated_interval_excludes_zero_where_the_look_crosses() -> None:
    bounds = boundaries([0.5, 1.0], 0.05, "pocock")
    for seed in range(60):
        found = difference(frame(20, seed))
        low, high = repeated_interval(found, bounds, 0)
        assert (low > 0 or high < 0) == bounds.crossed(found.p, 0)
    assert high - low == pytest.approx(2 * student(18, 1 - bounds.nominal[0]) * found.standard_error, abs=1e-9)


def test_a_confidence_sequence_is_the_papers_formula() -> None:
    found = difference(frame(40))
    r2 = (-2 * log(0.05) + log(-2 * log(0.05) + 1)) / 100
    t = 40
    width = sqrt(t) * sqrt(2 * (t * r2 + 1) / (t**2 * r2) * log(sqrt(t * r2 + 1) / 0.05))
    half = stats.t.isf(stats.norm.sf(width), found.df) * found.standard_error  # theirs is that of many participants
    assert confidence_sequence(found, t, 100) == pytest.approx((found.estimate - half, found.estimate + half), abs=1e-9)


def test_a_confidence_sequence_can_begin_with_very_few_of_the_participants() -> None:
    found = difference(frame(40))
    assert confidence_sequence(found, 1, 1_000)[1] > 1_000
    assert confidence_sequence(found, 1, 100_000) == (-inf, inf)


def test_a_monitor_judges_by_the_plans_looks() -> None:
    found = difference(frame(40))
    usual = monitor(None, 0.05, 1)
    assert usual.interval(found, 0) == pytest.approx(found.interval(0.9), abs=1e-9)
    looks = Looks(at=(0.5, 1.0), spending="pocock")
    bounds = boundaries((0.5, 1.0), 0.05, "pocock")
    assert monitor(looks, 0.05).interval(found, 0) == repeated_interval(found, bounds, 0)
    always = monitor(Looks(at=(0.5, 1.0), spending="always-valid"), 0.05)
    assert always.interval(found, 0) == pytest.approx(confidence_sequence(found, 40, 80), abs=1e-12)
    assert always.interval(found, 0, 0.7) == pytest.approx(confidence_sequence(found, 70, 100), abs=1e-12)


def test_a_confidence_sequence_is_narrowest_where_it_was_planned() -> None:
    widths = {t: sequence_width(t / 100) / sqrt(t) for t in range(20, 400)}
    here = sequence_width(1.0) / 10
    other = min(sqrt(2 * (m + 1) / m * log(sqrt(m + 1) / 0.05)) / 10 for m in np.arange(1, 30, 0.01))
    assert here == pytest.approx(other, rel=1e-3)
    assert widths[100] < widths[50]  # it goes on to narrow


def test_a_confidence_sequence_holds_at_all_times_together() -> None:
    rng = np.random.default_rng(4)
    paths = rng.normal(size=(1_000, 2_000)).cumsum(axis=1)
    times = np.arange(20, 2_001)
    widths = np.array([sequence_width(t / 500) for t in times])
    missed = (np.abs(paths[:, 19:]) / np.sqrt(times) > widths).any(axis=1).mean()
    assert missed <= 0.05 + 3 * sqrt(0.05 * 0.95 / 1_000)
    usual = (np.abs(paths[:, 19:]) / np.sqrt(times) > 1.96).any(axis=1).mean()
    assert usual > 0.3  # what looking at each would do to the usual interval

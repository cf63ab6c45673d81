"""Boundaries of looks against published tables, and confidence sequences against their formula and by simulation."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import multivariate_normal

from app.extensions.analysis.intervals import student
from app.extensions.trials.estimator import difference
from app.extensions.trials.sequential import Monitor, boundaries, monitor, sequence_width
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


@pytest.mark.parametrize("spending", ["obrien-fleming", "pocock"])
@pytest.mark.parametrize("sides", [1, 2])
def test_the_integration_is_that_of_the_multivariate_normal(spending: str, sides: int) -> None:
    times = np.array([0.3, 0.6, 1.0])
    bounds = np.array(boundaries(times, 0.05, spending, sides).critical)  # type: ignore[arg-type]
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    low = -bounds if sides == 2 else np.full(3, -np.inf)
    inside = multivariate_normal(cov=correlation, maxpts=2_000_000, abseps=1e-8).cdf(bounds, lower_limit=low)
    assert 1 - inside == pytest.approx(0.05, abs=1e-6)


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
        low, high = Monitor((0.5, 1.0), 0.05, bounds).interval(found, 0)
        assert (low > 0 or high < 0) == (found.p <= bounds.nominal[0])
    assert high - low == pytest.approx(2 * student(18, 1 - bounds.nominal[0]) * found.standard_error, abs=1e-9)


def test_a_confidence_sequence_is_the_papers_formula() -> None:
    found = difference(frame(40))
    always = monitor(Looks(at=(1.0,), spending="always-valid"), 0.05, at=(0.4, 1.0))
    r2 = (-2 * log(0.05) + log(-2 * log(0.05) + 1)) / 100
    for look, t in enumerate((40, 100)):
        width = sqrt(t) * sqrt(2 * (t * r2 + 1) / (t**2 * r2) * log(sqrt(t * r2 + 1) / 0.05))
        half = stats.t.isf(stats.norm.sf(width), found.df) * found.standard_error  # theirs is that of many participants
        assert always.interval(found, look) == pytest.approx((found.estimate - half, found.estimate + half), abs=1e-9)


def test_a_monitor_judges_by_the_plans_looks() -> None:
    found = difference(frame(40))
    usual = monitor(None, 0.05, 1)
    assert usual.interval(found, 0) == pytest.approx(found.interval(0.9), abs=1e-9)
    pocock = Looks(at=(1.0,), spending="pocock")
    assert monitor(pocock, 0.05, at=(0.5, 1.0)).bounds == boundaries((0.5, 1.0), 0.05, "pocock")


def test_a_confidence_sequence_holds_at_all_times_together() -> None:
    rng = np.random.default_rng(4)
    paths = rng.normal(size=(1_000, 2_000)).cumsum(axis=1)
    times = np.arange(20, 2_001)
    widths = np.array([sequence_width(t / 500) for t in times])
    missed = (np.abs(paths[:, 19:]) / np.sqrt(times) > widths).any(axis=1).mean()
    assert missed <= 0.05 + 3 * sqrt(0.05 * 0.95 / 1_000)
    usual = (np.abs(paths[:, 19:]) / np.sqrt(times) > 1.96).any(axis=1).mean()
    assert usual > 0.3  # what looking at each would do to the usual interval

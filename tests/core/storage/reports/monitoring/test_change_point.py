"""Planted changes are found, soon, and seldom anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from storage.reports.monitoring.change_point import FEWEST, change_points

Draw = Callable[[np.random.Generator, int], Any]
RUNS, CONVERSATIONS, BEFORE, WITHIN = 600, 200, 60, 30


def test_a_planted_change_is_found_once_where_it_is_and_a_level_series_has_none() -> None:
    shares = [1.0] * 40 + [0.0] * 40
    (found,) = change_points(shares, series=6, shares=True)
    assert abs(found.index - 40) <= 1
    assert found.after < 0.5 < found.before
    assert 40 < found.found < 50
    times = [1.0 + n % 7 / 10 for n in range(60)] + [3.0 + n % 7 / 10 for n in range(60)]
    by_time = [*change_points(times)]
    assert len(by_time) == 1
    assert abs(by_time[0].index - 60) <= 1
    cubes = change_points([value**3 for value in times])
    assert [(one.index, one.found) for one in cubes] == [(one.index, one.found) for one in by_time]  # by ranks alone
    assert not [*change_points([1.0] * 300)]
    assert not [*change_points([1.0] * 300, shares=True)]
    assert not [*change_points([1.0] * FEWEST, shares=True)]


def _alarms(draw: Draw, series: int, *, shares: bool) -> float:
    """The share of simulated studies in which one of the series has an alarm."""
    chance = np.random.default_rng(51)
    found = [
        any(next(change_points(draw(chance, n), series, shares=shares), None) is not None for n in range(series))
        for _ in range(RUNS // series)
    ]
    return float(np.mean(found))


@pytest.mark.nightly
@pytest.mark.parametrize("series", [1, 6])
@pytest.mark.parametrize("kind", [0.5, 0.8, 0.95, "conversations of 4 replies", "latencies", "whole numbers"])
def test_false_alarms_are_at_most_five_per_cent_of_studies(kind: float | str, series: int) -> None:
    def draw(chance: np.random.Generator, number: int) -> Any:
        match kind:
            case float():
                return chance.random(CONVERSATIONS) < kind
            case "conversations of 4 replies":
                return chance.binomial(4, chance.beta(9, 1, CONVERSATIONS)) / 4
            case "latencies":
                return chance.lognormal(size=CONVERSATIONS)
        return chance.poisson(30, CONVERSATIONS)

    shares = isinstance(kind, float) or "replies" in kind
    runs = RUNS // series
    assert _alarms(draw, series, shares=shares) <= 0.05 + 1.65 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.nightly
@pytest.mark.parametrize(("change", "series", "least"), [((0.95, 0.5), 1, 0.85), ((0.95, 0.4), 6, 0.9), (1.5, 6, 0.95)])
def test_a_planted_change_is_found_within_30_conversations(change: Any, series: int, least: float) -> None:
    chance = np.random.default_rng(52)
    late = np.arange(BEFORE + WITHIN) >= BEFORE
    found = []
    for _ in range(RUNS // 2):
        shares = isinstance(change, tuple)
        values = chance.random(late.size) < np.where(late, *change[::-1]) if shares else np.exp(
            chance.normal(size=late.size) + change * late
        )  # fmt: skip
        found.append(any(one.found >= BEFORE for one in change_points(values, series, shares=shares)))
    assert np.mean(found) >= least

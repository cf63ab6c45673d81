"""Correlations and slopes: their intervals leave out each participant, as computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import atanh, sqrt, tanh
from statistics import correlation as pearson
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.intervals import codes, draws, student
from app.extensions.analysis.public import correlation
from tests.fakes.figures import midranks


def left_out_by_hand(rows: list[tuple[int, int, int]], statistic: Callable[..., float]) -> tuple[float, float]:
    """Value and half of an interval, by computing it anew without each participant."""
    people = sorted({who for who, _, _ in rows})
    value = statistic([x for _, x, _ in rows], [y for _, _, y in rows])
    without = [statistic(*zip(*((x, y) for who, x, y in rows if who != out), strict=True)) for out in people]
    spread = (len(people) - 1) / len(people) * sum((one - value) ** 2 for one in without)
    return value, student(len(people) - 1) * sqrt(spread)


ROWS = [(0, 1, 2), (0, 3, 3), (0, 6, 4), (1, 2, 6), (1, 4, 4), (2, 0, 1), (2, 5, 5), (2, 6, 6), (3, 3, 1), (3, 1, 2)]


@pytest.mark.parametrize("ranked", [False, True])
def test_a_correlations_interval_leaves_out_each_participant_on_fishers_scale(ranked: bool) -> None:
    def z(x: Sequence[float], y: Sequence[float]) -> float:
        return atanh(pearson(midranks(x), midranks(y)) if ranked else pearson(x, y))

    value, half = left_out_by_hand(ROWS, z)
    people, x, y = (np.array(column) for column in zip(*ROWS, strict=True))
    one = correlation(x, y, codes(people), ranked=ranked)
    assert (one.value, one.low, one.high) == pytest.approx((tanh(value), tanh(value - half), tanh(value + half)))


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40)


@given(pairs)
def test_a_correlation_lies_between_its_ends_and_does_not_know_which_side_is_first(
    rows: list[tuple[int, int, int]],
) -> None:
    people, x, y = (np.array(column) for column in zip(*rows, strict=True))
    for ranked in (False, True):
        one, other = (correlation(*both, codes(people), ranked=ranked) for both in ((x, y), (y, x)))
        assert one.value == pytest.approx(other.value, nan_ok=True)
        if one.low is not None and one.high is not None:
            assert -1 <= one.low <= one.value <= one.high <= 1


def test_the_spread_of_bootstrapped_means_is_that_of_a_mean() -> None:
    values = np.random.default_rng(5).normal(size=60)
    means = [float((values * times).sum() / times.sum()) for times in draws(60, samples=4000)]
    assert np.std(means) == pytest.approx(values.std() / sqrt(60), rel=0.05)
    assert fmean(means) == pytest.approx(values.mean(), abs=0.02)

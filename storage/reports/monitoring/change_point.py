"""Detect changes in a series of values: the change-point model, looked at again after each value.

Hawkins, Qiu and Kang: The Changepoint Model for Statistical Process Control (Journal of Quality Technology 35, 2003);
by ranks Hawkins and Deng (the same, 42, 2010), of zeros and ones Ross, Tasoulis and Adams (Computational Statistics 28,
2013). After t values each split k has the likelihood ratio G(k, t) of two levels against one: the binomial one for
shares, and for other values the normal one of their ranks, -t log(1 - H/(t - 1)) with H of Kruskal and Wallis. There is
a change as soon as G exceeds 9.5 + 2 log t + 2.4 log m for some k, where m series of a study are watched.

The threshold is simulated: of a study whose values are exchangeable at most 5 % have an alarm in 2,000 values of each
series. It needs no look to be planned. Conformal martingales (Vovk et al., COPA 2021), which bound that share by a
theorem, found changes of shares half as often within 30 values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
# The fewest values on either side of a split, and how many values ago a split may be.
FEWEST, RECENT = 5, 200
INTERCEPT, BY_LENGTH, BY_SERIES = 9.5, 2.0, 2.4


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change: values differ from `index` on, known at `found`; `before` and `after` are means of shares, or
    medians."""

    index: int
    found: int
    before: float
    after: float


def change_points(values: Sequence[float], series: int = 1, *, shares: bool = False) -> Iterator[ChangePoint]:
    """The changes of one of `series` series; after each it is watched anew. `shares` are from 0 to 1."""
    every, begin = np.asarray(values, dtype=np.float64), 0
    while (change := _first(every[begin:], series, shares=shares)) is not None:
        yield ChangePoint(begin + change.index, begin + change.found, change.before, change.after)
        begin += change.index


def _first(values: Values, series: int, *, shares: bool) -> ChangePoint | None:
    for t, splits, ratios in (_by_shares if shares else _by_ranks)(values):
        best = int(np.argmax(ratios))
        if ratios[best] > INTERCEPT + BY_LENGTH * log(t) + BY_SERIES * log(series):
            k, level = int(splits[best]), np.mean if shares else np.median
            return ChangePoint(k, t - 1, float(level(values[:k])), float(level(values[k:t])))
    return None


# The number of values so far, the splits, and the likelihood ratio of each.
Scan = Iterator[tuple[int, npt.NDArray[np.int64], Values]]


def _splits(t: int) -> npt.NDArray[np.int64]:
    return np.arange(max(FEWEST, t - RECENT), t - FEWEST + 1)


def _by_shares(values: Values) -> Scan:
    sums = np.concatenate(([0.0], np.cumsum(values)))
    for t in range(2 * FEWEST, values.size + 1):
        k = _splits(t)
        apart = _likelihood(sums[k], k) + _likelihood(sums[t] - sums[k], t - k)
        yield t, k, 2 * (apart - _likelihood(sums[t], t))


def _likelihood(ones: npt.ArrayLike, size: npt.ArrayLike) -> Values:
    """The logarithm of the largest binomial likelihood; `ones` need not be whole, as shares add up."""
    zeros = np.maximum(np.subtract(size, ones), 0)
    return _x_log_x(ones) + _x_log_x(zeros) - _x_log_x(size)


def _x_log_x(x: npt.ArrayLike) -> Values:
    known = np.asarray(x, dtype=np.float64)
    return np.asarray(known * np.log(np.maximum(known, 1e-300)))


def _by_ranks(values: Values) -> Scan:
    larger, ties = np.zeros(values.size), 0  # [k - 1]: pairs across k whose later value is larger, less the others
    for t in range(1, values.size + 1):
        signs = np.sign(values[t - 1] - values[: t - 1])
        larger[: t - 1] += np.cumsum(signs)
        equal = int(np.count_nonzero(signs == 0))
        ties += 3 * equal * (equal + 1)
        if t >= 2 * FEWEST and ties < t**3 - t:
            k = _splits(t)
            variance = k * (t - k) * (t + 1) / 3 * (1 - ties / (t**3 - t))
            yield t, k, -t * np.log1p(-np.minimum(larger[k - 1] ** 2 / variance / (t - 1), 1 - 1e-9))

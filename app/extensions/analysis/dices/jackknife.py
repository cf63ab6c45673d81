"""The jackknife over raters and conversations: how far a statistic of ratings varies with both samples.

For each way of clustering (the raters of a group, the raters of another group, conversations), one cluster of G is left
out at a time; the variances of the ways are added, and Student's t has one degree of freedom less than the smallest G:

    V = sum over ways of (G - 1)/G * sum over g of (value without g - their mean)^2,    value ± t * sqrt(V)

What varies with single ratings is in both ways and so is counted twice, which makes the interval a little too wide for
few raters. A bootstrap of raters is no alternative: a sample has raters twice, who agree with themselves (measured in
docs/decisions/0013-intervals-of-agreement.md). Jackknife of alpha: Hughes 2022 (arXiv 2210.13265); two ways: Cameron,
Gelbach and Miller 2011 (JBES 29:238).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from app.extensions.analysis.dices.coincidence_matrix import Sums
from app.extensions.analysis.intervals import FEWEST, Interval, student

AT_MOST_1 = -inf, 1.0
"""The scale of alpha and xRR."""
AT_ONCE = 100_000
"""The number of counts (raters, conversations) processed at once, so that they fit the CPU cache."""


def without_each_rater(counts: Sums, marks: npt.NDArray[np.floating], statistic: Callable[[Sums], Sums]) -> Sums:
    """The statistic (..., raters) of counts (values, conversations) without each rater's marks in turn.

    `marks` (values, raters, conversations) is what each rater contributed to the counts; `statistic` is given counts
    (values, some raters, conversations).
    """
    step = max(1, AT_ONCE // max(1, counts.shape[-1]))
    starts = range(0, marks.shape[1], step)
    return np.concatenate([statistic(counts[:, None] - marks[:, start : start + step]) for start in starts], axis=-1)


def leave_each_out(sums: Sums) -> Sums:
    """The sums over conversations, the last axis, without each of them in turn."""
    return np.asarray(sums.sum(axis=-1, keepdims=True) - sums)


def variance(without: Sums) -> float:
    return float((without.size - 1) / without.size * np.sum((without - without.mean()) ** 2))


def jackknife(
    value: float, replicates: Sequence[Sums], more: float = 0.0, *, scale: tuple[float, float] = AT_MOST_1
) -> Interval:
    """The interval of a value from its values without each cluster, for each way of clustering.

    It is cut at the ends of the scale. `more` is a variance that is known otherwise, which is added.
    """
    fewest = min(way.size for way in replicates)
    if fewest < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} raters and {FEWEST} conversations.")
    if not all(np.isfinite(way).all() for way in replicates):
        return Interval(value, why="It depends on a single rater or conversation, without which it is undefined.")
    spread = sum(map(variance, replicates)) + more
    if spread <= 1e-18:  # what is left of nothing by rounding
        return Interval(value, why="It is the same without any one rater or conversation, so its variance is unknown.")
    half = student(fewest - 1) * sqrt(spread)
    return Interval(value, max(scale[0], value - half), min(scale[1], value + half))


def of_mean(marks: npt.NDArray[np.floating], each: Callable[[Sums], Sums], scale: tuple[float, float]) -> Interval:
    """The mean over conversations of a function of their counts, with its interval over raters and conversations.

    `each` gives, of counts (values, ..., conversations), a value for each conversation, and whether it counts (2, ...,
    conversations).
    """
    counts = marks.sum(axis=1, dtype=np.float64)
    values = each(counts)
    replicates = [
        _ratio(leave_each_out(values)),
        without_each_rater(counts, marks, lambda rest: _ratio(each(rest).sum(axis=-1))),
    ]
    return jackknife(float(_ratio(values.sum(axis=-1))), replicates, scale=scale)


def _ratio(sums: Sums) -> Sums:
    found = np.full(sums[0].shape, np.nan)
    return np.asarray(np.divide(sums[0], sums[1], out=found, where=sums[1] > 0), dtype=np.float64)

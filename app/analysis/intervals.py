"""Intervals for means of answers that are not independent: participants give several answers, to shared questions.

The variance of a mean is computed by leaving out one cluster (a participant, a question) at a time: the cluster
jackknife, CV3 of MacKinnon, Nielsen and Webb (2023, Journal of Applied Econometrics 38:671). For G clusters

    V = (G - 1)/G * sum over g of (mean without g - mean)^2

which for clusters of one answer each is the usual s^2/n. Two-way clustering follows Cameron, Gelbach and Miller (2011,
JBES 29:238), V = V_P + V_Q - V_PQ, but at least the larger of V_P and V_Q. Student's t has one degree of freedom less
than there are clusters, for the way of clustering with fewer clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import atan, cos, inf, pi, sin, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

LEVEL = 0.95
"""The confidence level of intervals."""
FEWEST = 2
"""Minimum number of participants (conversations, for agreement) for an interval."""
Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
MANY = 1000
"""Above this number of degrees of freedom, t is approximated from z."""
NO_SCALE = (-inf, inf)


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its interval; without an interval, `why` gives the reason."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str = ""


def codes(labels: npt.ArrayLike) -> Codes:
    """The cluster of each value, as numbers from 0 in order of first occurrence."""
    return np.asarray(pd.factorize(np.asarray(labels), use_na_sentinel=False)[0], dtype=np.int64)


def number_of(clusters: Codes) -> int:
    """The number of clusters."""
    return int(clusters.max(initial=-1)) + 1


def one_way(values: Values, clusters: Codes) -> float:
    """The variance of a mean, by leaving out one of at least two clusters at a time."""
    count = number_of(clusters)
    sums, sizes = np.bincount(clusters, weights=values), np.bincount(clusters)
    without = (values.sum() - sums) / (values.size - sizes)
    return float((count - 1) / count * np.sum((without - values.mean()) ** 2))


def two_way(values: Values, people: Codes, questions: Codes) -> float:
    """The variance of a mean of answers that share participants and questions."""
    each = one_way(values, people), one_way(values, questions)
    both = one_way(values, codes(people * number_of(questions) + questions))
    return max(sum(each) - both, *each)


def mean_of(
    values: Values, people: Codes, questions: Codes | None = None, scale: tuple[float, float] = NO_SCALE
) -> Interval:
    """The mean with the interval `mean ± t * sqrt(V)`, cut at the ends of the scale."""
    mean = float(values.mean())
    found = _spread(values, people, questions)
    if isinstance(found, str):
        return Interval(mean, why=found)
    spread, freedom = found
    if spread <= 1e-18:  # what is left of nothing by rounding
        return Interval(mean, why="The participants' means are equal, so how much they vary is not known.")
    half = student(freedom) * sqrt(spread)
    return Interval(mean, max(scale[0], mean - half), min(scale[1], mean + half))


def share_of(hits: Values, people: Codes, questions: Codes | None = None) -> Interval:
    """The share of ones among zeros and ones, with Wilson's interval for the effective number of answers.

    The effective number of n answers that share participants and questions is n' = p(1 - p)/V, at most n (Kish's design
    effect); if all answers are equal, it is the number of participants, or of questions if they are fewer.
    With t in place of z (Korn and Graubard 1998, Survey Methodology 24:193; Franco et al. 2019, JSSAM 7:334)

        (p + t^2/2n' ± t * sqrt(p(1 - p)/n' + t^2/4n'^2)) / (1 + t^2/n')
    """
    share = float(hits.mean())
    found = _spread(hits, people, questions)
    if isinstance(found, str):
        return Interval(share, why=found)
    return wilson(share, *found, hits.size)


def wilson(share: float, spread: float, freedom: int, size: int) -> Interval:
    """The interval of a share of `size` answers whose variance is `spread`, as `share_of` says."""
    alone = share * (1 - share)
    worth = alone / max(spread, alone / size) if alone > 0 else float(freedom + 1)
    t = student(freedom)
    middle = share + t * t / (2 * worth)
    half = t * sqrt(alone / worth + t * t / (4 * worth * worth))
    scale = 1 + t * t / worth
    return Interval(share, max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale))


def _spread(values: Values, people: Codes, questions: Codes | None) -> tuple[float, int] | str:
    """The variance of the mean with its degrees of freedom, or the reason why there is none."""
    there = number_of(people)
    if there < FEWEST:
        return f"An interval needs {FEWEST} participants; there is {there} yet."
    asked = number_of(questions) if questions is not None else 0
    if questions is None or asked < 2:
        return one_way(values, people), there - 1
    return two_way(values, people, questions), min(there, asked) - 1


@cache
def student(freedom: int, level: float = LEVEL) -> float:
    """The two-sided quantile t of Student's distribution: |T| <= t with probability `level`."""
    if freedom > MANY:
        z = NormalDist().inv_cdf((1 + level) / 2)
        return z + (z**3 + z) / (4 * freedom)  # Abramowitz and Stegun 26.7.5
    low, high = 0.0, 1.0
    while within(high, freedom) < level:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle, freedom) < level else (low, middle)
    return (low + high) / 2


def within(t: float, freedom: int) -> float:
    """The probability that Student's t lies between -t and t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(freedom))
    even = freedom % 2 == 0
    term = total = 1.0 if even else cos(angle)
    for k in range(2 if even else 3, freedom - 1, 2):
        term *= cos(angle) ** 2 * ((k - 1) / k)
        total += term
    if even:
        return sin(angle) * total
    return 2 / pi * (angle + (sin(angle) * total if freedom > 1 else 0.0))

"""Intervals for means of answers that are not independent: participants give several answers, to shared questions.

The variance of a mean is computed by leaving out one cluster (a participant, a question) at a time: the cluster
jackknife, CV3 of MacKinnon, Nielsen and Webb (2023, Journal of Applied Econometrics 38:671). For G clusters

    V = (G - 1)/G * sum over g of (mean without g - mean)^2

which for clusters of one answer each is the usual s^2/n. Two-way clustering follows Cameron, Gelbach and Miller (2011,
JBES 29:238), V = V_P + V_Q - V_PQ, but at least the larger of V_P and V_Q. Student's t has one degree of freedom less
than there are clusters, for the way of clustering with fewer clusters.

Other statistics have a cluster jackknife or a cluster bootstrap over participants. Jackknife: value ± t * sqrt(V) with
V as above. Bootstrap: the same number of participants is drawn with replacement, each with all their data; the interval
is the middle 95 % of the samples' values.

With them go corrections of p values for the number of tests in a family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

LEVEL = 0.95
# Minimum number of participants (conversations, for agreement) for an interval.
FEWEST = 2
Values = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
# Above this number of degrees of freedom, t is approximated from z.
MANY = 1000
NO_SCALE = (-inf, inf)


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its interval; without an interval, `why` gives the reason."""

    value: float
    low: float | None = None
    high: float | None = None
    why: str = ""
    level: float = LEVEL


def codes(labels: npt.ArrayLike) -> Codes:
    """The cluster of each value, as numbers from 0 in order of first occurrence."""
    return np.asarray(pd.factorize(np.asarray(labels), use_na_sentinel=False)[0], dtype=np.int64)


def number_of(clusters: Codes) -> int:
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
        return Interval(mean, why="The participants' means are equal, so their variance is unknown.")
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
    low, high = (middle - half) / scale, (middle + half) / scale
    return Interval(
        share, max(0.0, min(share, low)), min(1.0, max(share, high))
    )  # which rounding would not hold at 0 or 1


def _spread(values: Values, people: Codes, questions: Codes | None) -> tuple[float, int] | str:
    """The variance of the mean with its degrees of freedom, or the reason why there is none."""
    there = number_of(people)
    if there < FEWEST:
        return f"An interval needs {FEWEST} participants; there is {there} yet."
    asked = number_of(questions) if questions is not None else 0
    if questions is None or asked < 2:
        return one_way(values, people), there - 1
    return two_way(values, people, questions), min(there, asked) - 1


def student(freedom: float, level: float = LEVEL) -> float:
    """The two-sided quantile t of Student's distribution: |T| <= t with probability `level`."""
    return student_beyond(freedom, 1 - level)


@lru_cache(maxsize=1024)
def student_beyond(freedom: float, outside: float) -> float:
    """The same by the probability outside: |T| > t with probability `outside`."""
    z = -NormalDist().inv_cdf(outside / 2)
    t = z + (z**3 + z) / (4 * freedom)  # Abramowitz and Stegun 26.7.5
    if freedom > MANY:
        return t
    t += (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    for _ in range(100):  # Newton's method on logarithms, between which the tail is concave: it cannot diverge
        tail = beyond(t, freedom)
        step = log(tail / outside) * tail / (2 * t * _density(t, freedom))
        t *= exp(step)
        if abs(step) < 1e-6:  # the error is about its square
            break
    return t


def beyond(t: float, freedom: float) -> float:
    """The probability that Student's t does not lie between -t and t: the incomplete beta function I_x(f/2, 1/2) at x =
    f / (f + t^2) (Abramowitz and Stegun 26.7.1)."""
    a, square = freedom / 2, t * t
    x, rest = freedom / (freedom + square), square / (freedom + square)
    front = exp(-a * log1p(square / freedom) - _log_beta(a)) * sqrt(rest)
    if x <= (a + 1) / (a + 2.5):
        return front * _fraction(a, 0.5, x) / a
    return 1 - 2 * front * _fraction(0.5, a, rest)


def beyond_f(f: float, above: int, below: int) -> float:
    """The probability that F with `above` and `below` degrees of freedom is larger: I_x(below/2, above/2) at
    x = below / (below + above f) (Abramowitz and Stegun 26.6.2)."""
    a, b, x = below / 2, above / 2, below / (below + above * f)
    rest = above * f / (below + above * f)
    if rest <= 0:
        return 1.0
    front = exp(a * log(x) + b * log(rest) + lgamma(a + b) - lgamma(a) - lgamma(b))
    return front * _fraction(a, b, x) / a if x <= (a + 1) / (a + b + 2) else 1 - front * _fraction(b, a, rest) / b


def _density(t: float, freedom: float) -> float:
    return exp(-(freedom + 1) / 2 * log1p(t * t / freedom) - _log_beta(freedom / 2)) / sqrt(freedom)


def _log_beta(a: float) -> float:
    """log B(a, 1/2)."""
    return lgamma(a) + log(pi) / 2 - lgamma(a + 0.5)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + term * d), 1 + term / c
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


# Of bootstraps; the methods in figures.json name both.
SAMPLES, SEED = 1000, 1
# The share of samples that must have a value; otherwise there is no interval.
ENOUGH = 0.95


def left_out(value: float, without: Values) -> Interval:
    """The jackknife interval of a value, from its values without each of the participants."""
    size = without.size
    if size < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} participants; there is {size} yet.")
    if not np.isfinite(without).all() or not np.isfinite(value):
        return Interval(value, why="It depends on a single participant, without whom it is undefined.")
    spread = (size - 1) / size * float(np.sum((without - value) ** 2))
    if spread <= 1e-18:  # what is left of nothing by rounding
        return Interval(value, why="It is the same without any one of the participants, so its variance is unknown.")
    half = student(size - 1) * sqrt(spread)
    return Interval(value, value - half, value + half)


def draws(participants: int, samples: int = SAMPLES, seed: int = SEED) -> Iterator[Codes]:
    """For each bootstrap sample, how often it contains each participant."""
    chance = np.random.default_rng(seed)
    for _ in range(samples):
        yield np.bincount(chance.integers(participants, size=participants), minlength=participants)


def middle(value: float, found: Values, participants: int) -> Interval:
    """The bootstrap interval of a value, from the values in the samples (NaN where undefined)."""
    if participants < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} participants; there is {participants} yet.")
    known = found[~np.isnan(found)]
    if known.size < ENOUGH * found.size:
        return Interval(value, why="It is undefined in too many bootstrap samples of the participants.")
    return Interval(value, *central(known))


def central(values: Values) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def holm(p_values: Values) -> Values:
    """Holm's adjusted p of each; controls the family-wise error (Holm 1979, Scand. J. Statistics 6:65)."""
    order = np.argsort(p_values, kind="stable")
    found = np.empty(p_values.shape)
    found[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1)), 1)
    return found


def benjamini_hochberg(p_values: Values) -> Values:
    """Benjamini and Hochberg's adjusted p of each: the minimum of p_(j) m/j over ranks j from its own, at most 1.

    Controls the false discovery rate (Benjamini and Hochberg 1995, JRSS B 57:289). Tests without a p (NaN) do not count
    in the family of m tests.
    """
    found = np.full(p_values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    by_size = known[np.argsort(p_values[known], kind="stable")]
    scaled = p_values[by_size] * by_size.size / np.arange(1, by_size.size + 1)
    found[by_size] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return found

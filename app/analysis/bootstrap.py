"""Intervals of statistics other than means: cluster jackknife and cluster bootstrap over participants.

Jackknife: value ± t * sqrt(V) with V = (G - 1)/G * sum over g of (value without g - value)^2 for G participants, as in
app/analysis/intervals.py. Bootstrap: the same number of participants is drawn with replacement, each with all their
data; the interval is the middle 95 % of the samples' values.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from app.analysis.intervals import FEWEST, LEVEL, Codes, Interval, Values, student

SAMPLES = 1000
SEED = 1
ENOUGH = 0.95
"""The share of samples that must have a value; otherwise there is no interval."""
DRAWN = f"a percentile bootstrap over participants ({SAMPLES:,} samples, seed {SEED})"


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
    """The ends of the middle 95 % of some values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)

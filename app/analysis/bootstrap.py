"""Intervals of what is no mean: participants are left out one at a time, or drawn anew.

Left out: value ± t * sqrt(V) with V = (G - 1)/G * sum over g of (value without g - value)^2 for G participants, the
cluster jackknife of app/analysis/intervals.py. Drawn anew: as many participants as there are, with replacement, each
with all that they gave (cluster bootstrap); the interval holds the middle 95 % of the samples' values.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from app.analysis.intervals import FEWEST, LEVEL, Codes, Interval, Values, student

SAMPLES = 1000
SEED = 1
ENOUGH = 0.95
"""So many of the samples must have a value, or there is no interval."""
DRAWN = f"a percentile bootstrap over participants ({SAMPLES:,} samples, seed {SEED})"


def left_out(value: float, without: Values) -> Interval:
    """The interval of a value from what it is without each of the participants in turn."""
    size = without.size
    if size < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} participants; there is {size} yet.")
    if not np.isfinite(without).all() or not np.isfinite(value):
        return Interval(value, why="It rests on a single participant, without whom there is no such number.")
    spread = (size - 1) / size * float(np.sum((without - value) ** 2))
    if spread <= 1e-18:  # what is left of nothing by rounding
        return Interval(value, why="It is the same without any of the participants, so how much it varies is unknown.")
    half = student(size - 1) * sqrt(spread)
    return Interval(value, value - half, value + half)


def draws(participants: int, samples: int = SAMPLES, seed: int = SEED) -> Iterator[Codes]:
    """How often each participant is in a sample, a sample at a time."""
    chance = np.random.default_rng(seed)
    for _ in range(samples):
        yield np.bincount(chance.integers(participants, size=participants), minlength=participants)


def middle(value: float, found: Values, participants: int) -> Interval:
    """The interval of a value from those of samples, which are NaN where a sample has none."""
    if participants < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} participants; there is {participants} yet.")
    known = found[~np.isnan(found)]
    if known.size < ENOUGH * found.size:
        return Interval(value, why="Too many samples of the participants have no such number.")
    return Interval(value, *central(known))


def central(values: Values) -> tuple[float, float]:
    """The ends of the middle 95 % of some values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)

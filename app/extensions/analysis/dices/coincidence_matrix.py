"""Coincidences of ratings within a group of raters and between two groups, from which reliabilities are computed.

Counts are arrays (values, ..., conversations): how many raters gave each value. Results per conversation keep these
last axes, so that many groups, or many samples of conversations, are summed at once. Conversations with too few ratings
add nothing.

Alpha is 1 - d_o/d_e (Krippendorff: Content Analysis, 4th ed. 2018, chapter 12): d_o is the disagreement within
conversations, d_e the disagreement expected by chance, both from the coincidences of values; each pair of ratings of a
conversation with m ratings counts 1/(m - 1). Cross-replication reliability, xRR, is the analogue between two pools of
raters (Wong, Paritosh, Aroyo: Cross-replication reliability. ACL 2021), over conversations that both rated, R_i and S_i
times:

    d_o = sum_i (R_i + S_i)/(R_i S_i) sum_r sum_s D(x_ri, y_si) / (R + S)
    d_e = sum_i sum_j sum_r sum_s D(x_ri, y_sj) / (R S)             which needs only how often each value occurs
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Metric = Literal["nominal", "ordinal", "interval"]
"""The distance of two values: 0 or 1 (nominal); squared number of ratings between them (ordinal); squared difference of
their places (interval)."""
Sums: TypeAlias = npt.NDArray[np.float64]


def pairs(counts: Sums) -> Sums:
    """For each conversation: its pairs of ratings by their two values (values, values, ...), weighted 1/(m - 1)."""
    sizes = counts.sum(axis=0)
    weights = np.divide(1.0, sizes - 1, out=np.zeros_like(sizes), where=sizes > 1)
    found = np.empty((len(counts), *counts.shape))
    for one, given in enumerate(counts):
        weighted = given * weights
        for other, also in enumerate(counts):
            np.multiply(weighted, also - 1 if one == other else also, out=found[one, other])
    return found


def alphas(coincidences: Sums, metric: Metric = "nominal") -> Sums:
    """The alpha of each of several tables of coincidences; NaN if no two ratings differ."""
    totals = coincidences.sum(axis=1)
    apart = _squared_distances(totals, metric)
    size = totals.sum(axis=0)
    observed = (coincidences * apart).sum(axis=(0, 1))
    expected = (totals[:, None] * totals[None] * apart).sum(axis=(0, 1))
    return _agreed((size - 1) * observed, expected)


def crossings(one: Sums, other: Sums) -> Sums:
    """For each conversation that both rated: pairs of one rating each, weighted (R_i + S_i)/(R_i S_i); then the counts.

    An array (values, values + 2, ...): the pairs by their two values, and in the last two columns both counts.
    """
    here, there = one.sum(axis=0), other.sum(axis=0)
    both = (here > 0) & (there > 0)
    weights = np.divide(here + there, here * there, out=np.zeros_like(here), where=both)
    values = len(one)
    found = np.empty((values, values + 2, *here.shape))
    for value, given in enumerate(one):
        weighted = given * weights
        for opposite, also in enumerate(other):
            np.multiply(weighted, also, out=found[value, opposite])
        np.multiply(given, both, out=found[value, values])
        np.multiply(other[value], both, out=found[value, values + 1])
    return found


def crossed(sums: Sums, metric: Metric = "nominal") -> Sums:
    """The xRR of summed crossings; NaN if the pools share no conversation, or no two of their ratings differ."""
    values = len(sums)
    table, here, there = sums[:, :values], sums[:, values], sums[:, values + 1]
    apart = _squared_distances(here + there, metric)
    raters, others = here.sum(axis=0), there.sum(axis=0)
    observed = (table * apart).sum(axis=(0, 1))
    expected = (here[:, None] * there[None] * apart).sum(axis=(0, 1))
    return _agreed(observed * raters * others, expected * (raters + others))


def _agreed(observed: Sums, expected: Sums) -> Sums:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan), dtype=np.float64)


def _squared_distances(totals: Sums, metric: Metric) -> Sums:
    values = len(totals)
    if metric == "ordinal":
        place = totals.cumsum(axis=0) - totals / 2  # the ratings up to the middle of each value
        return np.asarray((place[:, None] - place[None]) ** 2, dtype=np.float64)
    places = np.arange(values)
    steps = np.abs(places[:, None] - places).astype(np.float64)
    squared = steps**2 if metric == "interval" else np.minimum(steps, 1)
    return np.asarray(squared.reshape(values, values, *(1 for _ in totals.shape[1:])), dtype=np.float64)

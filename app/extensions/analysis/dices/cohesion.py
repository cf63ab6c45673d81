"""GRASP measures of a group of raters: cohesion within the group, and with all other raters.

Prabhakaran et al.: GRASP. NAACL 2024 (arXiv 2311.05074). In-group cohesion: IRR is Krippendorff's alpha; plurality size
the mean over conversations of the share of the most common answer; negentropy the mean of ln n - H in nats, n being the
number of values and H the entropy of the answers. Cross-group cohesion: XRR is xRR between the group and all other
raters; voting agreement is the alpha between the most common answers of both sides. GAI = IRR/XRR, which is 1 if a
group agrees with the others as much as within itself. GRASP's cross-negentropy is left out: its formula is not
published.

If several answers are equally common, a side votes for the first in the order No, Unsure, Yes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from app.extensions.analysis.dices.coincidence_matrix import Metric, Sums, alphas, crossed, crossings, pairs

IN_GROUP = ("irr", "plurality", "negentropy")
CROSS_GROUP = ("xrr", "voting_agreement")
MEASURES = (*IN_GROUP, *CROSS_GROUP, "gai")
Weigh = Callable[[Sums], Sums]
"""Sums over conversations, the last axis: each counted once, or as often as a sample drew it."""
Counts = npt.ArrayLike
"""How many raters gave each value (columns) to each conversation (rows)."""


def measured(group: Sums, others: Sums, weigh: Weigh) -> Mapping[str, Sums]:
    """All measures of groups and their complements, from counts (values, ..., conversations); NaN where undefined."""
    irr, xrr = alphas(weigh(pairs(group))), crossed(weigh(crossings(group, others)))
    return {
        "irr": irr,
        "plurality": _mean(weigh(peaks(group))),
        "negentropy": _mean(weigh(order(group))),
        "xrr": xrr,
        "voting_agreement": alphas(_both_ways(weigh(votes(group, others)))),
        "gai": _ratio(irr, xrr),
    }


def peaks(counts: Sums) -> Sums:
    """For each conversation: the share of its most common answer, and whether it has answers."""
    sizes = counts.sum(axis=0)
    return np.stack([np.divide(counts.max(axis=0), sizes, out=np.zeros_like(sizes), where=sizes > 0), sizes > 0])


def order(counts: Sums) -> Sums:
    """For each conversation: its negentropy, ln n - H = ln n + (sum c ln c - m ln m)/m, and whether it has answers.

    Counts are whole numbers, so c ln c is looked up.
    """
    sizes = counts.sum(axis=0)
    whole = np.arange(sizes.max(initial=0) + 1)
    weighed = whole * np.log(np.maximum(whole, 1))
    entropy = weighed[sizes.astype(np.intp)] - weighed[counts.astype(np.intp)].sum(axis=0)
    rated = sizes > 0
    return np.stack([np.log(len(counts)) * rated - np.divide(entropy, np.maximum(sizes, 1)), rated])


def votes(one: Sums, other: Sums) -> Sums:
    """For each conversation that both rated: the most common answer of each (values, values, ...)."""
    here, there = _chosen(one), _chosen(other)
    return np.asarray(here[:, None] & there[None], dtype=np.float64)


def plurality(counts: Counts) -> float:
    """The mean over conversations of (the count of the most common answer)/m, from 1/n to 1. GRASP, NAACL 2024."""
    return float(_mean(_once(peaks(_planes(counts)))))


def negentropy(counts: Counts) -> float:
    """The mean over conversations of ln n - H in nats: 0 if answers are evenly spread, ln n if all are equal.

    H = -sum of p ln p over the n values. GRASP, NAACL 2024.
    """
    return float(_mean(_once(order(_planes(counts)))))


def xrr(one: Counts, other: Counts, metric: Metric = "nominal") -> float:
    """Cross-replication reliability of two pools, from counts of the same conversations in the same order.

        xRR = 1 - d_o/d_e
        d_o = sum over i of (R_i + S_i)/(R_i S_i) * sum of D(x_i, y_i), divided by R + S
        d_e = sum of D(x, y) over all pairs, divided by R S

    R_i and S_i ratings of conversation i by either pool, R and S of all that both rated. D is 0 or 1 (nominal), or the
    squared difference of the values' places (interval). No unit, at most 1; NaN where they share none. Wong, Paritosh,
    Aroyo: Cross-replication reliability. ACL 2021.
    """
    return float(crossed(_once(crossings(_planes(one), _planes(other))), metric))


def normalised_xrr(one: Counts, other: Counts, metric: Metric = "nominal") -> float:
    """xRR / sqrt(IRR of one * IRR of the other); 1 means as close as within each pool; NaN if an IRR is not above 0.

    Wong, Paritosh, Aroyo: ACL 2021.
    """
    reliable = [float(alphas(_once(pairs(_planes(counts))), metric)) for counts in (one, other)]
    return xrr(one, other, metric) / float(np.sqrt(np.prod(reliable))) if min(reliable) > 0 else float("nan")


def voting_agreement(one: Counts, other: Counts) -> float:
    """The nominal alpha = 1 - d_o/d_e between two pools' most common answers; of equally common ones, the first counts.

    GRASP, NAACL 2024.
    """
    return float(alphas(_both_ways(_once(votes(_planes(one), _planes(other))))))


def gai(group: Counts, others: Counts) -> float:
    """GRASP's group association index, GAI = IRR/XRR; NaN where XRR is not above 0. GRASP, NAACL 2024."""
    return float(_ratio(alphas(_once(pairs(_planes(group)))), np.asarray(xrr(group, others))))


def _chosen(counts: Sums) -> npt.NDArray[np.bool_]:
    """Where each value is the first of a conversation's most common ones."""
    most = counts.max(axis=0)
    free = most > 0
    found = np.empty(counts.shape, dtype=np.bool_)
    for value, given in enumerate(counts):
        np.logical_and(given == most, free, out=found[value])
        free &= ~found[value]
    return found


def _planes(counts: Counts) -> Sums:
    return np.asarray(counts, dtype=np.float64).T


def _once(sums: Sums) -> Sums:
    return np.asarray(sums.sum(axis=-1))


def _both_ways(table: Sums) -> Sums:
    return table + table.swapaxes(0, 1)


def _mean(sums: Sums) -> Sums:
    return _ratio(sums[0], sums[1])


def _ratio(above: Sums, below: Sums) -> Sums:
    found = np.full(np.shape(above), np.nan)
    return np.asarray(np.divide(above, below, out=found, where=below > 0), dtype=np.float64)

"""Permutation tests: does a group's measure differ from its value if profiles had no effect?

The profiles of all raters are permuted N times (whole profiles, so that intersections are preserved), and each measure
of each group is computed again: the values of random groups of the same size. With b of the N at least as high as the
observed one, or at least as low if these are fewer (ties count, to 1e-9),

    p = 2 (b + 1) / (N + 1), at most 1

because the observed assignment is one of the permutations (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39).
GRASP's own p is one-sided, on the observed side of the median: half of this. Undefined permuted values are left out of
N; if fewer than half are defined, there is no p. `adjusted` is Benjamini and Hochberg's (1995, JRSS B 57:289) over a
family of tests.

`interval` has the values of a ratio that the test does not reject, if the ratio of a group is that of a random group
shifted on a scale that is linear up to 1 and logarithmic above (a ratio varies more where it is larger, and may be
below 0). It holds 1 exactly if p is not below 0.05: in 95 % of cases in which groups are random, whatever their size.
"""

from __future__ import annotations

import numpy as np

from app.analysis.dices.coincidence_matrix import Sums
from app.analysis.intervals import Interval

TIE = 1e-9
FEWEST = 0.5
"""The share of permuted values that must be defined."""
FEW = "Too few permutations have a value for an interval."


def p_value(observed: float, permuted: Sums) -> float:
    """The two-sided permutation p, from above 0 to 1; NaN if it is undefined. Phipson and Smyth 2010."""
    known = _defined_values(observed, permuted)
    beyond = min(_above(observed, known), _above(-observed, -known))
    return float(min(1.0, 2 * (beyond + 1) / (known.size + 1))) if known.size else float("nan")


def p_above(observed: float, permuted: Sums) -> float:
    """The permutation p of a value that is large by chance alone, such as a maximum: (b + 1)/(N + 1), one-sided."""
    known = _defined_values(observed, permuted)
    return (_above(observed, known) + 1) / (known.size + 1) if known.size else float("nan")


def interval(observed: float, permuted: Sums) -> Interval:
    """The 95 % interval of a ratio that is 1 in random groups: it holds 1 where `p_value` is not below 0.05."""
    known = np.sort(_defined_values(observed, permuted))
    beyond = known.size // 40  # so many of N may be beyond the observed value where p < 0.05
    if not beyond:
        return Interval(observed, why=FEW)
    low, high = _shifted(observed, known[-beyond] + TIE), _shifted(observed, known[beyond - 1] - TIE)
    return Interval(observed, low, high)


def interval_of_largest(observed: float, permuted: Sums, high: float | None) -> Interval:
    """The 95 % interval of the largest of several ratios, up to `high`, the largest upper end of theirs.

    It holds 1 where `p_above` is not below 0.05; all of its error is at the lower end, as chance alone makes the
    largest of several ratios larger than 1.
    """
    known = np.sort(_defined_values(observed, permuted))
    beyond = known.size // 20
    if not beyond or high is None:
        return Interval(observed, why=FEW)
    return Interval(observed, min(observed, _shifted(observed, known[-beyond] + TIE)), max(observed, high))


def _defined_values(observed: float, permuted: Sums) -> Sums:
    """The permuted values that are defined; none if they, or the observed value, cannot be tested."""
    known = permuted[~np.isnan(permuted)]
    return known[:0] if np.isnan(observed) or known.size < FEWEST * permuted.size else known


def _above(observed: float, known: Sums) -> int:
    """How many values are at least as high."""
    return int((known >= observed - TIE).sum())


def _shifted(observed: float, random: float) -> float:
    """The ratio from which a random group's ratio would be shifted to the observed one."""
    place = _scale(observed) + 1 - _scale(random)
    return float(np.exp(place - 1)) if place > 1 else place


def _scale(ratio: float) -> float:
    """Linear up to 1, logarithmic above, with a slope of 1 on both sides of 1."""
    return 1 + float(np.log(ratio)) if ratio > 1 else float(ratio)

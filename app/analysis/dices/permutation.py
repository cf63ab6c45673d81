"""Permutation tests: does a group's measure differ from its value if profiles had no effect?

The profiles of all raters are permuted N times (whole profiles, so that intersections are preserved), and each measure
of each group is computed again. GRASP's p is the share of permuted values beyond the observed one, on its side of their
median. Exactly: with b of N permuted values at least as extreme as the observed one on its side (ties, to 1e-9, count
as beyond; a value at the median counts as above it)

    p = (b + 1) / (N + 1)

because the observed assignment is one of the permutations (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39).
p is never 0, and one-sided: the data choose the side, so double it for a two-sided test. Undefined permuted values are
left out of N; if fewer than half are defined, there is no p. `adjusted` is Benjamini and Hochberg's (1995, JRSS B
57:289) over a family of tests.
"""

from __future__ import annotations

import numpy as np

from app.analysis.dices.coincidence_matrix import Sums

TIE = 1e-9
FEWEST = 0.5
"""The share of permuted values that must be defined."""


def p_value(observed: float, permuted: Sums) -> float:
    """The one-sided permutation p on the observed side of the median; NaN if it is undefined.

    p = (b + 1)/(N + 1), where b of N permuted values are at least as extreme. Phipson and Smyth 2010.
    """
    known = permuted[~np.isnan(permuted)]
    if np.isnan(observed) or known.size == 0 or known.size < FEWEST * permuted.size:
        return float("nan")
    above = observed >= np.median(known)
    beyond = known >= observed - TIE if above else known <= observed + TIE
    return float((beyond.sum() + 1) / (known.size + 1))


def adjusted(values: Sums) -> Sums:
    """Benjamini and Hochberg's adjusted p of each: the minimum of p_(j) m/j over ranks j from its own, at most 1.

    Tests without a p (NaN) do not count in the family of m tests. Benjamini and Hochberg 1995.
    """
    found = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    by_size = known[np.argsort(values[known], kind="stable")]
    scaled = values[by_size] * by_size.size / np.arange(1, by_size.size + 1)
    found[by_size] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return found

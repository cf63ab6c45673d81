"""Whether a group's measure differs from what it would be if profiles said nothing: permutation tests.

The profiles of all raters are dealt out anew N times (whole profiles, so that intersections stay as they are), and each
measure is taken again of each group. GRASP's p is the share of permuted values beyond the observed one, on its side of
their median. Here, exactly: with b of N permuted values at least as far out as the observed one on its side (ties, to
1e-9, count as beyond; a value at the median counts as above it)

    p = (b + 1) / (N + 1)

as the observed deal is one of those that could have been (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39).
p is never 0, and one-sided: as the data choose the side, double it for a two-sided test. Permuted values that do not
exist are left out of N; where fewer than half exist there is no p. `adjusted` is Benjamini and Hochberg's (1995, JRSS B
57:289) over a family of tests.
"""

from __future__ import annotations

import numpy as np

from app.analysis.dices.coincidence_matrix import Sums

TIE = 1e-9
FEWEST = 0.5
"""So many of the permuted values must exist."""


def p_value(observed: float, permuted: Sums) -> float:
    """How rarely chance gives as much, on the observed side of the median; NaN where that cannot be said.

    p = (b + 1)/(N + 1), one-sided, b of N permuted values being at least as far out. Phipson and Smyth 2010.
    """
    known = permuted[~np.isnan(permuted)]
    if np.isnan(observed) or known.size == 0 or known.size < FEWEST * permuted.size:
        return float("nan")
    above = observed >= np.median(known)
    beyond = known >= observed - TIE if above else known <= observed + TIE
    return float((beyond.sum() + 1) / (known.size + 1))


def adjusted(values: Sums) -> Sums:
    """Benjamini and Hochberg's adjusted p of each: the least over ranks j from its own of p_(j) m/j, at most 1.

    What has no p (NaN) is no part of the family of m = all others. Benjamini and Hochberg 1995.
    """
    found = np.full(values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(values))
    by_size = known[np.argsort(values[known], kind="stable")]
    scaled = values[by_size] * by_size.size / np.arange(1, by_size.size + 1)
    found[by_size] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return found

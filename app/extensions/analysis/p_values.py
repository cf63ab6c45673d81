"""Corrections of p values for the number of tests in a family."""

from __future__ import annotations

import numpy as np

from app.extensions.analysis.intervals import Values


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

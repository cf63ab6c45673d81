"""CR2 and Satterthwaite's degrees of freedom as their definition has them, with all matrices written out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.analysis.intervals import Codes, Values


def by_definition(value: Values, d: Values, people: Codes, others: Values) -> tuple[float, float, float]:
    """The coefficient of `d` beside the columns `others`, its variance, and its degrees of freedom."""
    left = np.eye(value.size) - _hat(np.column_stack([d, others]))
    d = d - _hat(others) @ d
    weight = d @ d
    scores, spread = [], []
    for one in np.unique(people):
        there = np.flatnonzero(people == one)
        values, vectors = np.linalg.eigh(left[np.ix_(there, there)])
        root = np.where(values > 1e-9, np.maximum(values, 1e-9) ** -0.5, 0.0)
        adjusted = vectors @ (root * (vectors.T @ d[there]))
        scores.append(adjusted @ (left @ value)[there])
        spread.append(left[:, there] @ adjusted)
    g = np.array(spread) @ np.array(spread).T
    return d @ value / weight, float(np.square(scores).sum()) / weight**2, np.trace(g) ** 2 / (g * g).sum()


def indicators(codes: Codes) -> Values:
    """A column of zeros and ones for each code."""
    return (codes[:, None] == np.unique(codes)).astype(float)


def _hat(columns: Values) -> NDArray[np.float64]:
    """The projection onto columns, which may depend on each other."""
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]
    hat: NDArray[np.float64] = basis @ basis.T
    return hat

"""CR2 and Satterthwaite's degrees of freedom as their definition has them, with all matrices written out."""

from __future__ import annotations

import numpy as np

from app.extensions.analysis.intervals import Codes, Values


def by_definition(value: Values, d: Values, people: Codes, others: Values) -> tuple[float, float, float]:
    """The coefficient of `d` beside the columns `others`, its variance, and its degrees of freedom."""
    left = np.eye(value.size) - _hat(np.column_stack([d, others]))
    d = d - _hat(others) @ d
    weight = d @ d
    scores: list[float] = []
    spread: list[Values] = []
    for one in np.unique(people):
        there = np.flatnonzero(people == one)
        values, vectors = np.linalg.eigh(left[np.ix_(there, there)])
        root = np.where(values > 1e-9, np.maximum(values, 1e-9) ** -0.5, 0.0)
        adjusted = vectors @ (root * (vectors.T @ d[there]))
        scores.append(float(adjusted @ (left @ value)[there]))
        spread.append(left[:, there] @ adjusted)
    g = np.array(spread) @ np.array(spread).T
    return (
        float(d @ value / weight),
        sum(one**2 for one in scores) / float(weight) ** 2,
        float(np.trace(g) ** 2 / (g * g).sum()),
    )


def indicators(codes: Codes) -> Values:
    found: Values = (codes[:, None] == np.unique(codes)).astype(np.float64)
    return found


def _hat(columns: Values) -> Values:
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis = basis[:, sizes > 1e-9 * sizes[0]]
    hat: Values = basis @ basis.T
    return hat

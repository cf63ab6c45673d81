"""The comparison of arms in a rehearsal, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.extensions.analysis.fidelity_rehearsal import rank_test


def test_two_arms_are_compared_by_the_test_of_kruskal_and_wallis() -> None:
    chance = np.random.default_rng(54)
    for size in (5, 40):
        for values in (chance.normal(size=2 * size), chance.binomial(3, 0.8, 2 * size) / 3):
            first, second = values[:size], values[size:] + chance.choice([0, 0.3])
            assert rank_test(first, second) == pytest.approx(stats.kruskal(first, second).pvalue, rel=1e-9)
    assert rank_test(np.ones(5), np.ones(7)) == 1

"""The comparison of arms in a rehearsal, against SciPy, and its worst conversations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from app.extensions.analysis.fidelity import rank_test, worst_conversations
from storage.log.folded_sessions import FoldedSession
from storage.registers.origins import Origin
from tests.fakes.driven import ABOUT, Driven, small


def test_two_arms_are_compared_by_the_test_of_kruskal_and_wallis() -> None:
    chance = np.random.default_rng(54)
    for size in (5, 40):
        for values in (chance.normal(size=2 * size), chance.binomial(3, 0.8, 2 * size) / 3):
            first, second = values[:size], values[size:] + chance.choice([0, 0.3])
            assert rank_test(first, second) == pytest.approx(stats.kruskal(first, second).pvalue, rel=1e-9)
    assert rank_test(np.ones(5), np.ones(7)) == 1


def test_only_conversations_that_broke_a_rule_are_among_the_worst() -> None:
    loop = {"each": "item", "of": "pool", "flow": [{"step": "chat", "model": "m"}]}
    study = small(loop, problems=[ABOUT], models=["m"], fidelity=[{"name": "asks", "must": "question"}])

    def session(number: int, *replies: str) -> FoldedSession:
        driven = Driven(study)
        for text in replies:
            driven.do("say", text="Hi").hear(text=text)
        return FoldedSession(str(number), number, Origin.REHEARSAL, study, driven.state)

    found = worst_conversations([session(1, "Why?"), session(2, "Why?", "So."), session(3), session(4, "So.")])
    assert [(one["session"], one["kept"]) for one in found] == [(4, 0), (2, 0.5)]

"""The mixed model finds what was planted, and where its library is missing it says what to install."""

from __future__ import annotations

import numpy as np
import pytest

from app.extensions.analysis.public import mixed_model, odds
from tests.fakes.planted import Planted, drawn

PLANTED = Planted(participants=60, ability=0.6, ease=0.8)


def test_planted_effects_are_within_their_errors_and_names_are_stable() -> None:
    answers = drawn(PLANTED, np.random.default_rng(2))
    found = mixed_model(answers)
    assert found is not None
    effects = {one.level: one for one in found.effects}
    truths = {"user-AI.answer-first": 0.9, "user-AI.direct-to-AI": 0.8, "llama-3.1-8b": -0.4}
    for level, truth in truths.items():
        one = effects[level]
        assert abs(one.value - truth) < 3.5 * one.standard_error
        assert 0 < one.sd_library < one.standard_error < 0.5
    assert 0.3 < found.participant_sd < 1
    assert 0.4 < found.question_sd < 1.4
    (finding,) = odds(answers)
    names = {one.name: one for one in finding.estimates}
    way = names["chatbench.odds.way.user-AI.answer-first"]
    assert way.further["odds_ratio"] == pytest.approx(np.exp(way.value))
    assert way.groups == {"way": "user-AI.answer-first", "against": "user-alone"}
    assert "chatbench.odds.model.llama-3_1-8b" in names

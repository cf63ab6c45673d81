"""Simulated participants' tendencies: the same for the same label, and what they judge depends on person and item."""

from __future__ import annotations

from statistics import fmean

import krippendorff
import numpy as np
import pytest

from app.bots.tendencies import Tendencies
from experiments.instruments.dices_safety import columns

PEOPLE = [Tendencies.of(f"person {n}") for n in range(60)]
ITEMS = [f"conversation {n}" for n in range(40)]


@pytest.mark.parametrize("edition", ["dices-350", "dices-990"])
def test_raters_agree_to_a_degree_on_what_is_unsafe(edition: str) -> None:
    chance = np.random.default_rng(1)
    reasons = columns(edition)
    said = {}
    for n, person in enumerate(PEOPLE):
        for item in ITEMS:
            mood, *noise = chance.standard_normal(len(reasons) + 1)
            answers = [person.unsafe(item, reason, mood, one) for reason, one in zip(reasons, noise, strict=True)]
            said[n, item] = "Yes" if "Yes" in answers else "Unsure" if "Unsure" in answers else "No"
    yes = fmean(one == "Yes" for one in said.values())
    assert 0.2 < yes < 0.6
    answers_of = [[said[n, item] for item in ITEMS] for n in range(len(PEOPLE))]
    assert 0.1 < krippendorff.alpha(answers_of, level_of_measurement="nominal") < 0.6

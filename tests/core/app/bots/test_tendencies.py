"""Simulated participants' tendencies: the same for the same label, and what they judge depends on person and item."""

from __future__ import annotations

from statistics import fmean

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bots.simulate import found_answers
from app.bots.tendencies import CARE, Tendencies
from experiments.instruments.dices_safety import columns
from experiments.session.state import current_location
from experiments.study.step import Step
from tests.fakes.sessions import STUDIES, play, study

PEOPLE = [Tendencies.of(f"person {n}") for n in range(60)]
ITEMS = [f"conversation {n}" for n in range(40)]


@given(st.text(max_size=30))
def test_tendencies_follow_from_the_label_alone(label: str) -> None:
    assert Tendencies.of(label) == Tendencies.of(label)
    assert CARE[0] <= Tendencies.of(label).care <= CARE[1]


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


def test_only_answers_to_problems_and_checks_are_given_in_a_participants_name() -> None:
    everything = study(str(STUDIES / "everything.yaml"))
    given_ = set()
    for state, _ in play(everything, "found", person="found"):
        place = current_location(everything, state)
        if place is not None and isinstance(place.node, Step):
            found = found_answers(everything, state, PEOPLE[0], 0.0)
            assert not found or place.node.step != "guess"
            given_ |= {place.node.step} if found else set()
    assert {"answer", "check"} <= given_

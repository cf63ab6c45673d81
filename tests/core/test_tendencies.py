"""Simulated participants' tendencies: the same for the same label, and what they judge depends on person and item."""

from __future__ import annotations

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis import alpha, counts_of
from app.bots.simulate import found_answers
from app.bots.tendencies import CARE, Tendencies, trait
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


def test_traits_are_about_standard_normal_and_independent() -> None:
    skill, harm = ([trait(f"{n}", name) for n in range(2000)] for name in ("skill", "harm"))
    assert fmean(skill) == pytest.approx(0, abs=0.1)
    assert stdev(skill) == pytest.approx(1, abs=0.1)
    assert abs(np.corrcoef(skill, harm)[0, 1]) < 0.1


def test_skill_and_help_make_right_answers_likelier() -> None:
    able, unable = (sorted(PEOPLE, key=lambda one: one.skill)[end] for end in (-1, 0))
    for problem in ITEMS:
        assert unable.knows(problem, helped=False) < able.knows(problem, helped=False)
        assert able.knows(problem, helped=False) < able.knows(problem, helped=True)
    shares = [one.knows(problem, helped=False) for one in PEOPLE for problem in ITEMS]
    assert 0.5 < fmean(shares) < 0.7


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
    assert 0.1 < alpha(counts_of([item for _, item in said], [*said.values()])) < 0.6


def test_only_answers_to_problems_and_checks_are_given_in_a_participants_name() -> None:
    """A guess which model replied has right answers too, but nobody can work them out."""
    everything = study(str(STUDIES / "everything.yaml"))
    given_ = set()
    for state, _ in play(everything, "found", person="found"):
        place = current_location(everything, state)
        if place is not None and isinstance(place.node, Step):
            found = found_answers(everything, state, PEOPLE[0], 0.0)
            assert not found or place.node.step != "guess"
            given_ |= {place.node.step} if found else set()
    assert {"answer", "check"} <= given_

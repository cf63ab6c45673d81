"""The units of a session and the rows made of them: kept from fact to fact, they are what the facts alone imply."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from experiments.session.engine import fold
from experiments.study.location import State
from experiments.views.problem_history import problem_turns
from storage.schemas.registry import rows_of
from tests.fakes.annotated import annotated
from tests.fakes.examples import SEEDS, examples
from tests.fakes.sessions import NAMES, study, whole

seeds = st.integers(0, SEEDS).map(str)
shares = st.floats(0, 1)


def states(name: str, seed: str, chance: random.Random, share: float) -> Iterator[State]:
    state = State()
    for event in whole(name, seed):
        if chance.random() < share:
            state = fold(annotated(study(name), state, chance), state)
        state = fold([replace(event, seq=state.seq + 1)], state)
        yield state


@given(st.sampled_from(NAMES), seeds, st.integers(0, 10**6), shares, shares)
@examples(8)
def test_rows_that_were_known_at_some_facts_are_the_same_as_rows_made_anew(
    name: str, seed: str, luck: int, notes: float, looks: float
) -> None:
    chance = random.Random(luck)
    for state in states(name, seed, chance, notes):
        if chance.random() > looks and not state.outcome:
            continue
        afresh = fold(state.events)
        assert problem_turns(study(name), state) == problem_turns(study(name), afresh)
        assert list(rows_of(study(name), state).items()) == list(rows_of(study(name), afresh).items())
        beside = fold(annotated(study(name), state, chance), state)  # another that follows, and changes nothing here
        assert rows_of(study(name), beside) == rows_of(study(name), fold(beside.events))

"""The trail of a session: made longer fact by fact, it is what a walk from the start finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experiments.events import Action
from experiments.session.engine import decide, fold, screen
from experiments.session.state import VisitedPath, visited_path
from experiments.study.location import State
from tests.fakes.examples import SEEDS, examples
from tests.fakes.sessions import NAMES, study, whole

seeds = st.integers(0, SEEDS).map(str)
shares = st.floats(0, 1)


def afresh(name: str, state: State) -> VisitedPath:
    """The trail of a session of which nothing is known but its facts."""
    return visited_path(study(name), fold(state.events))


@given(st.sampled_from(NAMES), seeds, st.lists(shares, max_size=6))
@examples(10)
def test_a_trail_that_was_known_at_some_facts_is_the_same_as_one_that_never_was(
    name: str, seed: str, looks: list[float]
) -> None:
    log = whole(name, seed)
    looking = {round(share * len(log)) for share in looks}
    state = State()
    for number, event in enumerate(log, 1):
        state = fold([event], state)
        if number in looking:
            assert visited_path(study(name), state) == afresh(name, state)
            assert screen(study(name), state) == screen(study(name), fold(state.events))
    assert visited_path(study(name), state) == afresh(name, state)


@given(st.sampled_from(NAMES), seeds, shares, st.integers(-(10**9), 10**9))
@examples(10)
def test_no_fact_is_dated_before_the_one_before_it(name: str, seed: str, share: float, off_us: int) -> None:
    log = whole(name, seed)
    state = fold(log[: 1 + round(share * (len(log) - 1))])
    last_us = state.events[-1].at_us
    note = Action("noted", "", {"text": "rang up"}, last_us + off_us, by="researcher")
    assert [event.at_us for event in decide(study(name), state, note)] == [last_us + max(0, off_us)]

"""How far people come: against folding every session and asking each which steps it ever came to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from experiments.session.engine import fold
from experiments.session.state import current_location, furthest, visited
from experiments.study.location import State, without_indices
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.funnel import SessionGroup, StepCount, funnel, funnel_steps
from tests.fakes.examples import examples
from tests.fakes.sessions import NAMES, study, whole

CUTS = st.tuples(st.integers(0, 5), st.sampled_from((0.1, 0.3, 0.5, 0.8, 0.95, 1)))
# Of those who have not ended, every so manieth is gone.
LIVE_UNTIL = 3


@cache
def cut(name: str, seed: str, share: float) -> State:
    """A session as far as that, and on to the next screen: what is owed at once is written with what it follows."""
    log = whole(name, seed)
    known = (fold(log[:until]) for until in range(max(2, round(share * len(log))), len(log) + 1))
    return next(s for s in known if (place := current_location(study(name), s)) and isinstance(place.node, Step))


def group_of(study: Study, state: State, live: bool) -> SessionGroup:
    place = current_location(study, state)
    where = (without_indices(place.path), furthest(place)) if place else ("", "")
    return SessionGroup(state.factors, *where, state.outcome or None, live, 1, state.events[-1].at_us)


def came_to(study: Study, state: State) -> set[str]:
    return {without_indices(place.path) for place in visited(study, state) if isinstance(place.node, Step)}


@examples(15)
@given(name=st.sampled_from(NAMES), cuts=st.lists(CUTS, max_size=12))
def test_the_funnel_is_what_folding_every_session_gives(name: str, cuts: Sequence[tuple[int, float]]) -> None:
    own = study(name)
    states = [cut(name, str(seed), share) for seed, share in cuts]
    lively = [not state.outcome and number % LIVE_UNTIL > 0 for number, state in enumerate(states)]
    found = funnel(own, [group_of(own, state, live) for state, live in zip(states, lively, strict=True)])
    assert found.elsewhere == 0
    for met in found.steps:
        check_step(own, met, states, lively)


def check_step(own: Study, met: StepCount, states: Sequence[State], lively: Sequence[bool]) -> None:
    """A step's figures, from every session alone: who came to it, or to one behind it in their condition's order."""
    whose = [stage for stage in funnel_steps(own) if stage.path == met.path]
    orders = {id(state): [stage.path for stage in funnel_steps(own) if stage.of(state.factors)] for state in states}
    having = [state for state in states if any(stage.of(state.factors) for stage in whose)]
    assert met.of == len(having)
    beyond = [set(orders[id(state)][orders[id(state)].index(met.path) :]) for state in having]
    assert met.came == sum(bool(came_to(own, s) & after) for s, after in zip(having, beyond, strict=True))
    there = [(s, live) for s, live in zip(states, lively, strict=True) if at(own, s) == met.path]
    assert met.stopped == sum(not live and s.outcome != "complete" for s, live in there)
    assert met.now == sum(live for _, live in there)
    assert met.since_us == min((s.events[-1].at_us for s, live in there if live), default=None)


def at(own: Study, state: State) -> str:
    place = current_location(own, state)
    return without_indices(place.path) if place else ""

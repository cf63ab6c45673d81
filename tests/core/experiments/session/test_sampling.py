"""Draws with a target: those with the fewest ratings first, by chance among equals; and a draw says what it knew."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import Refused
from experiments.events import Action, Data, Event
from experiments.session.engine import decide, fold, pending_tasks
from experiments.study.location import State
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes.driven import small
from tests.fakes.examples import examples
from tests.fakes.sessions import enrolment


def rating(size: int, **loop: Any) -> Study:
    """A study that begins with a loop over a pool of this size."""
    pool = [Problem(f"i{number}", text := f"Number {number}", text, "numbers") for number in range(size)]
    each = {"each": "item", "of": "pool", "flow": [{"step": "info", "text": "{{item.text}}"}], **loop}
    return small(each, problems=pool)


def draw(study: Study, seed: str, data: Data) -> Event:
    """What the first loop draws for a newcomer who has this seed, where the world supplies this."""
    state = fold(decide(study, State(), enrolment(seed)))
    (event,) = decide(study, state, Action("draw", "item", data, 0, by="system"))
    return event


def ids(event: Event) -> list[str]:
    return [item["item"] for item in event.data["items"]]


@st.composite
def sizes(choose: st.DrawFn) -> tuple[int, int, int]:
    """A pool, how many of it each rater is given, and how many raters there are."""
    size = choose(st.integers(1, 30))
    return size, choose(st.integers(1, size)), choose(st.integers(1, 40))


@given(sizes(), st.integers(1, 9), st.sampled_from(["take", "up_to"]), st.text(max_size=5))
@examples(20)
def test_ratings_differ_by_one_at_most_and_nobody_rates_an_item_twice(
    sizes: tuple[int, int, int], target: int, how: str, seed: str
) -> None:
    size, take, raters = sizes
    study = rating(size, target=target, **{how: take})
    taken: Counter[str] = Counter({f"i{number}": 0 for number in range(size)})
    for rater in range(raters):
        drawn = draw(study, f"{seed}{rater}", {"taken": dict(+taken)})
        assert len(set(ids(drawn))) == len(ids(drawn)) == take
        assert drawn.data["taken"] == dict(+taken), "what was counted, so that it can be drawn again"
        taken.update(ids(drawn))
        assert max(taken.values()) - min(taken.values()) <= 1
    assert taken.total() == take * raters


def test_a_draw_with_a_target_is_owed_with_it_and_refused_without_counts() -> None:
    study = rating(4, take=2, target=5)
    (job,) = pending_tasks(study, fold(decide(study, State(), enrolment("1"))))
    assert (job.kind, job.data) == ("draw", {"target": 5})
    with pytest.raises(Refused, match="needs `taken`"):
        draw(study, "1", {})

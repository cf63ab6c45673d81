"""Latin squares: what a row promises, and that participants are spread over the rows whatever else they get."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.loader import load_study
from experiments.events import Action
from experiments.session.assignment import assignment_fact
from experiments.session.engine import decide, fold
from experiments.study.latin_square import square
from experiments.study.location import State
from experiments.study.study import Study
from tests.fakes import studies
from tests.fakes.sessions import enrolment

LETTERS = "abcd"


@given(st.integers(1, 12))
def test_each_stands_equally_often_at_each_place_and_after_each_other(size: int) -> None:
    rows = square(size)
    assert len(rows) == (size if size % 2 == 0 or size == 1 else 2 * size)
    assert all(sorted(row) == list(range(size)) for row in rows)
    for place in range(size):
        assert set(Counter(row[place] for row in rows).values()) == {len(rows) // size}
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert len(set(follows.values())) <= 1
    assert len(follows) == size * (size - 1)


def study(folder: Path, **loop: Any) -> Study:
    items = [{"id": letter, "text": letter, "tags": {"kind": letter}} for letter in LETTERS]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    each = {"each": "item", "of": "items", "order": "latin_square", "flow": [{"step": "info", "text": "Read."}]}
    raw: dict[str, Any] = {
        "study": "squared",
        "title": "Squares",
        "problems": {"items": {"source": "jsonl", "path": "items.jsonl"}},
        "models": {name: {"backend": "scripted"} for name in ("x", "y")},
        "factors": {"condition": ["one", "two"]},
        "flow": [each | loop, {"step": "finish"}],
    }
    return load_study(str(studies.write(folder, raw)))


def session(found: Study, number: int, others: list[State]) -> State:
    counts = [[dict(cell), n] for cell, n in Counter(tuple(s.factors.items()) for s in others).items()]
    state = fold(decide(found, State(), enrolment(f"{number}")))
    for kind, path, told in (("assign", "", {"counts": counts, "caps": []}), ("draw", "item", {})):
        state = fold(decide(found, state, Action(kind, path, told, 0, by="system")), state)
    return state


@pytest.mark.parametrize("of", ["items", "items.kind"])
def test_participants_fill_the_square_evenly_in_each_condition(tmp_path: Path, of: str) -> None:
    found = study(tmp_path, of=of, vary={"model": ["x", "y"]}, vary_order="latin_square")
    assert list(found.factors) == ["condition", "item_order", "item_model_order"]
    people: list[State] = []
    for number in range(2 * 4 * 2):
        people.append(session(found, number, people))
    drawn = [(state.factors["condition"], state.draws["item"].items) for state in people]
    for place in range(4):
        at = Counter((condition, items[place]["item"]) for condition, items in drawn)
        assert len(at) == 8
        assert set(at.values()) == {2}, "each at each place, as often in each condition"
    met = Counter((items[0]["item"], items[0]["model"]) for _, items in drawn)
    assert len(met) == 8
    assert set(met.values()) == {2}
    again = [assignment_fact(found, state.seed, state.events[1].data) for state in people]
    assert again == [dict(state.events[1].data) for state in people]

"""What is odd about a session: each flag on one that has it, and not on one that nearly has it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.studies.loader import load_study
from experiments.events import Action, Event
from experiments.session.engine import decide, fold, screen
from experiments.study.location import State
from experiments.study.study import Study
from experiments.views.quality_flags import Flag, flags
from storage.log.seats import seat_of
from tests.fakes import studies
from tests.fakes.sessions import NAMES, enrolment, study, whole, world

SECOND_US = 1_000_000
LONG = " ".join(f"word{n}" for n in range(119))
GRID = [
    {"type": "single_choice", "name": f"r{n}", "text": f"Row{n}", "options": ["Yes", "No"], "matrix": "Which?"}
    for n in range(3)
]
RIGHT = {"step": "check", "kind": "attention", "correct_answers": {"there": ["yes"]}}
RIGHT |= {"questions": [{"type": "single_choice", "name": "there", "text": "There?", "options": ["yes", "no"]}]}
RAW: dict[str, Any] = {
    "study": "odd",
    "title": "Odd",
    "problems": {"items": {"source": "jsonl", "path": "items.jsonl"}},
    "models": {"one": {"backend": "scripted"}},
    "flow": [
        {
            "step": "survey",
            "id": "read",
            "text": LONG,
            "questions": [{"type": "short_text", "name": "thought", "text": "So?"}],
        },
        {"each": "item", "of": "items", "take": 3, "flow": [{"step": "survey", "id": "grid", "questions": GRID}]},
        {"step": "survey", "id": "one", "questions": [{"type": "short_text", "name": "x", "text": "X?"}]},
        {**RIGHT, "id": "awake"},
        {**RIGHT, "id": "still"},
        {"each": "talk", "of": "items", "take": 1, "flow": [{"step": "chat", "max_messages": 9}]},
        {"step": "finish"},
    ],
}
GRIDS = [{"r0": "No", "r1": "No", "r2": "No"}] * 3
SAID = ["Why is that so?", "And now?", "Thank you"]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("odd")
    items = [{"id": f"i{n}", "text": "?"} for n in range(4)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
    return load_study(str(studies.write(folder, RAW)))


def played(
    study: Study,
    *,
    read_s: float = 60,
    grids: Sequence[Mapping[str, str]] = (*GRIDS[:2], {**GRIDS[0], "r2": "Yes"}),
    awake: tuple[str, str] = ("yes", "yes"),
    said: Sequence[str] = SAID,
    words: str = "Let us see.",
) -> State:
    """A session of somebody who takes half a minute a screen, but for what is given."""
    answers: dict[str, list[Mapping[str, Any]]] = {
        "read": [{"thought": "hm"}],
        "grid": list(grids),
        "one": [{"x": "y"}],
        "awake": [{"there": awake[0]}],
        "still": [{"there": awake[1]}],
    }
    talk = list(said)
    state, at_us = fold(decide(study, State(), enrolment("s"))), 0
    while not state.outcome:
        if (due := world(study, state, at_us, words)) is not None:
            state = fold(decide(study, state, due), state)
            continue
        seen = screen(study, state)
        name = seen.path.rpartition("/")[2]
        at_us += round((read_s if name == "read" else 30) * SECOND_US)
        kind, values = ("say", {"text": talk.pop(0)}) if name == "chat" and talk else ("submit", {})
        values = answers[name].pop(0) if name in answers else values
        state = fold(decide(study, state, Action(kind, seen.path, values, at_us, seen=seen.seen)), state)
    return state


def told(study: Study, state: State) -> list[str]:
    return [flag.what for flag in flags(study, state)]


def test_a_screen_that_nobody_can_have_read_is_told_with_its_figures(odd: Study) -> None:
    # 120 words at four times 238 words a minute are 7.6 s.
    assert told(odd, played(odd, read_s=7.7)) == []
    (flag,) = flags(odd, played(odd, read_s=7.5))
    assert (flag.what, flag.path) == ("too_fast", "read")
    assert flag.why.startswith("120 words and 1 question were completed in 7.5 s. Screens this fast: 1 of ")


def test_who_came_in_the_grace_of_a_wave_is_told_at_once(odd: Study) -> None:
    state = fold(decide(odd, State(), enrolment("s")))
    assert (told(odd, state), seat_of(odd, state).flags) == ([], "")
    late = replace(state, enrolled={**state.enrolled, "late": True})
    assert (told(odd, late), seat_of(odd, late).flags) == (["late"], "late")


def test_only_ratings_that_are_all_the_same_are_a_straight_line(odd: Study) -> None:
    (flag,) = flags(odd, played(odd, grids=GRIDS))
    assert flag == Flag("straight_lined", "All 9 ratings, in 3 sets, are No.", "item[0]/grid")


@given(name=st.sampled_from(NAMES), seed=st.integers(0, 3).map(str), data=st.data())
def test_any_session_can_be_looked_at_at_any_moment_and_at_any_speed(name: str, seed: str, data: st.DataObject) -> None:
    log: Sequence[Event] = whole(name, seed)
    until, slower = data.draw(st.integers(1, len(log))), data.draw(st.sampled_from((0, 1, 1_000)))
    found = flags(study(name), fold(replace(event, at_us=event.at_us * slower) for event in log[:until]))
    assert len({flag.what for flag in found}) == len(found)
    assert slower < 1_000 or "too_fast" not in [flag.what for flag in found]
    assert all(flag.why.endswith(".") for flag in found)

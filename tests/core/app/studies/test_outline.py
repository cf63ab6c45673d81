"""A study's outline: what it is made of, as values; and the same drawn for a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.tree import Tree

from app.studies.loader import load_study
from app.studies.outline import outline, steps, to_rich_tree
from experiments.session.engine import fold
from experiments.session.state import walk
from experiments.study.location import without_indices
from experiments.study.step import Step
from tests.fakes import studies, waves
from tests.fakes.sessions import NAMES, study, whole


@pytest.mark.parametrize("name", NAMES)
def test_every_step_that_a_participant_meets_is_in_the_outline_in_their_order(name: str) -> None:
    state = fold(whole(name, "outline"))
    met = list(dict.fromkeys(without_indices(p.path) for p in walk(study(name), state) if isinstance(p.node, Step)))
    known = list(dict.fromkeys(step.path for step in steps(outline(study(name)))))
    assert met == [path for path in known if path in met]


def test_what_a_study_says_is_no_markup_of_the_terminal(tmp_path: Path) -> None:
    raw = {
        "study": "small",
        "title": "Small",
        "flow": [
            {"phase": "[red]One[/red]", "flow": [{"step": "info", "text": "Hello"}]},
            {"step": "finish", "id": "end", "code": "X"},
        ],
    }
    tree = Tree("small")
    to_rich_tree(outline(load_study(str(studies.write(tmp_path, raw)))), tree)
    page = io.StringIO()
    Console(file=page, width=100).print(tree)
    assert "[red]One[/red]" in page.getvalue()
    assert "finish (end)" in page.getvalue()


def test_waves_and_what_serves_them_are_in_the_outline() -> None:
    told = {
        "help": "Within a day.",
        "memory": {"kind": {"by": "help", "pick": {"alone": "none", "assistant": "transcript"}}},
        "reminders": {"channels": ["mail"], "send": [{}, {"when": "6 hours before closing"}]},
    }
    talk = {"step": "compare", "models": ["m", "m"], "vote_when": "at_end", "min_messages": 0}
    last = {**waves.WAVES[-1], "flow": [talk, {"step": "finish"}]}
    found = outline(waves.study(**told, models={"m": {"backend": "scripted"}}, waves=[*waves.WAVES[:-1], last]))
    parts = [(part.kind, part.text) for part in found if part.kind not in ("model", "factor", "flow")]
    assert parts == [
        ("wave", "Week 1: opens with the study"),
        (
            "wave",
            "Week 2: opens 7 days after the end of the wave before, at 09:00, can be started for 2 days, "
            "late for 12 hours more; if missed: invite again",
        ),
        ("wave", "Evening: opens 10 hours after the end of week-2, can be started for 6 hours; if missed: go on"),
        ("wave", "Last: opens on 2027-04-20 at 08:30, can be started for 1 week; if missed: drop"),
        ("reminders", "by mail: opening, 6 hours before closing"),
        ("memory", "for each help: alone: none, assistant: transcript"),
        ("help", "Within a day."),
    ]

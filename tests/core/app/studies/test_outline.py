"""A study's outline: what it is made of, as values; and the same drawn for a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.tree import Tree

from app.studies.loader import load_study
from app.studies.outline import Branch, outline, steps, to_rich_tree
from experiments.session.engine import fold
from experiments.session.state import walk
from experiments.session.telemetry import without_indices
from experiments.study.step import Step
from tests.fakes import studies
from tests.fakes.sessions import NAMES, study, whole


def _flow() -> Branch:
    return outline(study("chatbench"))[-1]


def test_a_flow_has_the_path_the_condition_and_the_count_of_each_part() -> None:
    phase = next(part for part in _flow().children if part.text == "Phase 2")
    (loop,) = phase.children
    assert (phase.kind, phase.path) == ("phase", "phase-2")
    assert (loop.kind, loop.text, loop.note, loop.path) == ("each", "question", "9 of questions", "phase-2/question")
    alone = next(part for part in loop.children if part.note == "alone")
    assert (alone.text, alone.only, alone.path) == ("answer", "condition is answer-first", "phase-2/question[*]/alone")


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

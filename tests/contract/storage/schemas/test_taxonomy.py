"""CheckMate's annotated queries: the released header and cells, and the rows of a session that labels conversations."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.events import Action
from experiments.instruments.scales import HEADERS, WRITE_IN_HEADER
from experiments.session.engine import decide, fold, screen
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems.problem import DialogueMessage, Problem
from storage.columns import Column
from storage.schemas.taxonomy import SCHEMA
from tests.fakes.sessions import play

(TABLE,) = SCHEMA.tables
BY_NAME = {column.name: column for column in TABLE.columns}
SAID = (
    DialogueMessage("user", "What is a group?"),
    DialogueMessage("bot", "A set with\nan operation."),
    DialogueMessage("user", "Why?"),
)
# One about a problem; the text of the other is its last message, as where a source has no problem.
TALKS = tuple(Problem(f"t{n}", text, "", "custom", dialogue=SAID) for n, text in enumerate(("Show it.", SAID[-1].text)))


def cell(column: Column, written: str) -> Any:
    if written:
        return column.form.read(written)
    assert column.form.blank, column.name
    return None


@pytest.fixture
def labelling() -> Study:
    raw = {
        "study": "small",
        "title": "Small",
        "problems": {"talks": {"source": "jsonl"}},
        "flow": [
            {"each": "talk", "of": "talks", "order": "listed", "flow": [{"step": "label_turns"}]},
            {"step": "finish"},
        ],
    }
    return resolve(raw, {}, {"talks": TALKS})


def test_the_releases_slips_are_read_and_other_values_are_not() -> None:
    label, exclamation = BY_NAME[HEADERS["definition"]], BY_NAME[HEADERS["not-mathematics"]]
    assert [cell(label, slip) for slip in ("0.0", "yy", "xw", "")] == ["0.0", "yy", "xw", None]
    assert cell(exclamation, "A whole sentence.") == "A whole sentence."
    with pytest.raises(ValueError):  # noqa: PT011  (a form says nothing more)
        cell(label, "A whole sentence.")
    assert list(label.form.labels) == ["y", "0"]


def test_a_row_is_a_message_with_what_was_said_before_and_its_labels(labelling: Study) -> None:
    state = next(state for state, _ in play(labelling, "1") if screen(labelling, state).path.endswith("label_turns"))
    said = [
        {"labels_0": ["definition", "reason"], "other_0": "greeting; joke", "labels_1": []},
        {"labels_1": ["not-mathematics"]},
    ]
    for number, values in enumerate(said):
        assert len(SCHEMA.rows(labelling, state)) == 2 * number
        seen = screen(labelling, state)
        click = Action("submit", seen.path, values, 10**7 * (number + 1), seen=seen.seen)
        state = fold(decide(labelling, state, click), state)
    rows = [{name: row.values[column.sql] for name, column in BY_NAME.items()} for row in SCHEMA.rows(labelling, state)]
    none = dict.fromkeys((*HEADERS.values(), WRITE_IN_HEADER), "0")
    marked = [
        {HEADERS["definition"]: "y", HEADERS["reason"]: "y", WRITE_IN_HEADER: "greeting; joke"},
        {},
        {},
        {HEADERS["not-mathematics"]: "y"},
    ]
    for number, (row, labels) in enumerate(zip(rows, marked, strict=True)):
        second = number % 2
        assert row == {
            "": number,
            "problem_declaration": None if number // 2 else "Show it.",
            "previous_interactions": "User: What is a group?\nAI: A set with\nan operation." if second else "No prev",
            "user_query": "User: Why?" if second else "User: What is a group?",
            **none,
            **labels,
            "Orig Idx": None,  # counted over the whole file when it is exported
        }

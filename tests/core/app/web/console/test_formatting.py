"""What the console calls a step."""

from __future__ import annotations

import pytest

from app.web.console.formatting import step_label


@pytest.mark.parametrize(
    ("title", "name"),
    [("Question {{number}}", "Question …"), ("{{problem.text}}", "With AI"), ("", "With AI"), ("Rate", "Rate")],
)
def test_what_a_title_fills_in_for_each_participant_is_left_open(title: str, name: str) -> None:
    assert step_label("question[*]/with_ai", title) == (name, "Question")

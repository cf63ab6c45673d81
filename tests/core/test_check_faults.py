"""Checks that cannot be: each is refused with the place, what is allowed, and what was perhaps meant."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.checked import CHOICE, PROBLEMS, check, study_of


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"attempts": 1}, "needs `attempts: 2` or more: Prolific requires at least two tries"),
        ({"kind": "screening", "attempts": 2}, "a screening check has one try"),
        ({"ask_problem": True}, "needs either `questions` or `ask_problem: true`"),
        ({"questions": [], "ask_problem": True}, "`correct_answers` does not go with `ask_problem`"),
        ({"correct_answers": {}}, "needs `correct_answers`"),
        (
            {"correct_answers": {"tools": "yess"}},
            "`correct_answers.tools`: 'yess' is not an option of this question; allowed: no, yes.",
        ),
        ({"correct_answers": {"age": "old"}}, "Please enter a whole number."),
        ({"correct_answers": {"age": {"minimum": 18.2, "maximum": 18.8}}}, "is a number in this range"),
        ({"correct_answers": {"any": "{{study}}"}}, "names in it are not filled in"),
        ({"questions": [CHOICE, CHOICE]}, "two questions are called 'tools'"),
        ({"questions": [{**CHOICE, "name": "passed"}]}, "'passed', which is reserved by the check"),
    ],
)
def test_a_check_that_cannot_be_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError) as told:
        study_of({**check(), **keys})
    assert words in str(told.value)


def test_a_problem_is_no_check_where_its_answer_is_not_known() -> None:
    unknown = [{**PROBLEMS[0], "answer": None}, *PROBLEMS[1:]]
    with pytest.raises(StudyError, match="needs problems whose correct answer is known"):
        study_of({"each": "q", "of": "questions", "flow": [check("attention", ask_problem=True)]}, problems=unknown)

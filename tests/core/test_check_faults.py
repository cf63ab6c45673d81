"""Checks that cannot be: each is refused with the place, what is allowed, and what was perhaps meant."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.checked import CHOICE, PROBLEMS, check, study_of


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"attempts": 1}, "needs `attempts: 2` or more: Prolific demands two tries"),
        ({"kind": "screening", "attempts": 2}, "screening has one try"),
        ({"kind": "screening", "after": 2}, "`after` counts attention checks"),
        ({"of_problem": True}, "needs either `questions` or `of_problem: true`"),
        ({"questions": [], "of_problem": True}, "`right` does not go with `of_problem`"),
        ({"questions": [], "of_problem": True, "right": {}}, "must stand inside an `each`"),
        ({"right": {}}, "needs `right`"),
        ({"right": {"tools": "yess"}}, "`right.tools`: 'yess' is no option of this question; allowed: no, yes."),
        ({"right": {"tools": None}}, "flow[0].right.tools: null: needs an answer, a list of answers, or"),
        ({"right": {"age": "old"}}, "Please enter a whole number."),
        ({"right": {"age": {"minimum": 18.2, "maximum": 18.8}}}, "is a number in this range"),
        ({"right": {"age": {"minimum": 5, "maximum": 4}}}, "minimum 5 is above maximum 4"),
        ({"right": {"any": "{{study}}"}}, "names in it are not filled in"),
        ({"questions": [CHOICE, CHOICE]}, "two questions are called 'tools'"),
        ({"questions": [{**CHOICE, "name": "passed"}]}, "'passed', which is a name of the check's own"),
    ],
)
def test_a_check_that_cannot_be_is_refused(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError) as told:
        study_of({**check(), **keys})
    assert words in str(told.value)


def test_a_problem_is_no_check_where_its_answer_is_not_known() -> None:
    unknown = [{**PROBLEMS[0], "answer": None}, *PROBLEMS[1:]]
    with pytest.raises(StudyError, match="needs problems whose right answer is known"):
        study_of({"each": "q", "of": "questions", "flow": [check("attention", of_problem=True)]}, problems=unknown)

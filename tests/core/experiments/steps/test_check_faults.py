"""Checks that cannot be: each is refused with the place, what is allowed, and what was perhaps meant."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.errors import StudyError
from tests.fakes.checked import CHOICE, PROBLEMS, check, study_of


@pytest.mark.parametrize(
    "keys",
    [
        *({"attempts": 1}, {"kind": "screening", "attempts": 2}, {"ask_problem": True}, {"correct_answers": {}}),
        {"questions": [], "ask_problem": True},
        *({"correct_answers": answer} for answer in ({"tools": "yess"}, {"age": "old"}, {"any": "{{study}}"})),
        {"correct_answers": {"age": {"minimum": 18.2, "maximum": 18.8}}},
        *({"questions": [CHOICE, CHOICE]}, {"questions": [{**CHOICE, "name": "passed"}]}),
    ],
    ids=str,
)
def test_a_check_that_cannot_be_is_refused_at_its_place(keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError) as told:
        study_of({**check(), **keys})
    assert {issue.where for issue in told.value.found} == {"flow[0]"}


def test_a_problem_is_no_check_where_its_answer_is_not_known() -> None:
    unknown = [{**PROBLEMS[0], "answer": None}, *PROBLEMS[1:]]
    with pytest.raises(StudyError, match="needs problems whose correct answer is known"):
        study_of({"each": "q", "of": "questions", "flow": [check("attention", ask_problem=True)]}, problems=unknown)

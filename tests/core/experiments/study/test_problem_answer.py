"""Numbers as answers to problems, and confidence in points: what is shown, recorded, judged and refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.participant.view import StudyContext, render_page
from experiments.errors import StudyError
from experiments.session.state import visited
from experiments.study.fields import Number, Slider
from experiments.study.problem_answer import NumericAnswer
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.answers import answered
from experiments.views.bonus import questions
from problems.problem import Problem
from tests.fakes.checked import PROBLEMS
from tests.fakes.driven import Driven, small


def numeric(answer: str | None, **tags: str) -> Problem:
    return Problem("n", "How heavy?", "How heavy?", "d", answer=answer, tags=tags)


def asking(problem: Problem, **keys: Any) -> Study:
    step = {"step": "answer", "number": {"unit": "kg", "tolerance": "10 %"}, **keys}
    step = {key: value for key, value in step.items() if value is not None}
    return small({"each": "question", "of": "pool", "flow": [step]}, problems=[problem])


def test_a_number_is_shown_with_its_unit_and_begins_empty() -> None:
    seen = Driven(asking(numeric("200", unit="g"), ask_confidence=True)).screen
    number, sure = seen.panel.fields
    assert isinstance(number, Number)
    assert (number.unit, number.integer) == ("g", False)
    assert isinstance(sure, Slider)
    assert (sure.name, sure.minimum, sure.maximum) == ("answer_confidence", 0, 100)
    page = str(render_page(seen, study=StudyContext("Small"), shown=None, draft={})["updates"]["left"]["value"])
    assert 'id="answer-unit">g<' in page
    assert "data-untouched" in page
    assert "200" not in page


@pytest.mark.parametrize(
    ("tags", "typed", "right"),
    [
        ({}, "180", True),
        ({}, "220", True),
        ({}, "179.9", False),
        ({}, "220,1", False),
        ({"tolerance": "0.5"}, "200.5", True),
        ({"tolerance": "0.5"}, "201", False),
        ({"tolerance": "0"}, "200", True),
    ],
)
def test_an_answer_is_right_within_the_tolerance(tags: dict[str, str], typed: str, right: bool) -> None:
    study = asking(numeric("200", **tags), ask_confidence=True)
    session = Driven(study).do(answer=typed, answer_confidence="70")
    (fact,) = session.facts("submitted")
    assert dict(fact.data) == {"answer": float(typed.replace(",", ".")), "answer_confidence": 70}
    place = next(place for place in visited(study, session.state) if isinstance(place.node, Step))
    view, sure = answered(place, place.node.fields(place), fact.data)  # type: ignore[union-attr]
    assert view.correct is right
    assert sure.correct is None
    assert questions(study, session.state)[0].correct() is right


@given(st.decimals(-1000, 1000, places=2), st.decimals(0, 100, places=2))
def test_both_ends_of_a_tolerance_are_right(answer: Any, size: Any) -> None:
    problem = Problem("n", "How heavy?", "", "d", answer=str(answer))
    accepted = NumericAnswer(tolerance=str(size)).accepted(problem)
    assert accepted is not None
    assert accepted.holds(float(answer + size))
    assert accepted.holds(float(answer - size))
    assert not accepted.holds(float(answer + size) + 0.001)


@pytest.mark.parametrize(
    ("problem", "keys"),
    [
        *((numeric(answer), {}) for answer in ("5 kg", "five", "1,000")),
        *((numeric("5", tolerance=tolerance), {}) for tolerance in ("some", "-1")),
        *((numeric("5"), {"number": number}) for number in ({"minimum": 6}, {"maximum": 4}, None)),
        (PROBLEMS[0], {}),
    ],
)
def test_what_cannot_be_asked_is_refused(problem: Problem, keys: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        asking(problem, **keys)

"""Advice: a fixed recommendation beside a question that is answered again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.studies.loader import EXPERIMENTS, read_protocols
from experiments.errors import StudyError
from experiments.study.resolve import resolve
from experiments.study.screen import TextBlock
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes.checked import PROBLEMS
from tests.fakes.driven import Driven

WEIGHT = Problem("w", "How heavy?", "", "d", answer="200")
KG: dict[str, Any] = {"alone": {"number": {"unit": "kg"}}, "advised": {"number": {"unit": "kg"}}}


def advised(problem: Problem, change: dict[str, Any] | None = None, **tags: str) -> Study:
    loop = {"each": "question", "of": "pool", "do": "advice-taking@1", "with": change or {}}
    raw = {"study": "small", "title": "Small", "problems": {"pool": {"source": "jsonl"}}}
    pools = {"pool": [replace(problem, tags=tags)]}
    return resolve({**raw, "flow": [loop, {"step": "finish"}]}, read_protocols(EXPERIMENTS, []), pools)


def taken(study: Study, first: str, second: str) -> tuple[Driven, str]:
    session = Driven(study)
    assert "Recommendation" not in repr(session.screen.panel)
    session.do(answer=first, answer_confidence="40")
    texts = " ".join(block.text for block in session.screen.panel.blocks if isinstance(block, TextBlock))
    return session.do(answer=second, answer_confidence="80"), texts


def test_a_number_is_advised_and_recorded_with_the_final_answer() -> None:
    session, shown = taken(advised(WEIGHT, KG, advice=" 1800"), "100", "150")
    assert "**Recommendation:** 1800 kg" in shown
    assert [dict(fact.data) for fact in session.facts("submitted")][:2] == [
        {"answer": 100.0, "answer_confidence": 40},
        {"answer": 150.0, "answer_confidence": 80, "advice": 1800.0},
    ]


@pytest.mark.parametrize("written", ["B", "b"])
def test_an_option_is_advised_by_its_key_or_text(written: str) -> None:
    session, shown = taken(advised(PROBLEMS[0], advice=written), "A", "A")
    assert "**Recommendation:** B. b" in shown
    assert session.facts("submitted")[1].data["advice"] == "B"


@pytest.mark.parametrize(
    ("problem", "change", "tags", "said"),
    [
        (PROBLEMS[0], None, {"advice": "E"}, "has the advice 'E'; `advice: advice` needs a column or tag of that name"),
        (PROBLEMS[0], None, {}, "has no advice"),
        (WEIGHT, KG, {"advice": "much"}, "a number with a decimal point"),
        (WEIGHT, KG, {"advice": ""}, "has no advice"),
    ],
)
def test_each_problem_needs_a_recommendation(
    problem: Problem, change: dict[str, Any] | None, tags: dict[str, str], said: str
) -> None:
    with pytest.raises(StudyError) as caught:
        advised(problem, change, **tags)
    assert said in str(caught.value)

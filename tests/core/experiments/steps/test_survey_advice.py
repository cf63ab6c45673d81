"""Advice: a fixed recommendation beside a question that is answered again."""

from __future__ import annotations

from typing import Any

import pytest

from app.studies.loader import EXPERIMENTS, read_protocols
from experiments.errors import StudyError
from experiments.session.engine import screen
from experiments.study.location import State
from experiments.study.resolve import resolve
from experiments.study.screen import TextBlock
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes.checked import PROBLEMS, act, begun, facts

WEIGHT = {"id": "w", "text": "How heavy?", "plain": "", "dataset": "d", "answer": "200"}
KG: dict[str, Any] = {"alone": {"number": {"unit": "kg"}}, "advised": {"number": {"unit": "kg"}}}


def advised(
    problem: dict[str, Any], change: dict[str, Any] | None = None, schemas: tuple[str, ...] = (), **tags: str
) -> Study:
    loop = {"each": "question", "of": "pool", "do": "advice-taking@1", "with": change or {}}
    raw: dict[str, Any] = {
        "study": "small",
        "export_schemas": schemas,
        "title": "Small",
        "problems": {"pool": {"source": "jsonl"}},
    }
    flow = [loop, {"step": "finish", "text": "Done."}]
    pools = {"pool": [Problem.from_json({**problem, "tags": tags})]}
    return resolve({**raw, "flow": flow}, read_protocols(EXPERIMENTS, []), pools)


def taken(study: Study, first: str, second: str) -> tuple[State, str]:
    state = begun(study)
    assert "Recommendation" not in repr(screen(study, state).panel)
    state = act(study, state, answer=first, answer_confidence="40")
    seen = screen(study, state)
    texts = " ".join(block.text for block in seen.panel.blocks if isinstance(block, TextBlock))
    return act(study, state, answer=second, answer_confidence="80"), texts


def test_a_number_is_advised_and_recorded_with_the_final_answer() -> None:
    state, shown = taken(advised(WEIGHT, KG, advice=" 1800"), "100", "150")
    assert "**Recommendation:** 1800 kg" in shown
    assert [dict(fact.data) for fact in facts(state, "submitted")][:2] == [
        {"answer": 100.0, "answer_confidence": 40},
        {"answer": 150.0, "answer_confidence": 80, "advice": 1800.0},
    ]


@pytest.mark.parametrize("written", ["B", "b"])
def test_an_option_is_advised_by_its_key_or_text(written: str) -> None:
    state, shown = taken(advised(PROBLEMS[0], advice=written), "A", "A")
    assert "**Recommendation:** B. b" in shown
    assert facts(state, "submitted")[1].data["advice"] == "B"


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
    problem: dict[str, Any], change: dict[str, Any] | None, tags: dict[str, str], said: str
) -> None:
    with pytest.raises(StudyError) as caught:
        advised(problem, change, **tags)
    assert said in str(caught.value)

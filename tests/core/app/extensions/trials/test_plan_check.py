"""What `parley check` says about the plan of a trial: impossible, contradictory, vague."""

from __future__ import annotations

from typing import Any

import pytest

from app.extensions.trials.plan_check import plan_advice, plan_faults
from app.studies.drafts import check_text
from app.studies.loader import STUDIES, find
from experiments.errors import StudyError
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems.problem import Option, Problem

OPTIONS = (Option("A", "1", "1"), Option("B", "2", "2"))
AGE = {"type": "number", "name": "age", "text": "How old are you?"}
TRUST = {"type": "scale", "name": "trust", "text": "Trust?", "options": ["1", "2", "3"]}
WORDS = {"type": "long_text", "name": "words", "text": "Why?"}
ATTENTION = {
    "step": "check",
    "kind": "attention",
    "questions": [{"type": "single_choice", "name": "a", "text": "A?", "options": ["x", "y"]}],
    "correct_answers": {"a": "x"},
}
QUESTIONS = {
    "each": "question",
    "of": "pool",
    "take": 1,
    "flow": [
        {"step": "answer", "id": "before"},
        {"step": "chat", "on_failure": {"action": "stop"}},
        {"step": "answer", "id": "after"},
        {"step": "rate_turns", "id": "rated", "scales": ["helpfulness"]},
    ],
}
EVERY = {"id": "h", "claim": "It helps.", "direction": "greater", "smallest_effect": 0.1, "outcome": "correct"}
ARMS = {"factor": "arm", "treatment": "ai", "control": "none"}


BARE = {"study": "small", "title": "Small", "factors": {"arm": ["ai", "none"]}}


def plan(*hypotheses: dict[str, Any], **keys: Any) -> dict[str, Any]:
    size = {} if "power" in keys else {"participants": 20}
    each = hypotheses or ({},)
    return {
        "hypotheses": [{**EVERY, "id": f"h{n}", "contrast": ARMS, **one} for n, one in enumerate(each)],
        "exclude": ["incomplete"],
        **size,
        **keys,
    }


def study_of(plan: dict[str, Any], *, right: str | None = "A", attention: bool = False, **keys: Any) -> Study:
    raw = {
        "study": "small",
        "title": "Small",
        "models": {"tutor": {"backend": "scripted"}},
        "problems": {"pool": {"source": "jsonl"}},
        "factors": {"arm": ["ai", "none"]},
        "plan": plan,
        "flow": [
            {"step": "consent", "text": "Please agree."},
            {"step": "survey", "id": "start", "questions": [AGE, WORDS]},
            *([ATTENTION] if attention else []),
            QUESTIONS,
            {"step": "survey", "id": "end", "questions": [TRUST]},
            {"step": "finish", "code": "DONE"},
        ],
        **keys,
    }
    return resolve(
        raw, {}, {"pool": [Problem("p", "What?", "What?", "d", options=OPTIONS, answer=right)]}, check=plan_faults
    )


def found(plan: dict[str, Any], **keys: Any) -> list[tuple[str, str]]:
    with pytest.raises(StudyError) as error:
        study_of(plan, **keys)
    return [(one.where, one.what) for one in error.value.found]


SOUND = [
    plan(),
    plan({"outcome": "seconds"}, {"outcome": "rating.helpfulness", "role": "secondary"}),
    plan({"outcome": "survey.trust"}, covariates=["age"], missing="complete-cases"),
    plan({"contrast": {"factor": "step", "treatment": "after", "control": "before"}}),
    plan({"direction": "equivalent", "margin": 0.2}, missing="worst-case", power=0.8),
    plan(looks={"at": [0.5, 1]}, corrections={"main": "none"}, participants=32),
]


@pytest.mark.parametrize("sound", SOUND)
def test_a_sound_plan_has_no_errors_and_needs_no_advice(sound: dict[str, Any]) -> None:
    assert list(plan_advice(study_of(sound))) == []


H = "plan.hypotheses[0]"
STEPS = {"factor": "step", "treatment": "after", "control": "before"}
IMPOSSIBLE = [
    (plan({"contrast": {**ARMS, "factor": "arms"}}), f"{H}.contrast.factor"),
    (plan({"contrast": {**ARMS, "control": "nope"}}), f"{H}.contrast.control"),
    (
        plan({"contrast": {"factor": "step", "treatment": "later", "control": "before"}}),
        f"{H}.contrast.treatment",
    ),
    (plan({"outcome": "survey.words"}), f"{H}.outcome"),
    (plan({"outcome": "score.sus.total"}), f"{H}.outcome"),
    (plan(covariates=["trust"]), "plan.covariates[0]"),
    (plan(corrections={"other": "holm"}), "plan.corrections.other"),
    (plan(exclude=["failed_attention"]), "plan.exclude[0]"),
    (plan({"smallest_effect": None}, power=0.8), f"{H}.smallest_effect"),
    (plan({"direction": "equivalent", "margin": 0.05}), f"{H}.smallest_effect"),
    (plan({"role": "secondary"}), "plan.hypotheses"),
    (plan({"direction": "equivalent", "margin": 0.2}, looks={"at": [0.5, 1]}), "plan.looks"),
    (plan({"outcome": "seconds"}, missing="worst-case"), "plan.missing"),
]


@pytest.mark.parametrize(("bad", "where"), IMPOSSIBLE)
def test_what_is_impossible_or_contradictory_is_an_error(bad: dict[str, Any], where: str) -> None:
    assert [at for at, _ in found(bad)] == [where]


@pytest.mark.parametrize(
    ("outcome", "possible"),
    [("correct", True), ("rating.helpfulness", True), ("seconds", False), ("survey.trust", False)],
)
def test_what_a_loop_varies_can_only_change_what_is_recorded_in_it(outcome: str, possible: bool) -> None:
    contrast = {"factor": "help", "treatment": "hint", "control": "plain"}
    varied = {**QUESTIONS, "take": 2, "vary": {"help": ["hint", "plain"]}}
    end = {"step": "survey", "id": "end", "questions": [TRUST]}
    problems = [Problem(name, "What?", "What?", "d", options=OPTIONS, answer="A") for name in "pq"]
    raw = {
        **BARE,
        "models": {"tutor": {"backend": "scripted"}},
        "problems": {"pool": {"source": "jsonl"}},
        "flow": [varied, end, {"step": "finish", "code": "DONE"}],
        "plan": plan({"outcome": outcome, "contrast": contrast}),
    }
    try:
        resolve(raw, {}, {"pool": problems}, check=plan_faults)
        where = []
    except StudyError as error:
        where = [one.where for one in error.found]
    assert where == ([] if possible else [f"{H}.outcome"])


@pytest.mark.parametrize(
    ("vague", "where"),
    [
        (plan({"smallest_effect": None}), f"{H}.smallest_effect"),
        (plan({}, {}, {}, corrections={"main": "none"}), "plan.corrections.main"),
        (plan(participants=15), "plan.participants"),
        (plan({"contrast": STEPS}, participants=7), "plan.participants"),
        (plan(looks={"at": [0.5, 0.9, 1]}), "plan.looks.at[0]"),
    ],
)
def test_what_is_vague_is_advised(vague: dict[str, Any], where: str) -> None:
    assert [words.partition(": ")[0] for words in plan_advice(study_of(vague))] == [where]


def test_a_plan_over_problems_that_there_are_not_is_a_fault() -> None:
    text = find("uplift").read_text(encoding="utf-8")
    assert check_text(text.replace("\n  questions:", "\n  others:", 1), STUDIES).faults

"""Study documents of builds before 0.2.0 are read with the names of now; what is a text of the author stays."""

from __future__ import annotations

import json
from typing import Any

from experiments.study.earlier_names import parts_of
from experiments.study.schema import StudyFile, models


def document(*renamed: dict[str, Any], flow: list[dict[str, Any]]) -> dict[str, Any]:
    own = {"study": "old", "title": "records", "factors": {"arm": ["a", "b"]}}
    return {**own, **{key: value for part in renamed for key, value in part.items()}, "flow": flow}


STEPS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"step": "consent", "text": "t", "tick": "I agree", "least_s": 5, "limit": {"after_s": 90, "warn_s": 30}},
        {"step": "consent", "text": "t", "checkbox": "I agree", "min_time_s": 5}
        | {"time_limit": {"after_s": 90, "warn_before_s": 30}},
    ),
    (
        {"step": "survey", "limit": {"after_s": 9, "then": "go_on"}}
        | {"questions": [{"ask": "single", "name": "records", "text": "ask", "options": ["single", "go_on"]}]},
        {"step": "survey", "time_limit": {"after_s": 9, "on_expiry": "continue"}}
        | {"questions": [{"type": "single_choice", "name": "records", "text": "ask", "options": ["single", "go_on"]}]},
    ),
    (
        {"step": "survey", "id": "more"}
        | {"questions": [{"ask": "number", "name": "n", "text": "t", "whole": False}, {"ask": "tick", "name": "s"}]},
        {"step": "survey", "id": "more"}
        | {
            "questions": [
                {"type": "number", "name": "n", "text": "t", "integer": False},
                {"type": "checkbox", "name": "s"},
            ]
        },
    ),
)
TALKS: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    (
        {"step": "chat", "model": "m", "called": "Bot", "sees_problem": True, "least_s": 1},
        {"step": "chat", "model": "m", "assistant_label": "Bot", "problem_in_prompt": True, "min_time_s": 1},
    ),
    (
        {"step": "compare", "models": ["m", "m"], "go_on": "both", "better": "{{called}} wins"},
        {"step": "compare", "models": ["m", "m"], "continue_with": "own", "better": "{{assistant_label}} wins"},
    ),
    (
        {"step": "rate_turns", "of": "chat", "called": "Bot"},
        {"step": "rate_turns", "chat": "chat", "assistant_label": "Bot"},
    ),
)
LOOPS = (
    {"beside": {"tone": ["warm", "cold"]}, "beside_order": "shuffled"},
    {"vary": {"tone": ["warm", "cold"]}, "vary_order": "shuffled"},
)
BEFORE, NOW = (
    document(
        keys,
        flow=[
            *(pair[now] for pair in STEPS),
            {
                "phase": "p",
                "flow": [{"each": "question", "of": "q", **LOOPS[now], "flow": [pair[now] for pair in TALKS]}],
            },
        ],
    )
    for now, keys in enumerate(
        (
            {
                "records": ["chatbench"],
                "caps": [{"where": {"arm": "a"}, "most": 3}],
                "times": {"limit_s": 9000, "warn_s": 60, "idle_s": 30, "away_s": 90, "lease_s": 600},
                "on_leak": "flag",
                "recruitment": {"by": ["lab"], "parameter": "pid", "again": "anew", "proof": "required"},
                "bonus": [{"each": "answered", "amount": "0.10", "of": ["q"], "counts": "last", "most": "1"}],
            },
            {
                "export_schemas": ["chatbench"],
                "quotas": [{"where": {"arm": "a"}, "max": 3}],
                "session_limits": {"time_limit_s": 9000, "warn_before_s": 60, "idle_after_s": 30}
                | {"away_after_s": 90, "hold_place_s": 600},
                "on_identity_leak": "flag",
                "recruitment": {"channels": ["lab"], "id_parameter": "pid", "repeat_participation": "new_session"}
                | {"id_proof": "required"},
                "bonus": [{"per": "answer", "amount": "0.10", "pools": ["q"], "correct_if": "last", "max": "1"}],
            },
        )
    )
)


def test_an_earlier_document_has_the_present_names() -> None:
    parts = {"file": BEFORE, "protocols": {"p": {"flow": BEFORE["flow"]}}, "problems": {"q": []}}
    found = parts_of(json.dumps(parts))
    assert found == {"file": NOW, "protocols": {"p": {"flow": NOW["flow"]}}, "problems": {"q": []}}
    models()
    StudyFile.model_validate({**NOW, "models": {"m": {"backend": "scripted"}}, "problems": {"q": {"source": "arena"}}})


def test_a_document_of_now_stays_as_it_is() -> None:
    parts = {"file": NOW, "protocols": {}, "problems": {}}
    assert parts_of(json.dumps(parts)) == parts

"""A small trial: two arms, questions answered twice, something varied within participants, an attention check."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes.studies import write

ITEMS = [
    {"id": f"q{n}", "question": f"What is {n} + 1?", "options": [str(n + 1), str(n + 2), str(n)], "answer": "A"}
    for n in range(4)
]
CONTRAST = {"factor": "arm", "treatment": "ai", "control": "none"}
HYPOTHESES: list[dict[str, Any]] = [
    {"id": "right", "claim": "More answers are right with the AI.", "outcome": "correct", "smallest_effect": 0.05},
    {"id": "trusting", "claim": "Trust differs.", "outcome": "survey.trust", "direction": "different"},
    {
        "id": "later",
        "claim": "Second answers are better than first ones.",
        "outcome": "correct",
        "contrast": {"factor": "step", "treatment": "second", "control": "first"},
        "role": "secondary",
        "family": "further",
    },
    {
        "id": "hinted",
        "claim": "A hint does not change how many answers are right.",
        "outcome": "correct",
        "contrast": {"factor": "help", "treatment": "hint", "control": "plain"},
        "direction": "equivalent",
        "margin": 0.3,
        "role": "secondary",
        "family": "further",
    },
]
PLAN: dict[str, Any] = {
    "hypotheses": [{"contrast": CONTRAST, "direction": "greater", **one} for one in HYPOTHESES],
    "participants": 40,
    "exclude": ["failed_attention", "incomplete"],
    "covariates": ["age"],
}


def trial(folder: Path, name: str = "trial", plan: dict[str, Any] | None = None, **more: Any) -> Path:
    raw = {
        "study": name,
        "title": "A small trial",
        "problems": {"sums": {"items": ITEMS}},
        "factors": {"arm": ["ai", "none"]},
        "plan": PLAN if plan is None else plan,
        "flow": [
            {"step": "consent", "text": "Please agree."},
            {
                "step": "survey",
                "id": "start",
                "questions": [{"type": "number", "name": "age", "text": "Age?", "minimum": 18, "maximum": 99}],
            },
            {
                "each": "sum",
                "of": "sums",
                "take": 4,
                "vary": {"help": ["hint", "plain"]},
                "flow": [{"step": "answer", "id": "first"}, {"step": "answer", "id": "second"}],
            },
            {
                "step": "check",
                "kind": "attention",
                "questions": [{"type": "single_choice", "name": "fine", "text": "Choose x.", "options": ["x", "y"]}],
                "correct_answers": {"fine": "x"},
            },
            {
                "step": "survey",
                "id": "end",
                "questions": [
                    {"type": "scale", "name": "trust", "text": "Trust?", "options": ["1", "2", "3", "4", "5"]}
                ],
            },
            {"step": "finish", "code": "DONE"},
        ],
        **more,
    }
    return write(folder, raw)

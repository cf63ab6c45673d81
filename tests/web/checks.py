"""A check in its states, as the engine shows it: fresh, with a try left, with a warning; and the problem as a check."""

from __future__ import annotations

from typing import Any

from experiments.core.events import Action
from experiments.core.place import State
from experiments.core.resolve import resolve
from experiments.core.screen import Screen
from experiments.core.session import decide, fold, screen
from tests.fakes.sessions import enrolment

UNDERSTOOD: dict[str, Any] = {
    "step": "check",
    "kind": "comprehension",
    "policy": "warn",
    "title": "Did we explain it well?",
    "text": "Before you begin, please answer three questions about **what you have just read**.",
    "warning": "Some of your answers were not as expected. You can go on; please keep to this: you may **not** use "
    "other tools, and you answer every question on your own first.",
    "questions": [
        {
            "ask": "single",
            "name": "tools",
            "text": "May you use other tools, websites or people?",
            "options": {"yes": "Yes, all of them", "some": "Only a pocket calculator", "no": "No"},
        },
        {
            "ask": "multiple",
            "name": "parts",
            "text": "What will you do in this study?",
            "help": "Choose all that apply.",
            "options": {"alone": "Answer on my own", "chat": "Talk with a chatbot", "film": "Watch a film"},
        },
        {"ask": "number", "name": "count", "text": "How many questions will you answer?"},
    ],
    "right": {"tools": "no", "parts": ["alone", "chat"], "count": {"minimum": 9, "maximum": 12}},
}
STUDY = {"study": "small", "title": "Small", "flow": [UNDERSTOOD, {"step": "finish"}]}


def _shown() -> dict[str, Screen]:
    study = resolve(STUDY, {}, {})
    state = fold(decide(study, State(), enrolment("1")))
    found = []
    for _ in range(3):
        seen = screen(study, state)
        found.append(seen)
        values = {"tools": "yes", "parts": ["alone", "film"], "count": "9"}
        state = fold(decide(study, state, Action("submit", seen.path, values, 0, seen=seen.seen)), state)
    return dict(zip(("check", "check-again", "check-warning"), found, strict=True))


CHECKS = _shown()

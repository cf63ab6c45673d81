"""Questions of small studies with a check, right and wrong answers to it, and problems with options."""

from __future__ import annotations

from typing import Any

from problems.problem import Option, Problem

CHOICE = {"type": "single_choice", "name": "tools", "text": "May you use *tools*?", "options": ["yes", "no"]}
PARTS = {
    "type": "multiple_choice",
    "name": "parts",
    "text": "What will\n you do?",
    "options": ["talk", "answer", "sing"],
}
AGE = {"type": "number", "name": "age", "text": "How old are you?"}
ANY = {"type": "short_text", "name": "any", "text": "Anything?", "required": False}
RIGHT = {"tools": "no", "parts": ["answer", "talk"], "age": {"minimum": 18, "maximum": 30}}
GOOD = {"tools": "no", "parts": ["talk", "answer"], "age": "18"}
BAD = {"tools": "yes", "parts": ["talk"], "age": "18"}
PROBLEMS = [
    Problem(f"p{n}", f"What is {n}?", "", "d", tuple(Option(key, key.lower(), "") for key in "AB"), "AB"[n % 2])
    for n in range(3)
]


def check(kind: str = "comprehension", **keys: Any) -> dict[str, Any]:
    asked = {} if keys.get("ask_problem") else {"questions": [CHOICE, PARTS, AGE, ANY], "correct_answers": RIGHT}
    return {"step": "check", "id": "it", "kind": kind, **asked, **keys}

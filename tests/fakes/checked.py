"""Small studies with a check, and a participant who acts on them one click at a time, without a bot or a clock."""

from __future__ import annotations

import json
from typing import Any

from experiments.events import Action, Event
from experiments.session.engine import decide, fold, pending_tasks, screen
from experiments.study.location import State
from experiments.study.resolve import resolve
from experiments.study.study import Study
from problems.problem import Problem
from tests.fakes.sessions import enrolment

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
    {"id": f"p{n}", "text": f"What is {n}?", "plain": "", "dataset": "d", "answer": "AB"[n % 2]}
    | {"options": [{"key": key, "text": key.lower(), "plain": ""} for key in "AB"]}
    for n in range(3)
]


def check(kind: str = "comprehension", **keys: Any) -> dict[str, Any]:
    asked = {} if keys.get("ask_problem") else {"questions": [CHOICE, PARTS, AGE, ANY], "correct_answers": RIGHT}
    return {"step": "check", "id": "it", "kind": kind, **asked, **keys}


def study_of(*flow: dict[str, Any], problems: list[dict[str, Any]] | None = None) -> Study:
    raw: dict[str, Any] = {"study": "small", "title": "Small", "flow": [*flow, {"step": "finish", "text": "Done."}]}
    pools = {"questions": [Problem.from_json(one) for one in problems or []]}
    given = {"problems": {"questions": {"source": "jsonl"}}} if problems else {}
    return resolve(json.loads(json.dumps(raw | given)), {}, pools)


def begun(study: Study) -> State:
    return settled(study, fold(decide(study, State(), enrolment("1"))))


def settled(study: Study, state: State) -> State:
    while jobs := pending_tasks(study, state):
        action = Action(jobs[0].kind, jobs[0].path, {}, 0, by="system")
        state = fold(decide(study, state, action), state)
    return state


def act(study: Study, state: State, kind: str = "submit", /, **values: Any) -> State:
    seen = screen(study, state)
    return settled(study, fold(decide(study, state, Action(kind, seen.path, values, 0, seen=seen.seen)), state))


def facts(state: State, *kinds: str) -> list[Event]:
    return [event for event in state.events if event.kind in kinds]

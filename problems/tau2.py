"""Tasks of a domain of tau2-bench 1.0.1 (Sierra): its folder, with tasks.json and policy.md.

    problems:
      tasks: {source: tau2, path: tau2-bench/data/tau2/domains/airline}

A problem's text is the card for whoever calls: the task's user scenario, and nothing else of it. The whole task, with
its evaluation, is the answer, which nobody who takes part is shown. Tags: `policy` is the text of policy.md, for the
agent's prompt (`system: "{{problem.policy}}"`), and split_NAME is `yes` for the tasks of a split in
split_tasks.json. The database (db.json, db.toml) is for the domain's server of tools; it is not read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from problems.errors import ProblemError
from problems.problem import Problem
from problems.readers import by_fault, repeated
from problems.registry import source
from problems.text import checked_values, read_text

TASKS, POLICY, SPLITS = "tasks.json", "policy.md", "split_tasks.json"
POLICY_TAG = "policy"
SCENARIO = "user_scenario"
# The parts of a card, in the order in which they are read, with their fields.
HEADINGS: Mapping[str, str] = {
    "reason_for_call": "Why you call",
    "known_info": "What you know",
    "unknown_info": "What you do not know",
    "task_instructions": "What to do",
    "persona": "Who you are",
}
NEEDED = ("reason_for_call", "task_instructions")


@source("tau2", sample="bicycle-shop")
def load(path: Path) -> tuple[Problem, ...]:
    """Read the folder of a domain; raises ProblemError with every task that people cannot do."""
    if missing := [name for name in (TASKS, POLICY) if not (path / name).is_file()]:
        raise ProblemError(f"{path}: not a domain of tau2, as it has no {' and no '.join(missing)}.")
    policy, tasks, splits = read_text(path / POLICY), _json(path / TASKS), {}
    if (path / SPLITS).is_file():
        splits = _json(path / SPLITS)
    if not isinstance(tasks, list) or not isinstance(splits, Mapping):
        raise ProblemError(f"{path}: {TASKS} must be a list of tasks, and {SPLITS} lists of their ids by split.")
    read: list[tuple[int, Problem]] = []
    wrong: list[tuple[str, str]] = []
    for number, task in enumerate(tasks, 1):
        try:
            tags = {f"split_{name}": "yes" for name, ids in splits.items() if _id(task) in ids}
            read.append((number, _problem(task, path.name, {POLICY_TAG: policy, **tags})))
        except ProblemError as error:
            wrong.append((str(error), f"task {number}"))
    if faults := by_fault(wrong) + repeated((number, problem.id) for number, problem in read):
        raise ProblemError(f"{path / TASKS}: these tasks cannot be done by people; leave them out:", *faults)
    return tuple(problem for _, problem in read)


def task_of(problem: Problem) -> Mapping[str, Any] | None:
    """The task of a problem that was read here, with its evaluation; None for any other problem."""
    if POLICY_TAG not in problem.tags or not (problem.answer or "").startswith("{"):
        return None
    task: Any = json.loads(problem.answer or "")
    return task if SCENARIO in task else None


def evaluation_of(problem: Problem) -> Mapping[str, Any]:
    """The `evaluation_criteria` of a problem's task; empty where there are none."""
    return (task_of(problem) or {}).get("evaluation_criteria") or {}


def _json(path: Path) -> Any:
    try:
        return checked_values(json.loads(read_text(path)))
    except ValueError as error:
        raise ProblemError(f"{path}: not JSON ({error}).") from error


def _id(task: Any) -> str:
    found = task.get("id") if isinstance(task, Mapping) else None
    if not isinstance(found, str) or not found:
        raise ProblemError(f"needs an `id`, a text, not {found!r:.60}")
    return found


def _problem(task: Any, domain: str, tags: Mapping[str, str]) -> Problem:
    name = _id(task)
    if impossible := ", ".join(_impossible(task)):
        raise ProblemError(f"needs what a person does not have here: {impossible}")
    parts = dict(_parts(task))
    card = "\n\n".join(f"**{HEADINGS[part]}**\n\n{text}" for part in HEADINGS if (text := parts.get(part)))
    plain = "\n\n".join(parts[part] for part in HEADINGS if part in parts)
    return Problem(name, card, plain, domain, answer=json.dumps(task, ensure_ascii=False), tags=tags, place=name)


def _impossible(task: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts of a task that need more than a conversation that begins with the domain's own database."""
    yield from (f"initial_state.{name}" for name, value in (task.get("initial_state") or {}).items() if value)
    actions: Sequence[Any] = (task.get("evaluation_criteria") or {}).get("actions") or ()
    if task.get("user_tools") or any(action.get("requestor") == "user" for action in actions):
        yield "tools of the user"


def _parts(task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    scenario = task.get(SCENARIO)
    given = scenario.get("instructions") if isinstance(scenario, Mapping) else None
    instructions: Any = {"reason_for_call": "", "task_instructions": given} if isinstance(given, str) else given
    if not isinstance(instructions, Mapping) or not all(isinstance(instructions.get(one), str) for one in NEEDED):
        raise ProblemError(f"needs `{SCENARIO}.instructions`: a text, or {' and '.join(NEEDED)}")
    for part, value in {**instructions, "persona": scenario and scenario.get("persona")}.items():
        if part in HEADINGS and value:
            yield part, str(value).strip()

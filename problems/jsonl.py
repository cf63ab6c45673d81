r"""Problems of your own: a file with one JSON object a line, with the keys of `Problem.to_json`.

    {"id": "q1", "text": "What is \\(2 + 2\\)?", "options": [{"key": "A", "text": "4"}], "answer": "A"}

Only id and text must be there. A missing `plain` (of the problem or of an option) is the text; a missing
dataset is "custom". A finished conversation to rate has a dialogue, and its text is its last message unless given:

    {"id": "c1", "dialogue": [{"role": "user", "text": "Hi"}, {"role": "bot", "text": "Good day!"}]}
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import cast

from problems.errors import ProblemError
from problems.problem import Problem
from problems.readers import by_fault, repeated
from problems.registry import source
from problems.text import NotText, checked_values, read_text

DATASET = "custom"


@source("jsonl", sample="questions.jsonl")
def load(path: Path) -> tuple[Problem, ...]:
    """Read a file of JSON lines; blank lines are passed over. Raises ProblemError with every bad line."""
    return parse(read_text(path), str(path))


def parse(text: str, where: str) -> tuple[Problem, ...]:
    """Read the text of such a file; `where` names it in errors."""
    read: list[tuple[int, Problem]] = []
    wrong: list[tuple[str, str]] = []
    # not splitlines(): that also splits at U+2028, which JSON allows inside a string
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                read.append((number, replace(_problem(line), place=f"line {number}")))
            except ProblemError as error:
                wrong += [(fault, f"line {number}") for fault in error.faults or (str(error),)]
    faults = by_fault(wrong) + repeated((number, problem.id) for number, problem in read)
    if not read and not faults:
        faults = ["there is no problem in it"]
    if faults:
        raise ProblemError(f"{where}: not a file of problems; correct these and load it again:", *faults)
    return tuple(problem for _, problem in read)


def _problem(line: str) -> Problem:
    try:
        data: object = checked_values(json.loads(line))
    except json.JSONDecodeError as error:
        raise ProblemError(f"column {error.colno} is not JSON ({error.msg})") from error
    except NotText as error:
        raise ProblemError(error.problem) from error
    except (RecursionError, ValueError) as error:
        raise ProblemError("is nested too deeply, or has a number too long, for a problem") from error
    if not isinstance(data, dict):
        raise ProblemError(f'must be an object like {{"id": ..., "text": ...}}, not {line.strip()[:40]!r}')
    return Problem.from_json(_filled(cast(dict[str, object], data)))


def _filled(data: dict[str, object]) -> dict[str, object]:
    """Add missing optional parts; those of a wrong kind stay, for `from_json` to name them."""
    full: dict[str, object] = {"dataset": DATASET} | data
    dialogue = full.get("dialogue")
    if isinstance(dialogue, list) and dialogue:
        full = {"text": dialogue[-1].get("text")} | full if isinstance(dialogue[-1], dict) else full
    full = {"plain": full.get("text", "")} | full
    options = full.get("options")
    if isinstance(options, list):
        full["options"] = [_with_plain(option) for option in options]
    return full


def _with_plain(option: object) -> object:
    return {"plain": option["text"]} | option if isinstance(option, dict) and "text" in option else option

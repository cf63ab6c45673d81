"""Samples of Inspect (UK AI Security Institute, `inspect_ai.dataset`): CSV, JSON or JSONL with `input`, `target`,
`choices`, `id` and `metadata`.

    problems:
      questions: {source: inspect, path: samples.jsonl}

Fields of other names are given as `columns: {question: prompt, answer: solution, options: endings, id: key}`, in place
of Inspect's field specification. With choices the target is the letter of the right one. A sample without an id is
called by its number, from 1, as Inspect calls it. Metadata become tags.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from problems.errors import ProblemError
from problems.items import Columns, sound, understand
from problems.problem import Problem
from problems.readers import by_fault
from problems.registry import source
from problems.tables import Row, Table, read_table

# Inspect's names of the fields by those of `Columns`.
FIELDS: Mapping[str, str] = {"question": "input", "options": "choices", "answer": "target", "id": "id"}
SPEAKERS: Mapping[str, str] = {"system": "System", "user": "User", "assistant": "Assistant"}
METADATA = "metadata"
# What a sample needs of Inspect itself while it runs.
RUNTIME = ("sandbox", "setup", "files")
IGNORED = (*RUNTIME, "checkpoint", "description")


@source("inspect", sample="samples.jsonl", columns=True)
def load(path: Path, columns: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Read a file of samples; raises ProblemError with every sample that cannot be asked."""
    fields = {name: getattr(Columns.of(columns), name) or default for name, default in FIELDS.items()}
    table = read_table(path, question=str(fields["question"]))
    wrong: list[tuple[str, str]] = []
    rows: list[Row] = []
    for number, row in enumerate(table.rows, 1):
        try:
            cells = dict(_cells(row, fields, number))
            rows.append(Row(row.where, {name: cell for name, cell in cells.items() if cell not in ("", [])}))
        except ProblemError as error:
            wrong.append((str(error), row.where))
    if faults := by_fault(wrong):
        raise ProblemError(f"{path}: these samples cannot be asked:", *faults)
    names = dict.fromkeys(name for row in rows for name in (*FIELDS, *row.cells))
    given = {name: name for name in FIELDS if any(name in row.cells for row in rows)}
    return sound(understand(Table(tuple(names), tuple(rows), table.notes), given, path.stem), str(path))


def _cells(row: Row, fields: Mapping[str, Any], number: int) -> Iterator[tuple[str, Any]]:
    cells = row.cells
    if needs := [name for name in RUNTIME if name in cells]:
        raise ProblemError(f"needs {' and '.join(needs)}, which only Inspect provides; leave such samples out")
    yield "question", _text(cells.get(fields["question"], ""), fields["question"])
    choices = _choices(cells.get(fields["options"], []))
    yield "options", [{"key": key, "value": text} for key, text in zip(ascii_uppercase, choices, strict=False)]
    yield "answer", _target(cells.get(fields["answer"], ""), fields["answer"], choices)
    yield "id", str(cells.get(fields["id"], number))
    metadata = _json(cells.get(METADATA, {}))
    if not isinstance(metadata, Mapping):
        raise ProblemError(f"{METADATA} must be an object, not {metadata!r:.60}")
    used = {*fields.values(), METADATA, *IGNORED}
    for name, value in (*metadata.items(), *((name, cell) for name, cell in cells.items() if name not in used)):
        yield f"metadata_{name}" if name in FIELDS else name, value


def _text(value: Any, field: str) -> str:
    """An input: a text, or messages, of which one alone is its text."""
    messages = _json(value) if str(value).lstrip().startswith("[{") else value
    if isinstance(messages, str):
        return messages
    said = [_message(message, field) for message in messages] if isinstance(messages, list) else []
    if not said:
        raise ProblemError(f"{field} must be a text or a list of messages, not {value!r:.60}")
    return said[0][1] if len(said) == 1 else "\n\n".join(f"**{SPEAKERS[role]}:** {text}" for role, text in said)


def _message(message: Any, field: str) -> tuple[str, str]:
    found = message if isinstance(message, Mapping) else {}
    role, content = found.get("role"), found.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    found_texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
    texts = [text for text in found_texts if isinstance(text, str)]
    if not isinstance(role, str) or role not in SPEAKERS or len(texts) < len(parts):
        allowed = f"role ({', '.join(SPEAKERS)}) and content (text)"
        raise ProblemError(f"{field} has a message that cannot be shown; allowed: {allowed}; found {message!r:.80}")
    return role, "".join(texts)


def _choices(value: Any) -> list[str]:
    """The texts of choices; in CSV with commas between them, or blanks where there is no comma, as Inspect reads it."""
    parts: Sequence[Any] = value
    if isinstance(value, str):
        parts = value.split(",") if "," in value else value.split()
    texts = [text for part in parts if (text := str(part).strip())]
    if len(texts) > len(ascii_uppercase):
        raise ProblemError(f"has {len(texts)} choices; at most {len(ascii_uppercase)} have a letter")
    return texts


def _target(value: Any, field: str, choices: Sequence[str]) -> str:
    targets = [str(part).strip() for part in value] if isinstance(value, list) else [str(value).strip()]
    if len(targets) > 1:
        raise ProblemError(f"{field} has {len(targets)} right answers; an item of a study has one")
    letters = ascii_uppercase[: len(choices)]
    target = targets[0] if targets else ""
    if choices and target and (len(target) > 1 or target.upper() not in letters):
        raise ProblemError(f"{field} {target!r:.60} is no letter of a choice; allowed: {', '.join(letters)}")
    return target.upper() if choices else target


def _json(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) and value else value
    except ValueError as error:
        raise ProblemError(f"{value!r:.60} is not JSON ({error})") from error

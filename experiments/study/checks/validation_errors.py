"""Validation errors of a study file, each with its path, the value, the allowed ones and the nearest valid name.

All errors are reported at once, although some keep the rest of the file from being read: what the validator refuses is
set aside (an unknown key is dropped, an invalid step becomes an empty page with the same id) until the rest can be read
and checked. A file with something set aside never runs, because each such part is reported as an error. Errors that are
found afterwards and only follow from such a part are not reported.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError

from experiments.errors import ValidationIssue, plain_message, suggestion
from experiments.study.base_model import NAMES, ONE_LINE
from experiments.study.field_docstrings import field_docstrings
from experiments.study.fields import KINDS
from experiments.study.schema import Node, StudyFile, kinds_of_nodes, tag_of
from experiments.study.step import kinds
from problems.errors import quoted

QUESTION_TYPES: Mapping[str, type[BaseModel]] = {kind.model_fields["type"].default: kind for kind in KINDS}
PATTERNS = {
    NAMES: "a name starts with a letter from a to z, followed by such letters, digits, `_` or `-`",
    ONE_LINE: "a value of a factor is one line of text without blanks at its ends",
}


def issues_of(error: ValidationError, raw: Any, model: type[BaseModel] = StudyFile) -> list[ValidationIssue]:
    return [_fault(item, raw, model) for item in error.errors(include_url=False)]


def path_of(item: Mapping[str, Any], raw: Any) -> list[int | str]:
    path = _path(item["loc"], raw)
    return [*path, item["loc"][-1]] if item["type"] == "missing" else path


def _fault(item: Mapping[str, Any], raw: Any, model: type[BaseModel]) -> ValidationIssue:
    path = path_of(item, raw)
    where = _write(path)
    kind, given = item["type"], item.get("input")
    if kind == "extra_forbidden":
        owner, key = _owner(item["loc"], model), str(path[-1])
        return ValidationIssue(where, f"no such key{_of_others(key, owner)}{suggestion(key, _keys(owner))}")
    if kind == "missing":
        return ValidationIssue(where, "is missing")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return ValidationIssue(where, _tag_fault(item, given))
    message = plain_message(item)
    message = PATTERNS.get(item.get("ctx", {}).get("pattern"), message)
    if isinstance(given, Mapping | Sequence) and not isinstance(given, str):
        return ValidationIssue(where, message[:1].lower() + message[1:])
    hint = "; put it in quotes if it is a text" if kind == "string_type" else ""
    if hint and isinstance(given, bool) and len(path) == 1:
        # In quotes it would be shown to participants as `true`.
        hint = f". {' '.join(field_docstrings(model).get(str(path[0]), '').split())}"
    return ValidationIssue(where, f"{quoted(given)}: {message[:1].lower()}{message[1:]}{hint}")


def _tag_fault(item: Mapping[str, Any], given: Any) -> str:
    discriminator = str(item.get("ctx", {}).get("discriminator", ""))
    if "tag_of" in discriminator:
        named = given.get("step") if isinstance(given, Mapping) else None
        if named is None:
            return "is neither a step, a phase nor an each: it needs a key `step`, `phase` or `each`"
        return f"no step is called {quoted(named)}{suggestion(str(named), kinds())}"
    known = sorted(QUESTION_TYPES)
    named = given.get("type") if isinstance(given, Mapping) else None
    if named is None:
        return f"needs a key `type`: one of {', '.join(known)}"
    return f"no question type is called {quoted(named)}{suggestion(str(named), known)}"


def _path(loc: Sequence[int | str], raw: Any) -> list[int | str]:
    """The location without the names of union members, which the validator adds."""
    path: list[int | str] = []
    value = raw
    for position, part in enumerate(loc):
        named = isinstance(value, Mapping) and part in (tag_of(value), value.get("type"))
        if position and isinstance(loc[position - 1], int) and named:
            continue  # the member of a union, which may be called like one of its keys
        inside = range(len(value)) if isinstance(value, list | tuple) else value if isinstance(value, Mapping) else ()
        if part in inside:
            path, value = [*path, part], value[part]
    return path


def _write(path: Sequence[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _keys(owner: type[BaseModel]) -> list[str]:
    return [info.alias or key for key, info in owner.model_fields.items()]


def _of_others(key: str, owner: type[BaseModel]) -> str:
    """The types of questions that have a key, if it is unknown in a question of another type."""
    having = sorted(name for name, kind in QUESTION_TYPES.items() if key in kind.model_fields)
    return f" here, but with `type: {'` or `'.join(having)}`" if having and owner in KINDS else ""


def _owner(loc: Sequence[int | str], kind: Any) -> Any:
    """The model that does not have the last key of a location, found by the types of the keys before it."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        types = {info.alias or key: info.annotation for key, info in kind.model_fields.items()}
        return kind if len(loc) == 1 or loc[0] not in types else _owner(loc[1:], types[str(loc[0])])
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _owner(loc, kinds_of_nodes() if kind == Node else inner[0])
    if origin in (Union, UnionType):
        members = {name: member for member in inner for name in _names_of_member(member)}
        return _owner(loc[1:], members[loc[0]]) if loc[0] in members else _owner(loc, inner[0])
    return _owner(loc[1:], inner[1] if origin is dict else inner[0])


def _names_of_member(member: Any) -> Iterator[int | str]:
    """The validator's name for the member of a union in a location."""
    yield from (part.tag for part in get_args(member) if isinstance(part, Tag))
    if isinstance(member, type):
        yield member.__name__
    if member in KINDS:
        yield member.model_fields["type"].default


ROUNDS = 6
# Places in a flow.
FLOW = re.compile(r"(waves\[\d+\]\.)?flow")
# Keys without which a step is none; it can be read without any other, unless that is required.
# Keys of a wave that others need.
UNREAD_TIME = re.compile(r"waves\[\d+\]\.(opens|open_for)")
NAMING = ("step", "phase", "each", "id")
# Lists and mappings of a file that are not steps, with a valid replacement for a part that is set aside.
SOUND: Mapping[str, Mapping[str, Any]] = {
    "annotators": {"prompt": "{{conversation}}", "answer_schema": {"type": "object", "properties": {"x": {}}}},
    "fidelity": {"name": "x", "must": "question"},
    "bonus": {"per": "completion", "amount": 1},
    "quotas": {"max": 0},
}


def parse_leniently(raw: Mapping[str, Any]) -> tuple[StudyFile | None, list[ValidationIssue]]:
    """The readable part of a study file (None if there is none), and all its errors of form."""
    rest, faults = copy.deepcopy(dict(raw)), list[ValidationIssue]()
    aside: list[list[int | str]] = []
    for _ in range(ROUNDS):
        try:
            return StudyFile.model_validate(rest), faults
        except ValidationError as error:
            known = {str(fault) for fault in faults}
            found = [(path_of(item, rest), item["type"]) for item in error.errors(include_url=False)]
            for (path, _), fault in zip(found, issues_of(error, rest), strict=True):
                if str(fault) not in known and not any(path[: len(part)] == part for part in aside if part):
                    faults.append(fault)
            aside += [path for path, _ in found]
            for path, kind in found:
                if len(path) > 1 and path[0] in ("dataset", "embed", "memory", "prolific", "reminders"):
                    rest.pop(str(path[0]), None)  # nothing refers to it
                elif len(path) > 1 and path[0] in SOUND:
                    sound = SOUND[str(path[0])]
                    rest[str(path[0])][path[1]] = {**sound, **({"name": f"x{path[1]}"} if "name" in sound else {})}
                else:
                    _leave_out(rest, path, kind)
    return None, faults


def drop_consequential(
    raw: Mapping[str, Any], earlier_issues: Sequence[ValidationIssue], issues: Sequence[ValidationIssue]
) -> list[ValidationIssue]:
    """The errors of meaning that do not only follow from a part that could not be read."""
    words = {part for fault in earlier_issues for part in _named(raw, fault.where)}
    unread = [found for fault in earlier_issues if (found := UNREAD_TIME.match(fault.where))]
    issues = [fault for fault in issues if fault.where not in {found[0] for found in unread}]
    if not words:
        return issues
    marks = [mark for word in words for mark in (f"'{word}'", f"'{word}.", f"{{{word}.", f"{{{word}}}")]
    marks += [f"`{fault.where.rpartition('.')[2]}" for fault in earlier_issues if FLOW.match(fault.where)]
    return [fault for fault in issues if not any(mark in fault.what for mark in marks)]


def _named(raw: Any, where: str) -> set[str]:
    """The names by which other parts of the file refer to the part at a path."""
    names: set[str] = set()
    value = raw
    for part in where.replace("[", ".[").split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.startswith("[") and part[1:-1].isdigit() and int(part[1:-1]) < len(value):
            value = value[int(part[1:-1])]
        if isinstance(value, dict):
            names |= {str(value[key]) for key in ("id", "step", "each", "name") if key in value}
        if where.startswith(("factors.", "models.", "problems.", "tools.")):
            names.add(part)
    return names


def _replace_question(rest: dict[str, Any], path: Sequence[int | str]) -> bool:
    """Put a plain question of the name there, to find the step's other errors; False if the path is in none."""
    at = path.index("questions") + 1 if "questions" in path[:-1] else 0
    owner: Any = rest
    for part in path[:at]:
        owner = owner.get(part) if isinstance(owner, dict) else owner[int(part)]
        if not isinstance(owner, dict | list):
            return False  # what it lay in was set aside before
    number = path[at] if at else None
    if not isinstance(owner, list) or not isinstance(number, int):
        return False
    name = owner[number].get("name") if isinstance(owner[number], dict) else None
    sound = isinstance(name, str) and re.fullmatch(NAMES, name)
    owner[number] = {"type": "long_text", "name": name if sound else f"x{number}", "text": "x"}
    return True


def _leave_out(rest: dict[str, Any], path: list[int | str], kind: str) -> None:
    if not _replace_question(rest, path):
        _set_aside(rest, path, kind)


def _set_aside(rest: dict[str, Any], path: list[int | str], kind: str) -> None:
    """Remove as little as possible around a path so that the rest of the file can be read."""
    owner: Any = rest
    step: tuple[Any, Any] | None = None
    for part in path[:-1]:
        if isinstance(owner, dict) and part not in owner:
            return  # what it lay in was set aside before
        if isinstance(owner, list) and isinstance(owner[int(part)], dict) and tag_of(owner[int(part)]):
            step = (owner, part)
        owner = owner[part]
    last = path[-1] if path else ""
    if isinstance(owner, list) and isinstance(owner[int(last)], dict) and "type" not in owner[int(last)]:
        step = (owner, last)
    apart = step is None or (owner is step[0][step[1]] and last not in NAMING)
    if isinstance(owner, dict) and (kind == "extra_forbidden" or (apart and last in owner)):
        owner.pop(last, None)  # it may have gone with what it lay in
    elif step is not None:
        node = step[0][step[1]]
        ends = isinstance(node, dict) and node.get("step") == "finish"
        named = str(node.get("id") or node.get("step") or node.get("each")) if isinstance(node, dict) else ""
        step[0][step[1]] = {"step": "finish" if ends else "info", "id": f"{named if named.isidentifier() else 'x'}"}
    elif kind == "missing":
        owner[last] = {"flow": [{"step": "finish"}], "study": "x", "title": "x"}.get(str(last), {})

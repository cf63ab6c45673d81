"""What a validator found, said so that the author of a file can mend it: path, value, what is allowed, did you mean."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from experiments.errors import Fault, allowed
from experiments.study.ai_alone import Alone
from experiments.study.answer_key import Range
from experiments.study.base_model import NAMES
from experiments.study.model_spec import Model, PickText
from experiments.study.recruitment import Bonus, Cap, Ending, Recruitment, Times
from experiments.study.schema import Each, Groups, OneOf, Phase, Pick, Source, StudyFile, models, tag_of


def faults_of(error: ValidationError, raw: Any) -> list[Fault]:
    """Every fault of a validation, with the path as it stands in the file."""
    return [_fault(item, raw) for item in error.errors(include_url=False)]


def path_of(item: Mapping[str, Any], raw: Any) -> list[int | str]:
    """Where in a file a validator's finding is."""
    path = _path(item["loc"], raw)
    return [*path, item["loc"][-1]] if item["type"] == "missing" else path


def _fault(item: Mapping[str, Any], raw: Any) -> Fault:
    path = path_of(item, raw)
    where = _write(path)
    kind, given = item["type"], item.get("input")
    if kind == "extra_forbidden":
        return Fault(where, f"no such key{allowed(str(path[-1]), _siblings(item['loc'], path))}")
    if kind == "missing":
        return Fault(where, "is missing")
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return Fault(where, _tag_fault(item, given))
    message = item["msg"].removeprefix("Value error, ")
    if item.get("ctx", {}).get("pattern") == NAMES:
        message = "a name begins with a letter from a to z, and goes on with such letters, digits, `_` or `-`"
    if isinstance(given, Mapping | Sequence) and not isinstance(given, str):
        return Fault(where, message[:1].lower() + message[1:])
    hint = "; put it in quotes if it is a text" if kind == "string_type" else ""
    shown = f"{given!r}" if isinstance(given, str) else json.dumps(given, default=repr)
    return Fault(where, f"{shown}: {message[:1].lower()}{message[1:]}{hint}")


def _tag_fault(item: Mapping[str, Any], given: Any) -> str:
    discriminator = str(item.get("ctx", {}).get("discriminator", ""))
    if "tag_of" in discriminator:
        named = given.get("step") if isinstance(given, Mapping) else None
        known = [name for name in models()["nodes"] if name not in ("phase", "each")]
        if named is None:
            return "is neither a step, a phase nor an each: it needs a key `step`, `phase` or `each`"
        return f"no step is called {named!r}{allowed(str(named), known)}"
    known = [word.strip(" '") for word in str(item.get("ctx", {}).get("expected_tags", "")).split(",")]
    named = given.get("ask") if isinstance(given, Mapping) else None
    if named is None:
        return f"needs a key `ask`: one of {', '.join(known)}"
    return f"no question is of kind {named!r}{allowed(str(named), known)}"


def _path(loc: Sequence[int | str], raw: Any) -> list[int | str]:
    """The location without what the validator adds: names of union members."""
    path: list[int | str] = []
    value = raw
    for position, part in enumerate(loc):
        named = isinstance(value, Mapping) and part in (tag_of(value), value.get("ask"))
        if position and isinstance(loc[position - 1], int) and named and loc[0] != "bonus":
            continue  # the member of a union, which may be called like one of its keys; a bonus has a key `each`
        inside = range(len(value)) if isinstance(value, list | tuple) else value if isinstance(value, Mapping) else ()
        if part in inside:
            path, value = [*path, part], value[part]
    return path


def _write(path: Sequence[int | str]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _siblings(loc: Sequence[int | str], path: Sequence[int | str]) -> list[str]:
    """The keys that are allowed beside an unknown one."""
    from experiments.study.fields import AnyField

    fields = {kind.model_fields["ask"].default: kind for kind in get_args(get_args(AnyField)[0])}
    named = {
        **models()["nodes"],
        **fields,
        "phase": Phase,
        "each": Each,
        "OneOf": OneOf,
        "Pick": Pick,
        "PickText": PickText,
        "Range": Range,
    }
    parents = {
        "alone": Alone,
        "problems": Source,
        "models": Model,
        "groups": Groups,
        "outcomes": Ending,
        "recruitment": Recruitment,
        "times": Times,
        "caps": Cap,
        "bonus": Bonus,
    }
    owner: Any = StudyFile
    for part in loc[:-1]:
        owner = named.get(str(part), parents.get(str(part), owner)) if isinstance(part, str) else owner
    return [info.alias or key for key, info in owner.model_fields.items()]

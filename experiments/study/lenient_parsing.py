"""All faults of a study file at once, although some keep the rest from being read.

What the validator refuses is set aside (an unknown key is dropped, a faulty step becomes an empty page of the same id)
until the remainder can be read and checked for meaning. What is set aside is told as a fault, so nothing mended ever
runs; and what is found afterwards and only follows from it is not told.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from experiments.errors import Fault
from experiments.study.schema import models, tag_of
from experiments.study.validation_errors import faults_of, path_of

ROUNDS = 6
SOUND: Mapping[str, Mapping[str, Any]] = {
    "annotators": {"prompt": "{{conversation}}", "schema": {"type": "object", "properties": {"x": {}}}},
    "bonus": {"each": "complete", "amount": 1},
    "caps": {"most": 0},
}
"""Lists and mappings of a file that are no steps, and what stands for one of their parts that is set aside."""


def mended(model: type[BaseModel], raw: Mapping[str, Any]) -> tuple[Any | None, list[Fault]]:
    """What can be read of a file (None if nothing can), and every fault of its form."""
    models()
    rest, faults = copy.deepcopy(dict(raw)), list[Fault]()
    aside: list[list[int | str]] = []
    for _ in range(ROUNDS):
        try:
            return model.model_validate(rest), faults
        except ValidationError as error:
            known = {str(fault) for fault in faults}
            found = [(path_of(item, rest), item["type"]) for item in error.errors(include_url=False)]
            for (path, kind), fault in zip(found, faults_of(error, rest), strict=True):
                if str(fault) not in known and not (kind == "missing" and path in aside):
                    faults.append(fault)
            aside += [path for path, _ in found]
            for path, kind in found:
                if len(path) > 1 and path[0] in SOUND:
                    rest[str(path[0])][path[1]] = dict(SOUND[str(path[0])])
                else:
                    _set_aside(rest, path, kind)
    return None, faults


def apart(raw: Mapping[str, Any], told: Sequence[Fault], found: Sequence[Fault]) -> list[Fault]:
    """The faults of meaning that do not merely follow from a part that could not be read."""
    words = {part for fault in told for part in _named(raw, fault.where)}
    if not words:
        return list(found)
    marks = [mark for word in words for mark in (f"'{word}'", f"'{word}.", f"{{{word}.", f"{{{word}}}")]
    return [fault for fault in found if not any(mark in fault.what for mark in marks)]


def _named(raw: Any, where: str) -> set[str]:
    """The names under which others refer to the part of a file at a place."""
    names: set[str] = set()
    value = raw
    for part in where.replace("[", ".[").split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.startswith("[") and part[1:-1].isdigit() and int(part[1:-1]) < len(value):
            value = value[int(part[1:-1])]
        if isinstance(value, dict):
            names |= {str(value[key]) for key in ("id", "step", "each", "name") if key in value}
        if where.startswith(("factors.", "models.", "problems.")):
            names.add(part)
    return names


def _set_aside(rest: dict[str, Any], path: list[int | str], kind: str) -> None:
    """Take what is at a path out of a file, in the least way that lets the rest be read."""
    owner: Any = rest
    step: tuple[Any, Any] | None = None
    for part in path[:-1]:
        if isinstance(owner, dict) and part not in owner:
            return  # what it lay in was set aside before
        if isinstance(owner, list) and isinstance(owner[int(part)], dict) and tag_of(owner[int(part)]):
            step = (owner, part)
        owner = owner[part]
    last = path[-1] if path else ""
    if isinstance(owner, list) and isinstance(owner[int(last)], dict) and "ask" not in owner[int(last)]:
        step = (owner, last)
    if isinstance(owner, dict) and (kind == "extra_forbidden" or (step is None and last in owner)):
        owner.pop(last, None)  # it may have gone with what it lay in
    elif step is not None:
        node = step[0][step[1]]
        ends = isinstance(node, dict) and node.get("step") == "finish"
        named = str(node.get("id") or node.get("step") or node.get("each")) if isinstance(node, dict) else ""
        step[0][step[1]] = {"step": "finish" if ends else "info", "id": f"{named if named.isidentifier() else 'x'}"}
    elif kind == "missing":
        owner[last] = {"flow": [{"step": "finish"}], "study": "x", "title": "x"}.get(str(last), {})

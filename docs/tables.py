"""Parts of reference pages: tables of a model's keys, in words that a researcher reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from experiments.study.field_docstrings import field_docstrings

# Keys whose schema would say too much.
NAMED = {
    "flow": "list of steps, loops and phases",
    "questions": "list of questions",
    "when": "condition",
    "until": "condition",
    "factors": "mapping, each a list of values, a mapping of values to weights, or `one_of`",
}
REFERRED = {
    "ByFactor": "protocol for each value",
    "PromptByFactor": "text for each value",
    **dict.fromkeys(("DelayByFactor", "PaceByFactor", "CountByFactor"), "by factor"),
    "FromTag": "`one_of`",
    "SimulatorPrompts": "texts",
    "AnnotatorSpec": "annotator",
    "Range": "`{minimum: ..., maximum: ...}`",
    "JsonValue": "anything",
}
UNSAID = "Where no kind is named, a value is a text, or `true` or `false` if the default is."
LONGEST_DEFAULT = 80
PLAIN = {"string": "text", "boolean": "true or false", "null": ""}


def about(thing: Any) -> str:
    return " ".join((thing.__doc__ or "").split())


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_cell, row))} |\n" for row in (head, *rows)]
    return "".join([lines[0], f"|{'---|' * len(head)}\n", *lines[1:]])


def filled(page: str, name: str, text: str) -> str:
    """A page with a generated text between the marks of that name; raises ValueError for a page without them."""
    begin, end = f"<!-- {name}: made by docs.generate -->", f"<!-- end of {name} -->"
    start, stop = page.index(begin), page.index(end)
    return f"{page[:start]}{begin}\n\n{text}\n\n{page[stop:]}"


def rows(
    model: type[BaseModel], only: Sequence[str] | None = None, leave_out: Sequence[str] = ()
) -> list[tuple[str, str, str, str]]:
    """A model's keys: each with its kind, its default (or `required`), and its meaning."""
    schema = model.model_json_schema(by_alias=True)
    own = schema if "properties" in schema else schema["$defs"][schema["$ref"].rpartition("/")[2]]
    texts, found = field_docstrings(model), []
    for name, info in model.model_fields.items():
        if name in leave_out or (only is not None and name not in only):
            continue
        key = info.alias or name
        default = "required" if info.is_required() else _default(info.get_default(call_default_factory=True))
        found.append(
            (key, NAMED.get(key) or kind(own["properties"][key]), default, texts.get(name) or info.description or "")
        )
    return found


def keys(model: type[BaseModel], only: Sequence[str] | None = None, leave_out: Sequence[str] = ()) -> str:
    """A list of a model's keys: what may stand there, what stands there unless given, and what it means."""
    return "".join(map(item, rows(model, only, leave_out)))


def item(row: tuple[str, str, str, str]) -> str:
    key, allowed, default, meaning = row
    allowed = "" if allowed == "text" or default in ("`true`", "`false`") else allowed
    default = default if default in ("", "required") else f"default {default}"
    inside = "; ".join(filter(None, (allowed, default)))
    return f"- `{key}`" + (f" ({inside})" if inside else "") + f": {' '.join(meaning.split())}\n"


def kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return REFERRED.get(name, re.sub("(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Spec")).lower())
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    either = schema.get("anyOf") or schema.get("oneOf")
    if either:
        return " or ".join(dict.fromkeys(filter(None, map(kind, either))))
    return _typed(schema)


def _typed(schema: Mapping[str, Any]) -> str:
    by_name = schema.get("patternProperties", {}).values()
    inner = next(iter(by_name), None) or schema.get("items") or schema.get("additionalProperties")
    of = f" of {kind(inner)}" if isinstance(inner, Mapping) and inner else ""
    match schema.get("type"):
        case "array":
            return f"list{of}"
        case "object":
            return f"mapping{of}"
        case "integer" | "number" as named:
            return ("whole number" if named == "integer" else "number") + _range(schema)
        case "string" if "pattern" in schema:
            return "name"
        case named:
            return PLAIN.get(str(named), "anything")


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return ""
    return f", at least {low:g}" if high is None else f", {low:g} to {high:g}"


def _default(value: object) -> str:
    if isinstance(value, str) and (len(value) > LONGEST_DEFAULT or "\n" in value):
        return "in the JSON Schema"
    if value is None or value in ("", (), {}) or isinstance(value, BaseModel):
        return ""
    plain = list(value) if isinstance(value, tuple) else value
    return f"`{plain if isinstance(plain, str) else json.dumps(plain)}`"


def _cell(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("|", "\\|")

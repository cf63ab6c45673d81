"""A screen's form put to a model in words, and its answer read: one JSON object, held to what each field accepts.

What is read is what a person could have sent: ranges, choices and lengths are the fields' own. An answer that is not
wholly usable is not used at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

import orjson

from app.bots.users.base import UnusableReply
from experiments.study.fields import (
    Checkbox,
    ChoiceField,
    Field,
    MultipleChoiceField,
    Number,
    Slider,
    TextField,
    read_form,
)
from experiments.study.screen import Block, CodeBlock, NoticeBlock, ProblemBlock, Screen, TextBlock, TranscriptBlock

FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
TASK = (
    "This is the screen that you see:\n\n{screen}\n\nAnswer as the person that you are. Return only a JSON object with "
    "these keys, and nothing before or after it:\n\n{fields}"
)


def task(screen: Screen, fields: Sequence[Field]) -> str:
    asked = "\n".join(f"- {_line(field)}" for field in fields)
    return TASK.format(screen="\n\n".join(_passages(screen)), fields=asked)


def schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON schema of an answer, for servers that can hold a model to it."""
    properties = {field.name: _schema(field) for field in fields}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def read_answers(fields: Sequence[Field], reply: str) -> dict[str, Any]:
    """The values of an answer; raises Unusable with all that is wrong with it."""
    text = reply.strip()
    fenced = FENCED.fullmatch(text)
    try:
        given = orjson.loads(fenced[1] if fenced else text)
    except orjson.JSONDecodeError:
        raise UnusableReply("Return one JSON object, and nothing before or after it.") from None
    if not isinstance(given, dict):
        raise UnusableReply("Return one JSON object, and nothing before or after it.")
    given = {name: int(one) if isinstance(one, float) and one.is_integer() else one for name, one in given.items()}
    strange = sorted(given.keys() - {field.name for field in fields})
    faults = {**dict.fromkeys(strange, "There is no such key."), **read_form(fields, given).faults}
    if faults:
        raise UnusableReply(" ".join(f"{name}: {fault}" for name, fault in faults.items()))
    return {name: value for name, value in given.items() if value is not None}


def _passages(screen: Screen) -> Iterator[str]:
    """What is to be read on a screen, passage by passage."""
    panel = screen.panel
    if panel.title:
        yield f"# {panel.title}"
    yield from (text for block in panel.blocks if (text := _block(block)))
    if panel.chat is not None:
        yield from (f"{said.role}: {said.text}" for said in panel.chat.messages)
        for round in panel.chat.rounds:
            yield "\n\n".join([f"You: {round.message}", *(f"{one.called}: {one.text}" for one in round.replies)])


def _block(block: Block) -> str:
    match block:
        case TextBlock(text=text) | NoticeBlock(text=text):
            return text
        case ProblemBlock(text=text, options=options):
            return "\n".join([text, *(f"{key}. {label}" for key, label in options)])
        case TranscriptBlock():
            called = {"You": block.you, "Bot": block.bot or block.title}
            said = (f"{called[one.role]}: {one.text}" for one in block.messages)
            return "\n\n".join(filter(None, [block.title, block.problem, *said]))
        case CodeBlock():
            return ""
        case _ as other:
            assert_never(other)


def _line(field: Field) -> str:
    said = " ".join(part for part in (field.text, field.help) if part)
    optional = "" if field.required else " or null, if you leave it out"
    return f"`{field.name}`: {said} ({_takes(field)}{optional})".replace(":  (", ": (")


def _takes(field: Field) -> str:
    match field:
        case MultipleChoiceField(options=options):
            return "a list of any of " + _options(options)
        case ChoiceField(options=options):
            return "one of " + _options(options)
        case Slider(minimum=low, maximum=high, step=step, left=left, right=right):
            ends = f", from {left!r} to {right!r}" if left or right else ""
            return f"a whole number from {low} to {high} in steps of {step}{ends}"
        case Number(minimum=low, maximum=high, integer=whole):
            least = f", at least {low:g}" if low is not None else ""
            most = f", at most {high:g}" if high is not None else ""
            return f"a {'whole ' if whole else ''}number{least}{most}"
        case Checkbox():
            return "true, which ticks the box"
        case TextField(max_chars=most):
            return f"a text of at most {most} characters"
        case _:
            return "a value"


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f'"{key}"' if key == label else f'"{key}" ({label})' for key, label in options.items())


def _schema(field: Field) -> dict[str, Any]:
    found = _type(field)
    return found if field.required else {"anyOf": [found, {"type": "null"}]}


def _type(field: Field) -> dict[str, Any]:
    match field:
        case MultipleChoiceField(options=options):
            return {"type": "array", "items": {"type": "string", "enum": list(options)}}
        case ChoiceField(options=options):
            return {"type": "string", "enum": list(options)}
        case Slider(minimum=low, maximum=high, step=step):
            return {"type": "integer", "enum": list(range(low, high + 1, step))}
        case Number(minimum=low, maximum=high, integer=whole):
            ends = {name: end for name, end in (("minimum", low), ("maximum", high)) if end is not None}
            return {"type": "integer" if whole else "number", **ends}
        case Checkbox():
            return {"type": "boolean"}
        case _:
            return {"type": "string"}

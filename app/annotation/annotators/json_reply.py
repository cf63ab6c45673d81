"""Strict parsing of replies that must be one JSON object of a given schema; any other reply is unparsed.

Text around the object is ignored, because models often add an introduction or a note. No other error is tolerated and
nothing is filled in: missing keys, wrong types, duplicate keys and second objects are rejected. An annotator may say
which other forms mean the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import orjson

from problems.text import NotText, checked_values

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

Schema = Mapping[str, Any]
Values = Mapping[str, Any]
MOST_CHARS = 200_000
SHOWN = 200


@dataclass(frozen=True, slots=True)
class UnparsableReply:
    why: str


def read_object(
    text: str, schema: Schema, tidied: Callable[[Values], Values] = lambda values: values
) -> Values | UnparsableReply:
    """Parse the JSON object in a reply, if it matches the schema once it is tidied."""
    begin = text.find("{")
    if begin < 0:
        return UnparsableReply("there is no JSON object in it")
    if len(text) > MOST_CHARS:
        return UnparsableReply(f"it has {len(text):,} characters, more than {MOST_CHARS:,}")
    try:
        value, end = _DECODER.raw_decode(text, begin)
        if _has_object(text, end):
            return UnparsableReply("there is more than one JSON object in it")
        value = tidied(checked_values(value))
        orjson.dumps(value)
    except NotText as error:
        return UnparsableReply(error.problem[:SHOWN])
    except (ValueError, TypeError, RecursionError) as error:  # orjson: a number too large
        return UnparsableReply(f"it is no JSON: {error}"[:SHOWN])
    fault = next(iter(_validator(orjson.dumps(schema)).iter_errors(value)), None)
    if fault is not None:
        where = ".".join(str(part) for part in fault.absolute_path) or "the object"
        return UnparsableReply(f"{where}: {fault.message}"[:SHOWN])
    return dict(value)


def _has_object(text: str, after: int) -> bool:
    """True if an object begins in the following text; another brace is part of the text around the first one."""
    try:
        return (begin := text.find("{", after)) >= 0 and bool(_DECODER.raw_decode(text, begin))
    except (ValueError, RecursionError):
        return False


@lru_cache(256)
def _validator(schema: bytes) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # 3 MB that a server needs only where models judge replies

    return Draft202012Validator(orjson.loads(schema))


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a duplicate key")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)

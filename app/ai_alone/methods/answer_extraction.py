"""Answer extraction: a second model reads from a free-text reply whether it answers, the value, and the option."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from problems.text import clean

MOST_CHARS = 200


@dataclass(frozen=True, slots=True)
class Extracted:
    attempted: bool
    value: str
    letter: str


def extracted(text: str) -> Extracted | None:
    """Parse the JSON object from the first brace to the last, ignoring text around it; None if it is not valid."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        found = orjson.loads(text[begin : end + 1]) if 0 <= begin < end else None
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict) or not isinstance(attempted := found.get("attempted_answer"), bool):
        return None
    letter = _text(found.get("answer_letter")).strip(" ().").upper()
    return Extracted(attempted, _text(found.get("answer_val")).strip(), letter)


def _text(value: object) -> str:
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return clean(str(value))[:MOST_CHARS] if plain else ""

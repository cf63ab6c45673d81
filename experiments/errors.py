"""Errors of this room; each type says whose move it is.

ParleyError
├── StudyError   the study's author: the file cannot be used; every fault is listed at once
├── NoSuchCell   the researcher: a factor or a value was named that no cell has
├── NotPossible  the researcher: the state of a study or session does not allow what they decide or say about it
└── Refused      the participant: what was asked does not fit the present screen; nothing was recorded
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from experiments.plural import count
from problems.errors import ParleyError, did_you_mean


def suggestion(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the allowed ones, and the most similar one."""
    words = sorted({str(item) for item in known})
    # of many the nearest, as words that come first are nothing to choose from
    some = sorted(get_close_matches(word, words, 12, 0)) if word and len(words) > 12 else words[:12]
    listed = ", ".join(some) + (", ..." if len(words) > 12 else "") if words else "nothing is defined"
    return f"; allowed: {listed}.{did_you_mean(str(word), words)}"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The error about a name that is not among `known`, such as `no model is called 'x'; allowed: ...`."""
    return f"no {what} is called {name!r}{suggestion(name, known)}"


LIST = "should be a list, such as `[one, two]`"
MAPPING = "should be keys with values, such as `key: value`"
WHOLE, NUMBER = "should be a whole number", "should be a number"
# What a file should have, by the validator's type of error, where the validator says it in Python's words.
PLAIN = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), WHOLE),
    **dict.fromkeys(("float_type", "float_parsing", "decimal_type", "decimal_parsing"), NUMBER),
    **dict.fromkeys(("bool_type", "bool_parsing"), "should be `true` or `false`"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), LIST),
    **dict.fromkeys(("dict_type", "mapping_type"), MAPPING),
    **dict.fromkeys(("model_type", "model_attributes_type", "dataclass_type", "named_tuple_type"), MAPPING),
    "none_required": "should have no value",
}


def plain_message(fault: Mapping[str, Any]) -> str:
    """The message of a validator's error without Python's words: who writes a file knows no tuples."""
    message = str(fault["msg"]).removeprefix("Value error, ")
    message = message.removeprefix("Decimal input ").removeprefix("Input ")
    message = message.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    if fault["type"] in ("too_short", "too_long"):  # "Tuple should have at least 2 items after validation, not 1"
        message = message.partition(" ")[2].replace(" after validation", "")
    return PLAIN.get(fault["type"], message)


# The most characters of a path that an error shows; that of a translation has the whole text that is translated.
LONGEST_PATH = 100


@dataclass(frozen=True, slots=True)
class ValidationIssue:
    """An error in a study file: its path, such as `flow[3].questions[0].type`, the fault, and the allowed values."""

    where: str
    what: str
    place: str = field(default="", compare=False)
    """The line of the path, such as `line 12`, or `de.yaml, line 3` in a file beside the study; empty if not known."""
    absent: bool = field(default=False, compare=False)
    """True if the error is that something is nowhere in the flow, which is not known while a part of it is unread."""

    def __str__(self) -> str:
        where = self.where if len(self.where) <= LONGEST_PATH else f"{self.where[:LONGEST_PATH]}..."
        about = ", ".join(filter(None, (self.place, where)))
        return f"{about}: {self.what}" if about else self.what


class StudyError(ParleyError):
    """A study is not valid; `found` lists all its errors."""

    def __init__(self, name: str, issues: Sequence[ValidationIssue]) -> None:
        self.name = name
        self.found = tuple(issues)
        super().__init__(f"{name}: {count(len(self.found), 'error')}", *self.found)


class NoSuchCell(ParleyError):
    """Participants were named by a factor or a value that no cell has."""


class NotPossible(ParleyError):
    """A researcher's decision about a study or a session that does not fit its state; nothing was recorded."""


# What participants read where an action is not possible on the present screen.
NOT_OFFERED = "This action is not available at the moment."


class Refused(ParleyError):
    """An action does not fit the present screen. Nothing was recorded.

    `reason` is one of stale, not_offered, ended, invalid, too_fast, closed; `fields` maps a field's name to what is
    wrong with it. `message` and `fields` are texts as they were said, which can be translated.
    """

    def __init__(self, reason: str, message: str, fields: Mapping[str, str] | None = None) -> None:
        self.reason = reason
        self.message = message
        self.fields = dict(fields or {})
        super().__init__(message)

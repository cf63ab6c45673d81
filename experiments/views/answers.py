"""Answers with the texts that the participant read, for researchers alone: question, answer, and whether it was
correct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from experiments.events import Data, Event
from experiments.session.guesses import UNSURE
from experiments.study.fields import Checkbox, ChoiceField, Field, Invalid, LetteredChoice, MultipleChoiceField
from experiments.study.location import Location
from experiments.study.problem_answer import Range, is_correct
from experiments.study.step import Step

TICKED, NOT_TICKED = "Ticked", "Not ticked"


@dataclass(frozen=True, slots=True)
class AnswerView:
    """Texts of an answer: `given` is empty without one, `correct` None if the question has no correct one."""

    name: str
    question: str
    given: tuple[str, ...]
    value: Any = None
    chosen: bool = False
    """True if `given` are labels of options, and not the participant's own text."""
    right: tuple[str, ...] = ()
    """The correct answers: any of these is, or for a multiple choice all together."""
    correct: bool | None = None


def given_by(event: Event | None) -> Mapping[str, Any]:
    """The answers in an event, by name; the unsent answers if the time limit passed."""
    match event:
        case Event(kind="submitted"):
            return event.data
        case Event(kind="missed"):
            return dict(event.data["values"])
        case Event(kind="expired" | "finished"):
            return dict(event.data.get("typed", {}))
        case _:
            return {}


def answered(location: Location, fields: Sequence[Field], given: Data) -> tuple[AnswerView, ...]:
    right = location.node.answer_key(location) if isinstance(location.node, Step) else {}
    return tuple(_answered(field, given, right) for field in fields if field.name in given)


def as_sent(fields: Sequence[Field], given: Data) -> dict[str, Any]:
    return {field.name: _as_shown(given[field.name], _letters(field)) for field in fields if field.name in given}


def _letters(field: Field) -> Mapping[str, str]:
    """The letters that stood for the options in the browser, by key."""
    return {key: letter for letter, key in field.keys.items()} if isinstance(field, LetteredChoice) else {}


def _answered(field: Field, given: Data, right: Mapping[str, Any]) -> AnswerView:
    value, letters = given[field.name], _letters(field)
    shown = _as_shown(value, letters)
    known = AnswerView(field.name, field.text, words(field, shown), value, isinstance(field, ChoiceField))
    if field.name not in right:
        return known
    wanted = _as_shown(right[field.name], letters)
    correct = None if letters and value == UNSURE else _passes(field, wanted, value)
    return replace(known, right=_right_words(field, wanted), correct=correct)


def _as_shown(value: Any, letters: Mapping[str, str]) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_as_shown(one, letters) for one in value)
    return letters.get(value, value) if isinstance(value, str) else value


def _passes(field: Field, wanted: Any, given: Any) -> bool | None:
    """True if an answer is correct; None if it is invalid, as the unsent answers of an expired form may be."""
    try:
        return is_correct(field, wanted, given)
    except Invalid:
        return None


def words(field: Field, value: Any) -> tuple[str, ...]:
    if isinstance(field, Checkbox):
        return (TICKED if value else NOT_TICKED,)
    if value is None or value == "" or value == []:
        return ()
    several = value if isinstance(value, tuple | list) else (value,)
    options = field.options if isinstance(field, ChoiceField) else {}
    return tuple(options.get(str(one), f"{one}") for one in several)


def _right_words(field: Field, wanted: Any) -> tuple[str, ...]:
    if isinstance(wanted, Range):
        low, high = wanted.minimum, wanted.maximum
        if low == high:
            return (f"{low:g}",)
        ends = (f"at least {low:g}" if low is not None else "", f"at most {high:g}" if high is not None else "")
        return (" and ".join(end for end in ends if end),)
    if isinstance(wanted, tuple | list) and not isinstance(field, MultipleChoiceField):
        return tuple(word for one in wanted for word in words(field, one))
    return words(field, wanted)

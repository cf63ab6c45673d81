"""Which answers pass a check: the values of `correct_answers`, and how an answer is compared with them.

A wanted answer is read as a given one is, by its question, so that "4", 4 and `4` mean the same. Texts are compared
without regard to capitals and blanks. Of a multiple choice exactly the wanted options must be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Discriminator, PlainValidator, Tag, WithJsonSchema, model_validator

from experiments.errors import suggestion
from experiments.study.base_model import StrictModel, typed
from experiments.study.fields import LARGEST, Checkbox, ChoiceField, Field, Invalid, MultipleChoiceField, Number, Slider
from experiments.study.texts import names

SHAPES = "needs an answer, a list of answers, or `{minimum: ..., maximum: ...}`"


class Range(StrictModel):
    """A range of numbers that pass. At least one end is given, and both ends are included."""

    minimum: float | None = None
    """The smallest number that passes."""
    maximum: float | None = None
    """The largest number that passes."""

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.minimum is None and self.maximum is None:
            raise ValueError("needs `minimum`, `maximum` or both")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum:g} is above maximum {self.maximum:g}")
        return self

    def holds(self, value: Any) -> bool:
        low = -LARGEST if self.minimum is None else self.minimum
        high = LARGEST if self.maximum is None else self.maximum
        return isinstance(value, int | float) and low <= value <= high


def _answer(value: Any) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    raise ValueError(SHAPES)


def _shape(value: Any) -> str:
    if isinstance(value, Mapping | Range):
        return "Range"
    return "list" if isinstance(value, list | tuple) else "answer"


Answer = Annotated[
    Any, PlainValidator(_answer), WithJsonSchema({"type": ["string", "boolean", "number"]}, mode="validation")
]
Wanted = Annotated[
    Annotated[Answer, Tag("answer")] | Annotated[tuple[Answer, ...], Tag("list")] | Annotated[Range, Tag("Range")],
    Discriminator(_shape),
]


def is_correct(field: Field, wanted: Any, given: Any) -> bool:
    if isinstance(wanted, Range):
        return wanted.holds(given)
    return any(_same(given, one) for one in _read(field, wanted))


def example(field: Field, wanted: Any) -> Any:
    """An answer that passes, as a form would send it."""
    if isinstance(wanted, Range):
        return next(number for number in _numbers(field, wanted) if wanted.holds(number))
    return next(iter(_read(field, wanted)))


def impossible(field: Field, wanted: Any) -> Iterator[str]:
    """Errors for accepted answers that can never be given, a sentence each."""
    if isinstance(wanted, Range):
        if not any(wanted.holds(number) for number in _numbers(field, wanted)):
            yield "no answer to this question is a number in this range"
        return
    answers = _listed(field, wanted)
    for one in answers:
        yield from _never(field, one)
    if not answers and not isinstance(field, MultipleChoiceField):
        yield "needs at least one answer"
    elif not answers and field.required:
        yield "the question must be answered, so it is never left without a choice; give it `required: false`"


def _never(field: Field, wanted: Any) -> Iterator[str]:
    if isinstance(field, ChoiceField):
        if _sent(field, wanted) not in field.options:
            yield f"{wanted!r} is not an option of this question{suggestion(_sent(field, wanted), field.options)}"
    elif isinstance(wanted, str) and list(names(wanted)):
        yield f"{wanted!r} is compared literally; names in it are not filled in"
    elif isinstance(field, Checkbox):
        if not isinstance(wanted, bool):
            yield f"{wanted!r} is not an answer to a checkbox: write true (ticked) or false (not ticked)"
        elif field.required and not wanted:
            yield "the box must be ticked, so it is never left empty; give the question `required: false`"
    else:
        try:
            field.accept(_sent(field, wanted))
        except Invalid as fault:
            yield f"{wanted!r} is not a possible answer: {fault}"


def _listed(field: Field, wanted: Any) -> Sequence[Any]:
    return wanted if isinstance(wanted, tuple | list) else (wanted,)


def _read(field: Field, wanted: Any) -> list[Any]:
    if isinstance(field, MultipleChoiceField):
        return [field.accept([_sent(field, one) for one in _listed(field, wanted)]) or None]
    if isinstance(field, Checkbox):
        return [True if one is True else None for one in _listed(field, wanted)]
    return [field.accept(_sent(field, one)) for one in _listed(field, wanted)]


def _sent(field: Field, value: Any) -> str:
    """A value as the text that a browser sends. Options are as typed in the study file; 4.0 is sent as 4 otherwise."""
    if isinstance(field, ChoiceField):
        return typed(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _same(given: Any, wanted: Any) -> bool:
    if isinstance(given, str) and isinstance(wanted, str):
        return given.casefold().split() == wanted.casefold().split()
    return bool(given == wanted)


def _numbers(field: Field, number_range: Range) -> Iterator[float]:
    """Possible numeric answers to a question; for a continuous range its ends and those of `number_range`."""
    if isinstance(field, Slider):
        yield from range(field.minimum, field.maximum + 1, field.step)
    elif isinstance(field, ChoiceField) and not isinstance(field, MultipleChoiceField):
        read = (field.accept(key) for key in field.options)
        yield from (value for value in read if isinstance(value, int | float))
    elif isinstance(field, Number):
        ends = (number_range.minimum, number_range.maximum, field.minimum, field.maximum, 0)
        for end in (float(end) for end in ends if end is not None):
            for number in (end, -(-end // 1), end // 1):
                try:
                    yield field.accept(_sent(field, number))
                except Invalid:
                    continue

"""The answer to a problem: one of its options, or a number with a tolerance; and how sure participants are of it.

Also which answers pass a check: the values of `correct_answers`, and how an answer is compared with them. A wanted
answer is read as a given one is, by its question, so that "4", 4 and `4` mean the same. Texts are compared without
regard to capitals and blanks. Of a multiple choice exactly the wanted options must be chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, Discriminator, PlainValidator, Tag, WithJsonSchema, model_validator

from experiments.errors import suggestion
from experiments.events import Data
from experiments.study.base_model import StrictModel
from experiments.study.fields import (
    ANSWER,
    LARGEST,
    Checkbox,
    ChoiceField,
    Field,
    Invalid,
    MultipleChoiceField,
    Number,
    Slider,
    choice,
    typed,
)
from experiments.study.location import Location
from experiments.study.option_order import Draw, Order, drawn
from experiments.study.step import Step
from experiments.study.texts import names
from problems.problem import Problem

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


if TYPE_CHECKING:  # its flow has steps
    from experiments.study.schema import ProblemSource
    from experiments.study.study import Study

# The tags of a problem that take precedence over the keys of the same names.
UNIT, TOLERANCE = "unit", "tolerance"
ANSWER_CONFIDENCE = "answer_confidence"
# The name under which the recommendation that was shown is recorded with the answer.
ADVICE = "advice"
SURE = Slider(name=ANSWER_CONFIDENCE, left="0: certainly wrong", right="100: certainly right")
TOLERANCES = "a number that is not negative, such as 0.5, or a share of the right answer, such as 5 %"


def _decimal(text: str) -> Decimal | None:
    """A number with a decimal point; None if the text is none, or too large."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number) <= LARGEST else None


def number_of(text: str) -> float | None:
    number = _decimal(text)
    return None if number is None else float(number)


def _tolerance(text: str) -> tuple[Decimal, bool] | None:
    """A tolerance, and whether it is relative (then a share from 0); None if the text is none."""
    plain = text.strip()
    relative = plain.endswith("%")
    number = _decimal(plain.removesuffix("%"))
    if number is None or number < 0:
        return None
    return (number / 100 if relative else number), relative


def _readable(text: str) -> str:
    if _tolerance(text) is None:
        raise ValueError(f"{text!r} is not a tolerance; write {TOLERANCES}")
    return text


class NumericAnswer(StrictModel):
    """A number as the answer. The right one is the problem's `answer`, written with a decimal point."""

    unit: str = ""
    """The unit, shown behind the box. A problem's own column or tag `unit` takes precedence."""
    tolerance: Annotated[str, AfterValidator(_readable)] = "0"
    """The greatest distance from the right answer at which a number is right, both ends included: `0.5`, or a share of
    the right answer, `5 %`. A problem's own column or tag `tolerance` takes precedence."""
    minimum: float | None = None
    """The smallest number accepted."""
    maximum: float | None = None
    """The largest number accepted."""
    integer: bool = False
    """True if only whole numbers are accepted."""

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        self.field()
        return self

    def field(self, problem: Problem | None = None) -> Number:
        """The box for the number; for a problem, with its unit."""
        unit = (problem.tags.get(UNIT) if problem else "") or self.unit
        limits = {"minimum": self.minimum, "maximum": self.maximum, "integer": self.integer}
        return Number(name=ANSWER.name, text="" if problem else ANSWER.text, unit=unit, **limits)

    def accepted(self, problem: Problem) -> Range | None:
        """The numbers that are right; None if that is not known. Calculated in decimals, so that 0.8 is 0.7 + 0.1."""
        right = _decimal(problem.answer or "")
        found = _tolerance(problem.tags.get(TOLERANCE) or self.tolerance)
        if right is None or found is None:
            return None
        size, relative = found
        room = abs(right) * size if relative else size
        return Range(minimum=float(right - room), maximum=float(right + room))

    def faults(self, problem: Problem) -> Iterator[str]:
        if problem.options:
            yield "has options; a numeric answer needs problems without any"
            return
        if problem.answer is not None and _decimal(problem.answer) is None:
            yield f"has the answer {problem.answer!r}; write a number with a decimal point and without a unit, or none"
        if (own := problem.tags.get(TOLERANCE)) and _tolerance(own) is None:
            yield f"has the tolerance {own!r}; write {TOLERANCES}"
        accepted = self.accepted(problem)
        low, high = self.minimum, self.maximum
        if accepted and accepted.maximum is not None and low is not None and accepted.maximum < low:
            yield f"has the answer {problem.answer}, which is below `minimum: {low:g}`"
        if accepted and accepted.minimum is not None and high is not None and accepted.minimum > high:
            yield f"has the answer {problem.answer}, which is above `maximum: {high:g}`"


class OptionsStep(Step):
    """Common to the steps that show a problem's options, or hold a conversation about them."""

    options: Order | None = None
    """The order of the options. `listed`: as in the pool. `shuffled`: for each participant and problem another random
    order. `shuffled_once`: for each participant one random order of places for all problems with as many options. The
    pool's `options` by default."""

    def options_order(self, pool: ProblemSource | None) -> Order:
        return self.options or (pool.options if pool else "listed")

    def orders(self, location: Location, draw: Draw) -> Data:
        problem, pool = location.scope.problem, location.scope.pool
        order = self.options_order(location.study.file.problems.get(pool))
        if order == "listed" or problem is None or not problem.options:
            return {}
        return {"options": drawn(order, [option.key for option in problem.options], f"{pool}/{problem.id}", draw)}

    def problem_faults(self, problem: Problem) -> Iterator[str]:
        if self.options not in (None, "listed") and not problem.options:
            yield f"has no options; `options: {self.options}` needs problems with options"


def shuffled_pools(study: Study) -> dict[str, tuple[Problem, ...]]:
    shown = ((one.turn.pool, one.step) for one in study.placed_steps if one.turn and isinstance(one.step, OptionsStep))
    sources = study.file.problems
    shuffled = {pool for pool, step in shown if step.options_order(sources.get(pool)) != "listed"}
    return {name: pool for name, pool in study.pools.items() if name in shuffled}


class AnsweringStep(OptionsStep):
    """Common to the steps that can ask for the answer to a problem."""

    number: NumericAnswer | None = None
    """Ask for a number instead of one of the problem's options."""
    ask_confidence: bool = False
    """Ask as well how sure participants are, from 0 to 100, recorded as `answer_confidence`."""
    confidence_text: str = "How sure are you that your answer is right?"
    """The text of that question."""

    def answer_asked(self) -> tuple[Field, ...]:
        return (self.number.field() if self.number else ANSWER, *self._sure())

    def answer_fields(self, location: Location) -> tuple[Field, ...]:
        problem = location.problem
        answer = self.number.field(problem) if self.number else choice(problem.options, location.option_keys)
        return (answer, *(field.filled(location.fill_markdown) for field in self._sure()))

    def _sure(self) -> tuple[Field, ...]:
        return (SURE.model_copy(update={"text": self.confidence_text}),) if self.ask_confidence else ()

    def answer_names(self) -> tuple[str, ...]:
        return (ANSWER.name, ANSWER_CONFIDENCE) if self.ask_confidence else (ANSWER.name,)

    def answer_needs(self) -> frozenset[str]:
        return frozenset({"problem"} if self.number else {"problem", "options"})

    def accepts(self, problem: Problem, given: Any) -> bool:
        if self.number is None:
            return bool(given == problem.answer)
        accepted = self.number.accepted(problem)
        return accepted is not None and accepted.holds(given)

    def answer_key(self, location: Location) -> Mapping[str, Any]:
        problem = location.scope.problem
        if problem is None or ANSWER.name not in self.provides():
            return {}
        right = self.number.accepted(problem) if self.number else problem.answer if problem.options else None
        return {} if right is None else {ANSWER.name: right}

    def problem_faults(self, problem: Problem) -> Iterator[str]:
        yield from super().problem_faults(problem)
        if self.number and ANSWER.name in self.provides():
            yield from self.number.faults(problem)

"""The answer to a problem: one of its options, or a number with a tolerance; and how sure participants are of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import AfterValidator, model_validator

from experiments.events import Data
from experiments.study.answer_key import Range
from experiments.study.base_model import StrictModel
from experiments.study.fields import ANSWER, LARGEST, Field, Number, Slider, choice
from experiments.study.location import Location
from experiments.study.option_order import Draw, Order, drawn
from experiments.study.step import Step
from problems.problem import Problem

if TYPE_CHECKING:  # its flow has steps
    from experiments.study.schema import ProblemSource

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
    """How far from the right answer a number may be to count as right, both ends included: `0.5`, or a share of the
    right answer, `5 %`. A problem's own column or tag `tolerance` takes precedence."""
    minimum: float | None = None
    """The smallest number accepted."""
    maximum: float | None = None
    """The largest number accepted."""
    integer: bool = False
    """Whether only whole numbers are accepted."""

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


class AnsweringStep(OptionsStep):
    """Common to the steps that can ask for the answer to a problem."""

    number: NumericAnswer | None = None
    """Ask for a number instead of one of the problem's options."""
    ask_confidence: bool = False
    """Whether to ask as well how sure participants are, from 0 to 100, recorded as `answer_confidence`."""
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

"""Answer: a problem answered alone, from its options or by a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from experiments.events import Action, Fact
from experiments.study.fields import Field
from experiments.study.location import Location
from experiments.study.problem_answer import ADVICE, AnsweringStep, number_of
from experiments.study.screen import Panel, ProblemBlock, TextBlock
from experiments.study.step import step
from problems.problem import Problem


@step
class AnswerStep(AnsweringStep):
    """ChatBench's user-alone page: the question and its lettered options. With `number` the answer is a number."""

    step: Literal["answer"]
    text: str = (
        "Now, answer this question to the best of your ability, without using any external tools. "
        "Take as much time as you need."
    )
    """The instructions above the problem, in Markdown. (ChatBench's.)"""
    copying: bool = True
    """True if participants can select and copy the problem's text."""
    advice: str = ""
    """The column or tag of a problem that holds a recommendation: an option's key or text, or a number. It is shown
    below the problem and recorded with the answer."""
    advice_label: str = "Recommendation"
    """The words before the recommendation."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def questions_asked(self) -> tuple[Field, ...]:
        return self.answer_asked()

    def fields(self, location: Location) -> tuple[Field, ...]:
        return self.answer_fields(location)

    def panel(self, location: Location) -> Panel:
        advice = (self._recommendation(location),) if self.advice else ()
        problem = ProblemBlock(location.problem.text, copying=self.copying)
        blocks = (TextBlock(location.fill_markdown(self.text)), problem, *advice)
        return Panel(self.title, blocks, self.fields(location), button=self.button)

    def _recommendation(self, location: Location) -> TextBlock:
        problem, advised = location.problem, self._advised(location.scope.problem)
        written, letter = problem.tags.get(self.advice, "").strip(), location.letter(str(advised))
        shown = next((f"{one.key}. {one.text}" for one in problem.options if one.key == letter), written)
        unit = self.number.field(problem).unit if self.number else ""
        return TextBlock(f"**{location.fill_markdown(self.advice_label)}:** {shown} {unit}".rstrip())

    def _advised(self, problem: Problem | None) -> str | float | None:
        """The option's key or the number that is recommended; None if the problem's tag has neither."""
        if problem is None:
            return None
        said = problem.tags.get(self.advice, "").strip()
        if self.number:
            return number_of(said)
        return next((one.key for one in problem.options if said and said in (one.key, one.text, one.plain)), None)

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        (given,) = super().decide(location, action)
        advice = {ADVICE: self._advised(location.scope.problem)} if self.advice else {}
        return (Fact(given.kind, {**given.data, **advice}),)

    def problem_faults(self, problem: Problem) -> Iterator[str]:
        yield from super().problem_faults(problem)
        if self.advice and self._advised(problem) is None:
            kind = "a number with a decimal point" if self.number else "an option's key or text"
            said = problem.tags.get(self.advice)
            held = f"the {self.advice} {said!r}" if said else f"no {self.advice}"
            yield f"has {held}; `advice: {self.advice}` needs a column or tag of that name with {kind}"

    def provides(self) -> tuple[str, ...]:
        """`answer`, the letter chosen or the number; and `answer_confidence`, if `ask_confidence` is set."""
        return self.answer_names()

    def requires(self) -> frozenset[str]:
        """A problem; with options, unless the answer is a number."""
        return self.answer_needs()

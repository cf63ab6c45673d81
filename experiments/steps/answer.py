"""Answer: a problem answered alone, from its options or by a number."""

from __future__ import annotations

from typing import Literal

from experiments.session.state import Location
from experiments.study.fields import Field
from experiments.study.problem_answer import AnsweringStep
from experiments.study.screen import Panel, ProblemBlock, TextBlock
from experiments.study.step import step


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
    """Whether participants can select and copy the problem's text."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def questions_asked(self) -> tuple[Field, ...]:
        """The problem, whose options are its own; and how sure participants are."""
        return self.answer_asked()

    def fields(self, place: Location) -> tuple[Field, ...]:
        """The options or the box for a number; and the confidence."""
        return self.answer_fields(place)

    def panel(self, place: Location) -> Panel:
        """The problem and its options."""
        blocks = (TextBlock(place.fill(self.text)), ProblemBlock(place.problem.text, copying=self.copying))
        return Panel(self.title, blocks, self.fields(place), button=self.button)

    def provides(self) -> tuple[str, ...]:
        """`answer`, the letter chosen or the number; and `answer_confidence`, if `ask_confidence` is set."""
        return self.answer_names()

    def requires(self) -> frozenset[str]:
        """A problem; with options, unless the answer is a number."""
        return self.answer_needs()

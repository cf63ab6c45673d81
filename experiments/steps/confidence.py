"""Confidence: how confident somebody is before working on a problem, which is shown but cannot be answered yet."""

from __future__ import annotations

from typing import Literal

from experiments.instruments.scales import CONFIDENCE, QUESTIONS
from experiments.session.state import Place
from experiments.study.fields import Field, Single
from experiments.study.screen import Asked, Panel, Text
from experiments.study.step import Step, step

ASKED = Single(name="confidence", text=QUESTIONS["confidence"], options=CONFIDENCE)


@step
class Confidence(Step):
    """ChatBench's confidence page: the question with its options greyed, and three degrees of confidence."""

    step: Literal["confidence"]
    text: str = "Please read the following question carefully."
    """The line above the problem. (ChatBench's.)"""
    copying: bool = True
    """Whether participants can select and copy the problem's text."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def asks(self) -> tuple[Field, ...]:
        """ChatBench's question and words (seeds 1.1)."""
        return (ASKED,)

    def panel(self, place: Place) -> Panel:
        """The problem, then the question."""
        options = tuple((option.key, option.text) for option in place.problem.options)
        problem = Asked(place.problem.text, options, self.copying)
        return Panel(self.title, (Text(place.fill(self.text)), problem), self.fields(place), button=self.button)

    def gives(self) -> tuple[str, ...]:
        """`confidence`, the degree chosen."""
        return ("confidence",)

    def needs(self) -> frozenset[str]:
        """A problem."""
        return frozenset({"problem"})

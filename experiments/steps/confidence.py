"""Confidence: how confident participants are before they work on a problem, which is shown without a form."""

from __future__ import annotations

from typing import Literal

from experiments.instruments.scales import CONFIDENCE, QUESTIONS
from experiments.study.fields import Field, SingleChoice, Slider
from experiments.study.location import Location
from experiments.study.problem_answer import OptionsStep
from experiments.study.screen import Panel, ProblemBlock, TextBlock
from experiments.study.step import step

ASKED = SingleChoice(name="confidence", text=QUESTIONS["confidence"], options=CONFIDENCE)
IN_POINTS = Slider(
    name="confidence_points",
    text=QUESTIONS["confidence"],
    left="0: not at all",
    right="100: completely",
)


@step
class ConfidenceStep(OptionsStep):
    """ChatBench's confidence page: the question with its options greyed, and three degrees of confidence."""

    step: Literal["confidence"]
    text: str = "Please read the following question carefully."
    """The line above the problem. (ChatBench's.)"""
    copying: bool = True
    """True if participants can select and copy the problem's text."""
    points: bool = False
    """Ask for a whole number from 0 to 100 instead, recorded as `confidence_points`."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def questions_asked(self) -> tuple[Field, ...]:
        return (IN_POINTS if self.points else ASKED,)

    def panel(self, location: Location) -> Panel:
        options = tuple((option.key, option.text) for option in location.problem.options)
        problem = ProblemBlock(location.problem.text, options, self.copying)
        return Panel(
            self.title,
            (TextBlock(location.fill_markdown(self.text)), problem),
            self.fields(location),
            button=self.button,
        )

    def provides(self) -> tuple[str, ...]:
        """`confidence`, the degree chosen; or `confidence_points`, if `points` is set."""
        return (self.questions_asked()[0].name,)

    def requires(self) -> frozenset[str]:
        """A problem."""
        return frozenset({"problem"})

"""Survey: questions of any kind on one screen."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from experiments.session.state import Location
from experiments.study.fields import AnyField, Field
from experiments.study.screen import Block, Panel, ProblemBlock, TextBlock, dialogue
from experiments.study.step import Step, step

PERSON, CALLED = "Person", "AI assistant"
"""The labels of the two speakers of a conversation, shown instead of their names."""


@step
class SurveyStep(Step):
    """A form: single and multiple choice, scales, numbers, short and long texts, each required or not."""

    step: Literal["survey"]
    text: str = ""
    """The text above the questions, in Markdown."""
    questions: tuple[AnyField, ...]
    """The questions, in order. The key `type` of each names its kind."""
    show_problem: bool = False
    """Whether the problem in scope is shown above the questions."""
    show_dialogue: bool | None = None
    """Whether the finished conversation in scope is shown above the questions. With `show_problem` the problem's text
    can be expanded there."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        names = [question.name for question in self.questions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two questions are called {twice[0]!r}; their names must differ")
        if not names:
            raise ValueError("needs at least one question")
        return self

    def questions_asked(self) -> tuple[Field, ...]:
        """The questions."""
        return self.questions

    def panel(self, place: Location) -> Panel:
        """The text, the problem or the conversation if wanted, and the questions."""
        blocks: tuple[Block, ...] = (TextBlock(place.fill(self.text)),) if self.text else ()
        if self.show_dialogue:
            about = place.problem.text if self.show_problem else ""
            blocks = (*blocks, dialogue(place.problem.dialogue, PERSON, CALLED, problem=about))
        elif self.show_problem:
            blocks = (*blocks, ProblemBlock(place.problem.text))
        return Panel(self.title, blocks, self.fields(place), button=self.button)

    def provides(self) -> tuple[str, ...]:
        """Each question's answer, by its `name`."""
        return tuple(question.name for question in self.questions)

    def requires(self) -> frozenset[str]:
        """A problem, where it is shown; a finished conversation, where that is."""
        shown = {"problem": self.show_problem or self.show_dialogue, "dialogue": self.show_dialogue}
        return frozenset(name for name, needed in shown.items() if needed)

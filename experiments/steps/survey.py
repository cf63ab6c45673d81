"""Survey: questions of any kind on one screen."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from experiments.core.fields import AnyField, Field
from experiments.core.place import Place
from experiments.core.screen import Asked, Block, Panel, Text
from experiments.core.step import Step, step


@step
class Survey(Step):
    """A form: single and multiple choice, scales, numbers, short and long texts, each required or not."""

    step: Literal["survey"]
    text: str = ""
    """What stands above the questions, in Markdown."""
    questions: tuple[AnyField, ...]
    """The questions, in order; each has a key `ask` that names its kind."""
    show_problem: bool = False
    """Whether the problem in scope is shown above the questions."""
    button: str = "Continue"
    """The words on the button that ends the screen."""

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        names = [question.name for question in self.questions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two questions are called {twice[0]!r}; their names must differ")
        if not names:
            raise ValueError("needs at least one question")
        return self

    def asks(self) -> tuple[Field, ...]:
        """The questions."""
        return self.questions

    def panel(self, place: Place) -> Panel:
        """The text, the problem if wanted, and the questions."""
        blocks: tuple[Block, ...] = (Text(place.fill(self.text)),) if self.text else ()
        if self.show_problem:
            blocks = (*blocks, Asked(place.problem.text))
        return Panel(self.title, blocks, self.fields(place), button=self.button)

    def gives(self) -> tuple[str, ...]:
        """Each question's answer, by its `name`."""
        return tuple(question.name for question in self.questions)

    def needs(self) -> frozenset[str]:
        """A problem, where it is shown."""
        return frozenset({"problem"} if self.show_problem else ())

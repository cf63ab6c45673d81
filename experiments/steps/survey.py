"""Survey: questions of any kind on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Tag, model_validator

from experiments.study.fields import AnyField, Field
from experiments.study.instrument import Instrument, InstrumentUse
from experiments.study.location import Location
from experiments.study.screen import Block, Panel, ProblemBlock, dialogue
from experiments.study.step import Step, step

# The labels of the two speakers of a conversation, shown instead of their names.
PERSON, CALLED = "Person", "AI assistant"


def _form_of_question(raw: Any) -> str:
    """Whether a question is written out or names an instrument, so that errors are about that form alone."""
    named = isinstance(raw, InstrumentUse) or (isinstance(raw, Mapping) and "instrument" in raw and "type" not in raw)
    return "an instrument" if named else "a question"


Asked = Annotated[
    Annotated[AnyField, Tag("a question")] | Annotated[InstrumentUse, Tag("an instrument")],
    Discriminator(_form_of_question),
]


@step
class SurveyStep(Step):
    """A form: single and multiple choice, scales, numbers, short and long texts, each required or not; and the items
    of instruments (`- instrument: sus`)."""

    step: Literal["survey"]
    text: str = ""
    """The text above the questions, in Markdown."""
    questions: tuple[Asked, ...]
    """The questions, in order. The key `type` of each names its kind. `- instrument: NAME` stands for all items of an
    instrument."""
    show_problem: bool = False
    """Whether the problem in scope is shown above the questions."""
    show_dialogue: bool | None = None
    """Whether the finished conversation in scope is shown above the questions."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        if twice := self._twice():
            raise ValueError(twice)
        if not self.questions:
            raise ValueError("needs at least one question")
        return self

    def _twice(self) -> str:
        asked = Counter(question.name for question in self.questions_asked())
        uses = Counter(self.instruments())
        if twice := sorted(name for name, times in asked.items() if times > 1):
            return f"two questions are called {twice[0]!r}; their names must differ"
        if twice := sorted(name for name, times in uses.items() if times > 1):
            return f"asks the instrument {twice[0]!r} twice; ask it in a survey of its own"
        return ""

    def instruments(self) -> tuple[str, ...]:
        return tuple(one.instrument for one in self.questions if isinstance(one, InstrumentUse))

    def with_instruments(self, instruments: Mapping[str, Instrument]) -> Self:
        """The survey with their items in place of the names; of unknown ones, nothing."""
        if not self.instruments():
            return self
        questions: list[Field] = []
        for one in self.questions:
            if not isinstance(one, InstrumentUse):
                questions.append(one)
            elif one.instrument in instruments:
                questions += instruments[one.instrument].questions(one)
        return self.model_copy(update={"questions": tuple(questions)})

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        return [twice] if (twice := self._twice()) else []

    def questions_asked(self) -> tuple[Field, ...]:
        return tuple(question for question in self.questions if isinstance(question, Field))

    def panel(self, location: Location) -> Panel:
        blocks: tuple[Block, ...] = location.text_blocks(self.text)
        if self.show_dialogue:
            about = location.problem.text if self.show_problem else ""
            blocks = (*blocks, dialogue(location.problem.dialogue, PERSON, CALLED, problem=about))
        elif self.show_problem:
            blocks = (*blocks, ProblemBlock(location.problem.text))
        return Panel(self.title, blocks, self.fields(location), button=self.button)

    def provides(self) -> tuple[str, ...]:
        """Each question's answer, by its `name`."""
        return tuple(question.name for question in self.questions_asked())

    def requires(self) -> frozenset[str]:
        """A problem, where it is shown; a finished conversation, where that is."""
        shown = {"problem": self.show_problem or self.show_dialogue, "dialogue": self.show_dialogue}
        return frozenset(name for name, needed in shown.items() if needed)

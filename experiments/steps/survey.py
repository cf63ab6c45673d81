"""Survey: questions of any kind on one screen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Tag, model_validator

from experiments.events import Action, Data, Fact
from experiments.study.fields import AnyField, Field, MatrixField
from experiments.study.instrument import Instrument, InstrumentUse, ItemOnLine
from experiments.study.location import Location, in_order
from experiments.study.option_order import Draw, Order, choice_faults, drawn_choices
from experiments.study.screen import Block, Panel, ProblemBlock, dialogue
from experiments.study.step import Step, read_or_refuse, step

# The labels of the two speakers of a conversation, shown instead of their names.
PERSON, CALLED = "Person", "AI assistant"


def _form_of_question(raw: Any) -> str:
    """Tell a question that is written out from the name of an instrument, so that errors are about that form alone."""
    named = isinstance(raw, InstrumentUse) or (isinstance(raw, Mapping) and "instrument" in raw and "type" not in raw)
    return "an instrument" if named else "a question"


Asked = Annotated[
    Annotated[AnyField, Tag("a question")] | Annotated[InstrumentUse, Tag("an instrument")],
    Discriminator(_form_of_question),
]


def _part(question: Field) -> tuple[str, ...]:
    """A key that is equal for what stays together: a table's rows, and an instrument's items below a heading."""
    if isinstance(question, MatrixField) and question.matrix:
        return (question.matrix, *question.options.values())
    return ("line", question.instrument) if isinstance(question, ItemOnLine) else ("one", question.name)


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
    """True if the problem in scope is shown above the questions."""
    show_dialogue: bool | None = None
    """True if the finished conversation in scope is shown above the questions."""
    options: Order = "listed"
    """The order of the options of single and multiple choices. `listed`, `shuffled`: for each participant and question
    another random order, or `shuffled_once`: for each participant one random order of places."""
    order: Literal["listed", "shuffled", "shuffled_rows"] = "listed"
    """The order of the questions. `shuffled`: for each participant another random order, in which the rows of a table
    stay together. `shuffled_rows`: only the rows of each table are shuffled."""
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
        asked = self.questions_asked()
        alone = self.order == "shuffled" and len({_part(one) for one in asked}) < 2
        idle = [f"`order: {self.order}`: there is only one question or table"] if alone else []
        return [*([twice] if (twice := self._twice()) else []), *choice_faults(self.options, asked), *idle]

    def questions_asked(self) -> tuple[Field, ...]:
        return tuple(question for question in self.questions if isinstance(question, Field))

    def fields(self, location: Location) -> tuple[Field, ...]:
        return in_order(super().fields(location), location.facts)

    def orders(self, location: Location, draw: Draw) -> Data:
        asked, label = self.questions_asked(), f"{location.path}:questions"
        choices = drawn_choices(self.options, asked, draw)
        found: dict[str, Any] = {"choices": choices} if choices else {}
        if self.order == "listed":
            return found
        parts = {one[0].name: one for one in (tuple(part) for _, part in groupby(asked, _part))}
        names = list(draw(list(parts), label)) if self.order == "shuffled" else list(parts)
        rows = ([row.name for row in parts[name]] for name in names)
        tables = (draw(part, label) if isinstance(parts[part[0]][0], MatrixField) else part for part in rows)
        return {**found, "questions": [name for table in tables for name in table]}

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        """Reads the questions as listed: in this order several chosen options are recorded."""
        return (Fact("submitted", read_or_refuse(super().fields(location), action.data)),)

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

"""Chat: a conversation with a model beside the problem, which ends with an answer or when the participant leaves it.
Its events are those of every conversation with one model (experiments/session/model_conversation.py)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from experiments.session.model_conversation import ModelConversation
from experiments.study.fields import Field
from experiments.study.location import Location
from experiments.study.problem_answer import AnsweringStep
from experiments.study.screen import Block, Panel, ProblemBlock
from experiments.study.step import step
from problems.pictures import PictureMap, described_problem
from problems.problem import Problem


@step
class ChatStep(ModelConversation, AnsweringStep):
    """A conversation of at most `max_messages` messages. With `answer` the problem is answered on the same screen."""

    step: Literal["chat"]
    text: str = ""
    """The instructions above the problem, in Markdown."""
    model: str = "{{model}}"
    """The model that replies: one of the study's models, usually given by a factor or a loop's variable."""
    answer: bool = False
    """True if the problem must be answered next to the chat to continue."""
    copying: bool = True
    """True if participants can select and copy the problem's text."""

    def replies(self, location: Location) -> str:
        return location.fill(self.model)

    def questions_asked(self) -> tuple[Field, ...]:
        return (*(self.answer_asked() if self.answer else ()), *super().questions_asked())

    def fields(self, location: Location) -> tuple[Field, ...]:
        return self.answer_fields(location) if self.answer else ()

    def panel(self, location: Location) -> Panel:
        blocks: tuple[Block, ...] = (
            *location.text_blocks(self.text),
            _block(location.problem, location.study.pictures, copying=self.copying),
        )
        return Panel(self.title, blocks, self.fields(location), self.chat(location), self.button)

    def provides(self) -> tuple[str, ...]:
        """`answer`, if the problem is answered in this step, and `answer_confidence`, if that is asked."""
        return self.answer_names() if self.answer else ()

    def asks_models(self, models: Sequence[str]) -> tuple[str, ...]:
        return (self.model,)

    def requires(self) -> frozenset[str]:
        """A problem and a model; options, if it is answered here."""
        model = {"model"} if "{{model}}" in self.model.replace(" ", "") else set()
        return frozenset({"problem"} | model | (self.answer_needs() if self.answer else set()))

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        idle = {"number": self.number is not None, "ask_confidence": self.ask_confidence}
        return [f"`{key}` needs `answer: true`" for key, given in idle.items() if given and not self.answer]


@lru_cache(maxsize=100)
def _block(problem: Problem, pictures: PictureMap, *, copying: bool) -> ProblemBlock:
    read = described_problem(problem, pictures)
    plain = tuple((option.key, option.plain) for option in read.options)
    return ProblemBlock(problem.text, copying=copying, plain=read.plain, plain_options=plain)

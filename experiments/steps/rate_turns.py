"""Rate turns: a finished conversation, in which every turn is rated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from experiments.events import Event
from experiments.session.conversation import rated_reply, turns
from experiments.session.conversation_design import reviewed
from experiments.study.fields import Field, Scale
from experiments.study.location import Location
from experiments.study.screen import Panel, TranscriptBlock
from experiments.study.step import RatingSubject, Step, step


@step
class RateTurnsStep(Step):
    """CheckMate's rating page: for each message and its reply, helpfulness and correctness from 0 to 6."""

    step: Literal["rate_turns"]
    chat: str = "chat"
    """The id of the chat that is rated."""
    scales: tuple[Literal["helpfulness", "correctness"], ...] = ("helpfulness", "correctness")
    """The scales on which each turn is rated."""
    text: str = ""
    """The text above the conversation, in Markdown."""
    assistant_label: str = "AI Chatbot"
    """The label that participants see instead of the model's name."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def questions_asked(self) -> tuple[Field, ...]:
        return tuple(Scale.model_validate({"scale": name, "type": "scale"}) for name in self.scales)

    def _facts(self, location: Location) -> list[Event]:
        return [event for turn in turns(location.sibling_facts(self.chat)) for event in turn]

    def _ratings(self, location: Location) -> tuple[tuple[Field, ...], ...]:
        scales = super().fields(location)
        return tuple(
            tuple(scale.model_copy(update={"name": f"{scale.name}_{n}"}) for scale in scales)
            for n in range(len(self._facts(location)) // 2)
        )

    def fields(self, location: Location) -> tuple[Field, ...]:
        """A scale for each turn, named `helpfulness_0`, `correctness_0`, `helpfulness_1` and so on."""
        return tuple(field for ratings in self._ratings(location) for field in ratings)

    def panel(self, location: Location) -> Panel:
        problem = location.scope.problem.text if location.scope.problem else ""
        said = reviewed(location, self._facts(location))
        talk = TranscriptBlock(location.fill(self.assistant_label), said, problem, self._ratings(location))
        return Panel(self.title, (*location.text_blocks(self.text), talk), self.fields(location), button=self.button)

    def rates(self, location: Location, event: Event) -> Mapping[str, RatingSubject]:
        talked = location.sibling_facts(self.chat)
        replies = [reply for _, reply in turns(talked)]
        asked = {(scale, n): f"{scale}_{n}" for scale in self.scales for n in range(len(replies))}
        return {name: rated_reply(scale, talked, replies[n]) for (scale, n), name in asked.items()}

    def depends_on(self) -> tuple[str, ...]:
        """The chat."""
        return (self.chat,)

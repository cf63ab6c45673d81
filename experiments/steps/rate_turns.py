"""Rate turns: a finished conversation looked back on, every turn of it rated."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from experiments.core.fields import Field, Scale
from experiments.core.place import Place
from experiments.core.screen import Block, Message, Panel, Text, Transcript
from experiments.core.step import Step, step


@step
class RateTurns(Step):
    """CheckMate's rating page: for each message and its reply, helpfulness and correctness from 0 to 6."""

    step: Literal["rate_turns"]
    of: str = "chat"
    """The id of the chat beside it."""
    scales: tuple[Literal["helpfulness", "correctness"], ...] = ("helpfulness", "correctness")
    """The scales on which each turn is rated."""
    text: str = ""
    """What stands above the conversation, in Markdown."""
    called: str = "AI Chatbot"
    """What participants see in place of the model's name."""
    button: str = "Continue"
    """The words on the button that ends the screen."""

    def _turns(self, place: Place) -> list[tuple[Message, Message]]:
        spoken = [event for event in place.beside(self.of) if event.kind in ("said", "replied")]
        return [
            (Message("You", said.data["text"]), Message("Bot", reply.data["text"]))
            for said, reply in pairwise(spoken)
            if (said.kind, reply.kind) == ("said", "replied")
        ]

    def _ratings(self, place: Place) -> tuple[tuple[Field, ...], ...]:
        return tuple(
            tuple(Scale.model_validate({"scale": s, "name": f"{s}_{n}", "ask": "scale"}) for s in self.scales)
            for n in range(len(self._turns(place)))
        )

    def fields(self, place: Place) -> tuple[Field, ...]:
        """A scale for each turn, named `helpfulness_0`, `correctness_0`, `helpfulness_1` and so on."""
        return tuple(field for ratings in self._ratings(place) for field in ratings)

    def panel(self, place: Place) -> Panel:
        """The conversation, with the scales beside each turn."""
        messages = tuple(message for turn in self._turns(place) for message in turn)
        problem = place.scope.problem.text if place.scope.problem else ""
        talk = Transcript(place.fill(self.called), messages, problem, self._ratings(place))
        blocks: tuple[Block, ...] = (*((Text(place.fill(self.text)),) if self.text else ()), talk)
        return Panel(self.title, blocks, self.fields(place), button=self.button)

    def follows(self) -> tuple[str, ...]:
        """The chat."""
        return (self.of,)

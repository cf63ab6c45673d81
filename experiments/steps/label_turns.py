"""Label turns: a finished conversation, in which each message of the person is labelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from experiments.events import Event
from experiments.instruments.scales import LABELS, WRITE_IN
from experiments.study.fields import Field, MultipleChoiceField, ShortText
from experiments.study.location import Location
from experiments.study.screen import Panel, dialogue
from experiments.study.step import RatingSubject, Step, step


@step
class LabelTurnsStep(Step):
    """CheckMate's annotation page: any of ten labels and a write-in for each message to the assistant."""

    step: Literal["label_turns"]
    text: str = (
        "Read the conversation. For each message of the person, tick **every** label that applies. If a label is "
        "missing, write it in. If no label applies, leave the message without one."
    )
    """The instructions above the conversation, in Markdown."""
    show_problem: bool = False
    """True if the problem's text, such as the theorem discussed, can be expanded above the conversation."""
    user_label: str = "Person"
    """The label that raters see for the person who wrote."""
    assistant_label: str = "AI assistant"
    """The label that raters see instead of the assistant's name."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def questions_asked(self) -> tuple[Field, ...]:
        return (
            MultipleChoiceField(
                name="labels", text="What does the person's message do?", options=LABELS, required=False
            ),
            ShortText(name="other", text=WRITE_IN, required=False),
        )

    def _labels(self, location: Location) -> tuple[tuple[Field, ...], ...]:
        count = sum(said.role == "user" for said in location.problem.dialogue)
        asked = super().fields(location)
        return tuple(
            tuple(field.model_copy(update={"name": f"{field.name}_{n}"}) for field in asked) for n in range(count)
        )

    def fields(self, location: Location) -> tuple[Field, ...]:
        """Labels and a write-in for each message, named `labels_0`, `other_0`, `labels_1` and so on."""
        return tuple(field for pair in self._labels(location) for field in pair)

    def panel(self, location: Location) -> Panel:
        names = location.fill(self.user_label), location.fill(self.assistant_label)
        about = location.problem.text if self.show_problem else ""
        talk = dialogue(location.problem.dialogue, *names, problem=about, ratings=self._labels(location))
        return Panel(self.title, (*location.text_blocks(self.text), talk), self.fields(location), button=self.button)

    def rates(self, location: Location, event: Event) -> Mapping[str, RatingSubject]:
        named = (field.name for field in self.fields(location))
        return {name: RatingSubject(name.rpartition("_")[0], turn=int(name.rpartition("_")[2]) + 1) for name in named}

    def requires(self) -> frozenset[str]:
        """Finished conversations."""
        return frozenset({"problem", "dialogue"})

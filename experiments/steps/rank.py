"""Rank: the conversations of a loop put in order of preference, with their transcripts in view; ties are allowed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from experiments.events import Action, Event, Fact
from experiments.session.conversation_design import reviewed
from experiments.study.fields import Field, SingleChoice
from experiments.study.location import Location
from experiments.study.screen import Block, Panel, TranscriptBlock
from experiments.study.step import RatingSubject, Step, read_or_refuse, step

NUMBER = "{{number}}"


@step
class RankStep(Step):
    """CheckMate's final preference: a rank for each model, 1 for the best. Several models can have the same rank."""

    step: Literal["rank"]
    loop: str
    """The name of the loop whose turns are ranked."""
    chat: str = "chat"
    """The id of the chat in each turn of the loop."""
    assistant_label: str = "Assistant {{number}}"
    """The label that participants see instead of each model's name."""
    best: str = "Most preferrable math assistant"
    """CheckMate's words (sic) for rank 1."""
    worst: str = "Least preferrable math assistant"
    """CheckMate's words (sic) for the last rank."""
    text: str = ""
    """The text above the transcripts, in Markdown."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def _turns(self, location: Location) -> int:
        draw = location.state.draws.get(self._loop(location))
        return len(draw.items) if draw else 0

    def _loop(self, location: Location) -> str:
        return location.path.rpartition("/")[0] + "/" + self.loop if "/" in location.path else self.loop

    def _chat(self, location: Location, number: int) -> tuple[Event, ...]:
        return location.state.facts.get(f"{self._loop(location)}[{number}]/{self.chat}", ())

    def _name(self, location: Location, number: int) -> str:
        return location.fill(location.translate(self.assistant_label).replace(NUMBER, str(number + 1)))

    def _ends(self, count: int | str, best: str, worst: str) -> dict[str, str]:
        return {"1": f"1 ({best})", str(count): f"{count} ({worst})"}

    def questions_asked(self) -> tuple[Field, ...]:
        """A rank for each model: 1, the number of models, and the numbers between, which stand alone."""
        return (
            SingleChoice(
                name="rank", text=self.assistant_label, options=self._ends("{{count}}", self.best, self.worst)
            ),
        )

    def worded(self) -> tuple[Field, ...]:
        """Nothing: its questions are put together from its texts."""
        return ()

    def fields(self, location: Location) -> tuple[Field, ...]:
        """A rank for each turn of the loop, named `rank_0`, `rank_1` and so on, in the order in which they were met."""
        count = self._turns(location)
        if count < 2:
            return ()
        ranks = {str(rank): str(rank) for rank in range(1, count + 1)}
        ranks |= self._ends(count, location.fill(self.best), location.fill(self.worst))
        return tuple(SingleChoice(name=f"rank_{n}", text=self._name(location, n), options=ranks) for n in range(count))

    def panel(self, location: Location) -> Panel:
        blocks: list[Block] = [*location.text_blocks(self.text)]
        for number in range(self._turns(location)):
            talk = reviewed(location, self._chat(location, number))
            blocks.append(TranscriptBlock(self._name(location, number), talk))
        return Panel(self.title, tuple(blocks), self.fields(location), button=self.button)

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        return (Fact("submitted", {"of": self.loop, **read_or_refuse(self.fields(location), action.data)}),)

    def rates(self, location: Location, event: Event) -> Mapping[str, RatingSubject]:
        return {f"rank_{number}": self._ranked(location, number) for number in range(self._turns(location))}

    def _ranked(self, location: Location, number: int) -> RatingSubject:
        models = [fact.data.get("model", "") for fact in self._chat(location, number) if fact.kind == "replied"]
        path = f"{self._loop(location)}[{number}]/{self.chat}"
        return RatingSubject("rank", path, model=str(models[-1]) if models else "")

    def references(self) -> Iterator[tuple[str, str]]:
        """`assistant_label` has a `{{number}}` of its own."""
        return super(
            RankStep, self.model_copy(update={"assistant_label": self.assistant_label.replace(NUMBER, "")})
        ).references()

    def depends_on(self) -> tuple[str, ...]:
        """The loop."""
        return (self.loop,)

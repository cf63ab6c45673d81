"""Facts: statements about the participant that a model proposes, to be confirmed, changed or deleted.

Events: proposed, submitted and, with it, remembered: prompts hold the statements from then on (session/memory.py). The
step is left out where the condition's memory is of another kind.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from experiments.events import Action, Fact, PendingTask
from experiments.session import memory
from experiments.study.fields import Field, ProposedText
from experiments.study.location import Location
from experiments.study.screen import Panel
from experiments.study.step import Step, read_or_refuse, step


@step
class FactsStep(Step):
    """Statements about the participant, for the `memory` of the kind `facts`: those that were confirmed before, and
    those that a model proposes from the conversations since then, in this wave or earlier ones."""

    remembers: ClassVar[bool] = True

    step: Literal["facts"]
    title: str = "What the assistant remembers"
    """The heading of its screen."""
    text: str = "The assistant would like to remember this about you. Correct what is wrong; empty a box to delete it."
    """The text above the statements, in Markdown."""
    waiting_text: str = "One moment, please."
    """The text while the model proposes statements."""
    nothing_text: str = "There is nothing about you that the assistant would like to remember."
    """The text where there are no statements."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def done(self, location: Location) -> bool:
        return super().done(location) or memory.kind_of_memory(location.study, location.state) != "facts"

    def fields(self, location: Location) -> tuple[Field, ...]:
        return tuple(
            ProposedText(name=f"fact_{number}", text=f"{number}.", max_chars=memory.FACT_CHARS, proposed=text)
            for number, text in enumerate(self._statements(location), 1)
        )

    def _statements(self, location: Location) -> list[str]:
        new = (text for fact in location.facts if fact.kind == memory.PROPOSED for text in fact.data["facts"])
        return [*dict.fromkeys([*memory.history_here(location)["facts"], *new])]

    def _waits(self, location: Location) -> bool:
        asked = any(fact.kind == memory.PROPOSED for fact in location.facts)
        return not asked and bool(memory.history_here(location)["talks"])

    def panel(self, location: Location) -> Panel:
        waits = self._waits(location)
        fields = () if waits else self.fields(location)
        text = self.waiting_text if waits else self.text if fields else self.nothing_text
        return Panel(self.title, location.text_blocks(text), fields, button=self.button)

    def offers(self, location: Location) -> tuple[str, ...]:
        return () if self._waits(location) else ("submit",)

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        prompt, history = memory.spec_of(location).facts_prompt, memory.history_here(location)
        return (memory.making(location, prompt, history),) if self._waits(location) else ()

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        given = read_or_refuse(self.fields(location), action.data)
        checked: list[dict[str, Any]] = []
        for proposed, text in zip(self._statements(location), given.values(), strict=True):
            fate = "confirmed" if text == proposed else "edited" if text else "deleted"
            checked.append({"proposed": proposed, "text": text, "fate": fate})
        facts, wave = [*filter(None, given.values())], str(location.state.enrolled["wave"])
        return (Fact("submitted", given), memory.remembered_facts(location, facts, [wave], checked=checked))

"""Facts: statements about the participant that a model proposes, to be confirmed, changed or deleted.

Events: proposed, submitted and, with it, remembered: prompts hold the statements from then on (session/memory.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from experiments.events import Action, Fact, PendingTask
from experiments.session import memory
from experiments.study.fields import Field, ProposedText
from experiments.study.location import Location
from experiments.study.screen import Panel
from experiments.study.sections.memory import MemoryByFactor, MemorySpec
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

    def included(self, memory: MemorySpec | None) -> Mapping[str, Sequence[str]]:
        kind = memory.kind if memory else None
        if not isinstance(kind, MemoryByFactor):
            return {}
        return {kind.by: [value for value, of in kind.pick.items() if of == "facts"]}

    def fields(self, location: Location) -> tuple[Field, ...]:
        return tuple(
            ProposedText(name=f"fact_{number}", text=f"{number}.", max_chars=memory.FACT_CHARS, proposed=text)
            for number, text in enumerate(self._statements(location), 1)
        )

    def _statements(self, location: Location) -> dict[str, Sequence[str]]:
        """The statements, each with the waves that it is from."""
        new = (text for fact in location.facts if fact.kind == memory.PROPOSED for text in fact.data["facts"])
        history = memory.history_here(location)
        talked = [*dict.fromkeys(talk["wave"] for talk in history["talks"])]
        known: dict[str, Sequence[str]] = {}
        for text, waves in zip(history["facts"], history["sources"], strict=True):
            known[text] = [*dict.fromkeys([*known.get(text, ()), *waves])]
        return {**known, **{text: talked for text in new if text not in known}}

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
        for (proposed, waves), text in zip(self._statements(location).items(), given.values(), strict=True):
            fate = "confirmed" if text == proposed else "edited" if text else "deleted"
            checked.append({"proposed": proposed, "text": text, "fate": fate, "from": waves})
        kept = [one for one in checked if one["text"]]
        facts, sources = [one["text"] for one in kept], [one["from"] for one in kept]
        return (Fact("submitted", given), memory.remembered_facts(location, facts, sources, checked=checked))

"""Consent: a form to agree to before anything else is asked or stored.

Events: submitted, or declined, which ends the session with the outcome `no_consent`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from experiments.events import Action, Fact, PendingTask
from experiments.session.telemetry import disclosures
from experiments.study.fields import Checkbox, Field
from experiments.study.location import Location
from experiments.study.screen import Panel
from experiments.study.step import Step, step


@step
class ConsentStep(Step):
    """A consent form with a checkbox. The study continues only once it is ticked."""

    admits = True

    step: Literal["consent"]
    title: str = "Consent"
    """The heading of its screen."""
    text: str
    """The form, in Markdown."""
    checkbox: str = "I agree to this consent form."
    """The label of the checkbox. (ChatBench's.)"""
    button: str = "Continue"
    """The label of the button that ends the screen."""
    decline: str = "I do not agree"
    """The label of a second button, by which the session ends with the outcome `no_consent`. Empty for none."""

    def questions_asked(self) -> tuple[Field, ...]:
        return (Checkbox(name="agreed", text=self.checkbox),)

    def panel(self, location: Location) -> Panel:
        form = location.text_blocks(self.text, *disclosures(location.study))
        return Panel(self.title, form, self.fields(location), button=self.button, decline=self.decline)

    def offers(self, location: Location) -> tuple[str, ...]:
        if _declined(location):
            return ()
        return ("submit", "decline") if self.decline else ("submit",)

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        return (PendingTask("finish", location.path, {"outcome": "no_consent"}),) if _declined(location) else ()

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        passes = self.time_limit is not None and self.time_limit.on_expiry == "continue"
        waiting = ["`time_limit`: a participant who waits would go on without having agreed; write `on_expiry: end`"]
        return waiting if passes else []

    def outcome_codes(self) -> Mapping[str, str]:
        return {"no_consent": ""} if self.decline else {}

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        return (Fact("declined"),) if action.kind == "decline" else super().decide(location, action)

    def provides(self) -> tuple[str, ...]:
        """`agreed`, which is always true."""
        return ("agreed",)


def _declined(location: Location) -> bool:
    return any(event.kind == "declined" for event in location.facts)

"""Consent: a text to agree to before anything else is asked or stored."""

from __future__ import annotations

from typing import Literal

from experiments.core.fields import Field, Tick
from experiments.core.place import Place
from experiments.core.screen import Panel, Text
from experiments.core.step import Step, step


@step
class Consent(Step):
    """A consent form with a box to tick; the study goes on only once it is ticked."""

    step: Literal["consent"]
    title: str = "Consent"
    """The heading of its screen."""
    text: str
    """The form, in Markdown."""
    tick: str = "I agree to this consent form."
    """The words beside the box. (ChatBench's.)"""
    button: str = "Continue"
    """The words on the button that ends the screen."""

    def asks(self) -> tuple[Field, ...]:
        """The box."""
        return (Tick(name="agreed", text=self.tick),)

    def panel(self, place: Place) -> Panel:
        """The form and its box."""
        return Panel(self.title, (Text(place.fill(self.text)),), self.fields(place), button=self.button)

    def gives(self) -> tuple[str, ...]:
        """`agreed`, which is always true."""
        return ("agreed",)

"""Consent: a text to agree to before anything else is asked or stored."""

from __future__ import annotations

from typing import Literal

from experiments.core.fields import Field, Tick
from experiments.core.place import Place
from experiments.core.screen import Panel, Text
from experiments.core.step import Step, step
from experiments.core.telemetry import disclosure


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

    def fields(self, place: Place) -> tuple[Field, ...]:
        """The box, with the names in its words replaced."""
        return tuple(box.filled(place.fill) for box in self.asks())

    def panel(self, place: Place) -> Panel:
        """The form and its box; below the author's text, what is recorded beside the answers."""
        texts = (self.text, disclosure(place.study))
        blocks = tuple(Text(place.fill(text)) for text in texts if text)
        return Panel(self.title, blocks, self.fields(place), button=self.button)

    def gives(self) -> tuple[str, ...]:
        """`agreed`, which is always true."""
        return ("agreed",)

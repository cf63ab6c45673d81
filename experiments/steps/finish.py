"""Finish: the last screen, with thanks and a completion code; that it was reached is recorded before it is shown."""

from __future__ import annotations

from typing import Literal

from experiments.core.events import Job
from experiments.core.place import Place
from experiments.core.screen import Block, Code, Panel, Text
from experiments.core.step import Step, step


@step
class Finish(Step):
    """The end. The code is on no screen before the fact `finished` is in the log."""

    step: Literal["finish"]
    title: str = "Thank you"
    """The heading of its screen."""
    text: str = "You have finished. Your answers are saved; you can close this page."
    """The last words, in Markdown."""
    code: str = ""
    """The completion code that a recruiter asks for."""
    url: str = ""
    """Where the code is taken: an https address."""

    def done(self, place: Place) -> bool:
        """Never: one stays here."""
        return False

    def offers(self, place: Place) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def owed(self, place: Place) -> tuple[Job, ...]:
        """The fact that the end was reached."""
        return () if any(event.kind == "finished" for event in place.facts) else (Job("finish", place.path, {}),)

    def panel(self, place: Place) -> Panel:
        """Thanks and the code, once it is earned."""
        if self.owed(place):
            return Panel(self.title)
        code: tuple[Block, ...] = (Code(self.code, place.fill(self.url)),) if self.code else ()
        return Panel(self.title, (Text(place.fill(self.text)), *code))

"""Finish: the last screen, with thanks and a completion code; that it was reached is recorded before it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from experiments.events import Job
from experiments.session.state import Place
from experiments.study.recruitment import Address, Ending
from experiments.study.screen import Panel
from experiments.study.step import Step, step


@step
class Finish(Step):
    """The end of the study. The code is shown only after the event `finished` has been written to the log."""

    step: Literal["finish"]
    title: str = ""
    """The heading of its screen."""
    text: str = ""
    """The closing text, in Markdown."""
    code: str = ""
    """The completion code for the recruiter. The study's `outcomes` may contain it instead."""
    url: Address = ""
    """The https address to which the code is submitted."""

    def done(self, place: Place) -> bool:
        """Never: one stays here."""
        return False

    def offers(self, place: Place) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def owed(self, place: Place) -> tuple[Job, ...]:
        """The fact that the end was reached."""
        return (Job("finish", place.path, {}),)

    def ends(self) -> Mapping[str, str]:
        """Complete, with its code."""
        return {"complete": self.code}

    def panel(self, place: Place) -> Panel:
        """Nothing: thanks and the code are the last page's, once it is earned."""
        return Panel(self.title)

    def last_words(self, place: Place) -> Ending:
        """Thanks and the code."""
        return Ending(title=self.title, text=self.text, code=self.code, url=self.url)

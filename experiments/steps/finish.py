"""Finish: the last screen, with thanks and a completion code. The session's end is recorded before it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from experiments.events import PendingTask
from experiments.study.location import Location
from experiments.study.screen import Panel
from experiments.study.sections.recruitment import Address, EndPage
from experiments.study.step import Step, step


@step
class FinishStep(Step):
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

    def offers(self, location: Location) -> tuple[str, ...]:
        return ()

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        return (PendingTask("finish", location.path, {}),)

    def outcome_codes(self) -> Mapping[str, str]:
        return {"complete": self.code}

    def panel(self, location: Location) -> Panel:
        """Nothing: thanks and the code are the last page's, once it is earned."""
        return Panel(self.title)

    def end_page(self, location: Location) -> EndPage:
        return EndPage(title=self.title, text=self.text, code=self.code, url=self.url)

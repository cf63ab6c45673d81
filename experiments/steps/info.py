"""Info: pages to read, with an optional promise to tick on the last."""

from __future__ import annotations

from typing import Literal

from experiments.events import Action, Fact
from experiments.study.fields import Checkbox, Field
from experiments.study.location import Location
from experiments.study.screen import Panel, TextBlock
from experiments.study.step import Step, read_or_refuse, step


@step
class InfoStep(Step):
    """One or more pages of text: an introduction, instructions, a tutorial."""

    step: Literal["info"]
    pages: tuple[str, ...] = ()
    """The pages, in Markdown, shown one after the other."""
    text: str = ""
    """A single page, instead of `pages`."""
    promise: str = ""
    """The label of a checkbox on the last page that must be ticked to continue."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def _pages(self) -> tuple[str, ...]:
        return self.pages or (self.text,)

    def _turned(self, location: Location) -> int:
        return sum(event.kind == "turned" for event in location.facts)

    def questions_asked(self) -> tuple[Field, ...]:
        return (Checkbox(name="promised", text=self.promise),) if self.promise else ()

    def instructions(self) -> str:
        return "\n\n".join(self._pages())

    def fields(self, location: Location) -> tuple[Field, ...]:
        last = self._turned(location) >= len(self._pages()) - 1
        return super().fields(location) if last else ()

    def panel(self, location: Location) -> Panel:
        pages = self._pages()
        page = min(self._turned(location), len(pages) - 1)
        return Panel(
            self.title, (TextBlock(location.fill_markdown(pages[page])),), self.fields(location), button=self.button
        )

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        if self._turned(location) < len(self._pages()) - 1:
            return (Fact("turned", {"page": self._turned(location) + 1}),)
        return (Fact("submitted", read_or_refuse(self.fields(location), action.data)),)

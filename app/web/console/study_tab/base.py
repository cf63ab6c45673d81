"""What a part of the workbench is, and what all parts are painted from: a study as it stands now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from gradio.components import Component

from app.studies.drafts import Checked, Drafts, Marked, checked
from app.studies.loader import FILE
from app.web.console.context import Desk
from app.web.console.current_user import Visitor
from experiments.session.study_status import Operations
from experiments.study.resolve import Study
from storage.registers.study_status import operations_of
from storage.registers.study_versions import Version, versions

Updates = Mapping[Component, Any]


class Repaint(Protocol):
    """Paints the whole room anew, as after a change."""

    def __call__(self, visitor: Visitor, name: str, tab: str = "") -> Updates:
        """The room for a study, with another of its tabs in front if it is said."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A study as it stands now."""

    name: str
    operations: Operations
    versions: tuple[Version, ...] = ()
    study: Study | None = None
    """What who begins now gets; None for one that was never published, or only imported."""
    text: str | None = None
    """What is written in its draft; None for a study that is no draft of the console's."""
    checked: Checked | None = None
    """What that is worth."""

    @property
    def state(self) -> str:
        """How it stands, in a word."""
        return self.operations.state if self.study else "draft" if self.text is not None else "imported"

    @property
    def written(self) -> Study | None:
        """The study as it is written now, where that has no faults."""
        return self.checked.study if self.checked else None

    @property
    def changed(self) -> bool:
        """Whether what is written is another study than what was published."""
        return self.written is not None and (self.study is None or self.written.hash != self.study.hash)


class Part(Protocol):
    """A part: `build` makes its components, `wire` lets them do things once those of all parts are there."""

    outputs: list[Component]

    def build(self) -> None:
        """Make the components."""

    def wire(self, outputs: Sequence[Component], repaint: Repaint) -> None:
        """Wire what can be done with them; whatever changes a study repaints the room."""

    def paint(self, visitor: Visitor, seen: Seen) -> Updates:
        """What is shown."""


def look(desk: Desk, name: str) -> Seen:
    """A study as it stands now."""
    published, drafts = versions(desk.database, name), desk.drafts
    text = drafts.text(name) if name in drafts.names() else None
    worth = check(drafts, name, text) if text is not None else None
    study = desk.study(name) if published or text is None else None
    return Seen(name, operations_of(desk.database, name), published, study, text, worth)


def check(drafts: Drafts, name: str, text: str) -> Checked:
    """What a draft's text is worth: as ever, and a draft keeps its name."""
    folder = drafts.folder(name)
    beside = sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.name != FILE)
    return _checked(text, folder, tuple(beside))


@lru_cache(maxsize=32)
def _checked(text: str, folder: Path, _beside: tuple[tuple[str, int], ...]) -> Checked:
    """A study file checked, once for each text and what lies beside it."""
    found = checked(text, folder)
    if found.study is None or found.study.name == folder.name:
        return found
    line = next((n for n, words in enumerate(text.splitlines(), 1) if words.startswith("study:")), None)
    what = f"is {found.study.name!r}, but this draft is {folder.name!r}; make a new study for another name"
    return Checked(None, (Marked(line, "study", what),))

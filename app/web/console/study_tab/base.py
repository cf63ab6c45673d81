"""The interface of a study's tabs, and the state of a study that all of them show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from gradio.components import Component

from app.backends.model_ref import ModelRef
from app.clock import SystemClock
from app.errors import SettingsError
from app.session.replies.model_check import advice, check_models
from app.studies.drafts import LONGEST_NAME, NAME, CheckResult, LocatedIssue, check_text, with_issues
from app.studies.loader import FILE
from app.studies.server_names import server_faults
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from experiments.session.study_status import StudyStatus
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.study import Study
from storage.registers.study_status import dataset_info_of, operations_of
from storage.registers.study_versions import StudyVersion, versions

Updates = Mapping[Component, Any]
UNPUBLISHED = "not published"
MOST_REPLY = 300
TESTING = "Testing the models"


# Paints what a change of a study, given by its name, has changed on the page.
Refresh: TypeAlias = Callable[[CurrentUser, str], Updates]


@dataclass(frozen=True, slots=True)
class StudyView:
    name: str
    operations: StudyStatus
    versions: tuple[StudyVersion, ...] = ()
    study: Study | None = None
    """The version for new sessions; None if the study was never published, or has imported sessions only."""
    text: str | None = None
    """The text of its draft; None if the study is not a draft of this console."""
    checked: CheckResult | None = None
    dataset: DatasetInfo | None = None

    @property
    def state(self) -> str:
        if self.study is None:
            return "draft" if self.text is not None else "imported"
        return state_of(self.operations)

    @property
    def written(self) -> Study | None:
        return self.checked.study if self.checked else None

    @property
    def runnable(self) -> Study | None:
        """The draft, if it has unpublished changes and no errors; else the published version."""
        return self.written if self.changed else self.study

    @property
    def changed(self) -> bool:
        """True if the draft differs from the published version, or has other publication metadata."""
        differs = self.written is not None and (self.study is None or self.written.hash != self.study.hash)
        return differs or self.new_metadata

    @property
    def new_metadata(self) -> bool:
        return self.written is not None and self.written.file.dataset not in (None, self.dataset)


class StudySection(Protocol):
    """A tab of a study: `build` creates its components; `wire` connects their events once all tabs are built."""

    outputs: list[Component]

    def build(self) -> None: ...

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None: ...

    def paint(self, user: CurrentUser, view: StudyView) -> Updates: ...


def state_of(status: StudyStatus) -> str:
    """The status of a study in the database. Without a published version no server has a start page for it, whatever
    was decided: such a study was simulated, or a server offered it before versions were published."""
    return status.state if status.published is not None else UNPUBLISHED


def new_name(typed: str, taken: Collection[str]) -> str:
    """The name of a new draft as it was typed; raises SettingsError if it is missing, is none, or is taken."""
    name = typed.strip()
    if not name:
        raise SettingsError("Type a name for the study first.")
    if not NAME.fullmatch(name):
        raise SettingsError(
            f"{name!r} is not a name for a study: a letter, then letters, digits, - and _, at most {LONGEST_NAME}."
        )
    if name in taken:
        raise SettingsError(f"There is a study {name!r} already. Choose another name.")
    return name


def tested(context: ConsoleContext, refs: Sequence[ModelRef], currency: str) -> str:
    """Send one message to each of these models, and show the results."""
    return context.html(
        "study_models.html.j2",
        tests=asyncio.run(check_models(refs, context.settings, SystemClock())),
        why="The study has no model.",
        currency=currency,
        at_us=context.clock.now_us(),
        most=MOST_REPLY,
        advice=advice,
    )


def load_view(context: ConsoleContext, name: str) -> StudyView:
    published, drafts = versions(context.database, name), context.drafts
    text = drafts.text(name) if name in drafts.names() else None
    worth = check(context, name, text) if text is not None else None
    study = context.study(name) if published or text is None else None
    described = dataset_info_of(context.database, name)
    return StudyView(name, operations_of(context.database, name), published, study, text, worth, described)


def runnable(context: ConsoleContext, name: str) -> Study:
    study = load_view(context, name).runnable
    if study is None:
        raise SettingsError("There is nothing to try out yet: correct the errors in the study file first.")
    return study


def check(context: ConsoleContext, name: str, text: str) -> CheckResult:
    found = check_file(context, name, text)
    faults = list(server_faults(found.study, context.settings)) if found.study else []
    return with_issues(text, faults) if faults else found


def check_file(context: ConsoleContext, name: str, text: str) -> CheckResult:
    folder = context.drafts.folder(name)
    beside = sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.name != FILE)
    return _checked(text, folder, tuple(beside))


@lru_cache(maxsize=32)
def _checked(text: str, folder: Path, _beside: tuple[tuple[str, int], ...]) -> CheckResult:
    """Check a study file; cached by its text and the files in its folder."""
    found = check_text(text, folder)
    if found.study is None or found.study.name == folder.name:
        return found
    line = next((n for n, words in enumerate(text.splitlines(), 1) if words.startswith("study:")), None)
    what = f"is {found.study.name!r}, but this draft is {folder.name!r}; to use another name, create a new study"
    return CheckResult(None, (LocatedIssue(line, "study", what),))

"""Studies: the list with each study's status, and the tabs for the chosen study."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from app.studies.loader import load_study, shipped
from app.studies.pool_text import pools_in
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import StudySection, StudyView, Updates, load_view, new_name, state_of
from app.web.console.study_tab.builder import StudiesBeside, StudyBuilder
from app.web.console.study_tab.editor import EditorSection, fingerprint
from app.web.console.study_tab.items import ItemsSection
from app.web.console.study_tab.preview import PreviewSection
from app.web.console.study_tab.recruitment import RecruitmentSection
from app.web.console.study_tab.versions import VersionsSection
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, text
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin
from storage.registers.study_versions import status_of_all
from storage.reports.sessions import LIVE, outcomes

FIRST = "demo"
DRAFT = "draft:"
"""How the value of a template begins that is a draft."""
LOADING = '<p class="quiet" role="status">Loading…</p>'


def _as_study(seen: StudyView) -> str:
    """A fingerprint of what a study is; its draft may say it in other words, and with other comments."""
    hashes = [study and study.hash for study in (seen.written, seen.study)]
    return fingerprint(
        repr((hashes, seen.text is None, seen.versions, seen.operations, seen.dataset, seen.new_metadata))
    )


def _as_pools(seen: StudyView) -> str:
    """A fingerprint of what a draft says of its pools."""
    return fingerprint(repr((seen.text is None, pools_in(seen.text or ""))))


FOLLOWING: Mapping[str, Callable[[StudyView], str]] = {
    "Overview": _as_study,
    "Items": _as_pools,
    "Preview": _as_study,
    "Versions": _as_study,
}
"""The tabs of a study that show what is written under Edit, each with the fingerprint of what it shows."""

AFTER: Mapping[str, str] = {"Items": "Edit"}
"""The tab of a study that is shown after a change in another one, if it is not the first. Only that one is painted: the
rest follow when they are opened."""


@dataclass(frozen=True, slots=True)
class StudyListItem:
    """A study in the list: its status, and how many participants are in progress and have completed it."""

    name: str
    state: str
    version: int | None
    live: int
    complete: int


class StudiesTab:
    """The list of studies, and the tabs for one of them."""

    name = "studies"
    label = "Studies"

    def __init__(self, desk: ConsoleContext, place: TabLocation) -> None:
        self._desk, self._place = desk, place
        self._editor = EditorSection(desk, place)
        self._parts: Mapping[str, StudySection] = {
            "Overview": RecruitmentSection(desk, place),
            "Edit": self._editor,
            "Items": ItemsSection(desk, place),
            "Preview": PreviewSection(desk, place),
            "Versions": VersionsSection(desk, place),
        }
        self._marks: Mapping[str, gr.Textbox] = {}
        self._builder = StudyBuilder(desk)
        self.outputs: list[Component] = []

    def build(self) -> None:
        load_study(FIRST)  # loads the modules now, so that the first keystroke in the editor is not delayed
        with gr.Row(elem_id="studies"):
            with gr.Column(scale=1, min_width=240, elem_id="studies-list"):
                self._list = html_part(LOADING)
                with gr.Column(visible=False, elem_id="new-study", elem_classes="asks") as self._new:
                    self._called = gr.Textbox(
                        label="New study", placeholder="my-study", max_length=60, elem_id="new-name"
                    )
                    self._like = dropdown(label="Template", choices=shipped(), value=FIRST, elem_id="new-like")
                    self._make = gr.Button("Create study", size="sm", elem_id="new-make")
                    build = gr.Button("Build step by step…", size="sm", elem_id="new-build")
            with gr.Column(scale=4, min_width=560, elem_id="study-bench"):
                self._title = html_part(elem_id="study-title")
                with gr.Tabs(elem_id="bench", visible=False) as self._tabs:
                    tabs = {label: self._build_part(label, part) for label, part in self._parts.items()}
                self._front = gr.Textbox(elem_id="bench-front", visible="hidden")
                self._marks = {label: gr.Textbox(elem_id=f"seen-{label}", visible="hidden") for label in FOLLOWING}
                self._builder.build()
        parts = [component for part in self._parts.values() for component in part.outputs]
        self.outputs = [self._list, self._new, self._like, self._title, self._tabs, *parts, *self._builder.outputs]
        self.outputs += self._marks.values()
        for label, part in self._parts.items():
            then = AFTER.get(label, "Overview")
            changed = [self._list, self._like, self._title, self._tabs, *self._parts[then].outputs]
            part.wire([*changed, *self._marks_of(then)], partial(self._changed, then))
        made = [self._place.study, self._place.painted, self._place.session, self._called, *self.outputs]
        self._desk.bind(
            [self._make.click, self._called.submit], self._begin, [self._called, self._like], made, owner=True
        )
        beside = (build, self._called, self._place.study, self._title, self._tabs)
        self._builder.wire(StudiesBeside(*beside, self._created, self._repaint, made))
        self._wire_following(tabs)

    def _build_part(self, label: str, part: StudySection) -> gr.Tab:
        tab: gr.Tab
        with gr.Tab(label, id=label, elem_id=f"bench-{label}") as tab:
            part.build()
        return tab

    def _wire_following(self, tabs: Mapping[str, gr.Tab]) -> None:
        """Let the other tabs of the study show what was written in one of them."""
        on, study, marks = self._desk.bind, self._place.study, list(self._marks.values())
        for label, tab in tabs.items():
            mark = self._marks_of(label)
            outputs = [self._front, self._title, *self._parts[label].outputs, *mark]
            on(tab.select, partial(self._enter, label), [study, *mark], outputs, quiet=True)
        # The answer to the last words that were written may come when another tab is open already.
        following = [component for label in FOLLOWING for component in self._parts[label].outputs]
        outputs = [self._title, *following, *marks]
        on(self._editor.mark.change, self._follow, [study, self._front, *marks], outputs, quiet=True)

    def _marks_of(self, label: str) -> list[Component]:
        return [self._marks[label]] if label in self._marks else []

    def _enter(self, label: str, visitor: CurrentUser, name: str, mark: str = "") -> Updates:
        return {self._front: label, **self._followed(visitor, name, label, mark)}

    def _follow(self, visitor: CurrentUser, name: str, front: str, *marks: str) -> Updates:
        return self._followed(visitor, name, front, dict(zip(FOLLOWING, marks, strict=True)).get(front, ""))

    def _followed(self, visitor: CurrentUser, name: str, label: str, mark: str) -> Updates:
        """The title; and a tab of the study, if the study is not as it was painted: to paint undoes what a person has
        begun there, and Gradio also says that a tab was opened when the page was loaded."""
        if name not in self._desk.names():
            return {}
        seen = load_view(self._desk, name)
        title: Updates = {self._title: self._title_of(seen)}
        if label not in FOLLOWING or mark == FOLLOWING[label](seen):
            return title
        return {**title, **self._parts[label].paint(visitor, seen), self._marks[label]: FOLLOWING[label](seen)}

    def _title_of(self, seen: StudyView | None) -> str:
        return self._desk.html("study_title.html.j2", seen=seen)

    def paint(self, visitor: CurrentUser, at: LocationValues) -> Updates:
        seen = load_view(self._desk, at.study) if at.study in self._desk.names() else None
        shown: dict[Component, Any] = {
            **self._head(visitor, at.study, seen),
            self._new: gr.update(visible=visitor.owner),
            self._tabs: gr.update(visible=seen is not None),
            self._builder.panel: gr.update(visible=False),
        }
        if seen is not None:
            for part in self._parts.values():
                shown |= part.paint(visitor, seen)
            shown |= {mark: FOLLOWING[label](seen) for label, mark in self._marks.items()}
        return shown

    def _head(self, visitor: CurrentUser, name: str, seen: StudyView | None) -> dict[Component, Any]:
        listed = self._listed(self._desk.names())
        return {
            self._list: self._desk.html("studies.html.j2", listed=listed, chosen=name, owner=visitor.owner),
            self._like: gr.update(choices=self._templates()),
            self._title: self._title_of(seen),
        }

    def _changed(self, label: str, visitor: CurrentUser, name: str) -> Updates:
        """A study that was changed, with one of its tabs in front."""
        seen = load_view(self._desk, name)
        return {
            **self._head(visitor, name, seen),
            **self._parts[label].paint(visitor, seen),
            **{mark: FOLLOWING[label](seen) for mark in self._marks_of(label)},
            self._tabs: gr.update(selected=label),
        }

    def _listed(self, names: Sequence[str]) -> list[StudyListItem]:
        desk = self._desk
        drafts, statuses = desk.drafts.names(), status_of_all(desk.database, names)
        stand = outcomes(desk.database, names, desk.clock.now_us())
        found = []
        for name in names:
            draft = name in drafts and statuses[name].published is None
            study = None if draft else desk.study(name)
            people = stand[name, Origin.PERSON]
            state = "draft" if draft else state_of(statuses[name]) if study else "imported"
            live, complete = people.get(LIVE, 0), people.get(COMPLETE, 0)
            found.append(StudyListItem(name, state, study.file.version if study else None, live, complete))
        return found

    def _templates(self) -> list[tuple[str, str]]:
        """The studies that come with Parley, and the drafts."""
        drafts = [(f"{name} (draft)", f"{DRAFT}{name}") for name in self._desk.drafts.names()]
        return [*((name, name) for name in shipped()), *drafts]

    def _repaint(self, visitor: CurrentUser, name: str, tab: str = "") -> Updates:
        front = {self._tabs: gr.update(visible=True, selected=tab)} if tab else {}
        return {**self.paint(visitor, LocationValues(name, "")), **front}

    def _begin(self, visitor: CurrentUser, name: Any, like: Any) -> Updates:
        name, like = new_name(text(name), self._desk.drafts.names()), text(like)
        desk = self._desk
        if like.startswith(DRAFT):
            desk.drafts.copy(name, like.removeprefix(DRAFT))
        else:
            desk.drafts.create(name, like)
            desk.drafts.save(name, re.sub(r"\A# What next:.*\n", "", desk.drafts.text(name)))
        desk.audit(visitor, f"created a study from the template {like}", name)
        return self._created(visitor, name)

    def _created(self, visitor: CurrentUser, name: str) -> Updates:
        return {
            **self._repaint(visitor, name, tab="Edit"),
            self._place.study: gr.update(choices=self._desk.names(), value=name),
            self._place.painted: name,
            self._place.session: "",
            self._called: "",
            **self._desk.notify(
                f"{name} is created. Edit it here; participants see nothing of it until it is published and opened."
            ),
        }

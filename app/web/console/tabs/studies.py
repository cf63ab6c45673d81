"""Studies: the list with each study's status, and the tabs for the chosen study."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio.components import Component

from app.studies.loader import load_study, shipped
from app.studies.templates import copy_draft, draft_of
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import StudySection, Updates, load_view
from app.web.console.study_tab.builder import StudiesBeside, StudyBuilder
from app.web.console.study_tab.editor import EditorSection
from app.web.console.study_tab.items import ItemsSection
from app.web.console.study_tab.preview import PreviewSection
from app.web.console.study_tab.recruitment import RecruitmentSection
from app.web.console.study_tab.versions import VersionsSection
from app.web.console.tab import LocationValues, TabLocation, dropdown
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin
from storage.registers.study_versions import status_of_all
from storage.reports.sessions import LIVE, outcomes

FIRST = "demo"
DRAFT, PUBLISHED = "draft", "published"
"""The kinds of one's own studies that can be a template: `draft:NAME`, `published:NAME`."""
LOADING = '<p class="quiet" role="status">Loading…</p>'


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
        self._parts: Mapping[str, StudySection] = {
            "Overview": RecruitmentSection(desk, place),
            "Edit": EditorSection(desk, place),
            "Items": ItemsSection(desk, place),
            "Preview": PreviewSection(desk, place),
            "Versions": VersionsSection(desk, place),
        }
        self._builder = StudyBuilder(desk)
        self.outputs: list[Component] = []

    def build(self) -> None:
        """The list with the form for a new study, and the tabs for the chosen study."""
        load_study(FIRST)  # loads the modules now, so that the first keystroke in the editor is not delayed
        with gr.Row(elem_id="studies"):
            with gr.Column(scale=1, min_width=240, elem_id="studies-list"):
                self._list = gr.HTML(LOADING, padding=False, apply_default_css=False)
                with gr.Column(visible=False, elem_id="new-study", elem_classes="asks") as self._new:
                    self._called = gr.Textbox(
                        label="New study", placeholder="my-study", max_length=60, elem_id="new-name"
                    )
                    self._like = dropdown(label="Template", value=FIRST, elem_id="new-like")
                    self._make = gr.Button("Create study", size="sm", elem_id="new-make")
                    build = gr.Button("Build step by step…", size="sm", elem_id="new-build")
            with gr.Column(scale=4, min_width=560, elem_id="study-bench"):
                self._title = gr.HTML(elem_id="study-title", padding=False, apply_default_css=False)
                with gr.Tabs(elem_id="bench", visible=False) as self._tabs:
                    for label, part in self._parts.items():
                        with gr.Tab(label, id=label):
                            part.build()
                self._builder.build()
        parts = [component for part in self._parts.values() for component in part.outputs]
        self.outputs = [self._list, self._new, self._like, self._title, self._tabs, *parts, *self._builder.outputs]
        for part in self._parts.values():
            part.wire(self.outputs, self._repaint)
        made = [self._place.study, self._place.painted, self._place.session, self._called, *self.outputs]
        self._desk.bind(
            [self._make.click, self._called.submit], self._begin, [self._called, self._like], made, owner=True
        )
        beside = (build, self._called, self._place.study, self._title, self._tabs)
        self._builder.wire(StudiesBeside(*beside, self._created, self._repaint, made))

    def paint(self, visitor: CurrentUser, at: LocationValues) -> Updates:
        """The list, and the chosen study."""
        names = self._desk.names()
        seen = load_view(self._desk, at.study) if at.study in names else None
        listed = self._listed(names)
        shown: dict[Component, Any] = {
            self._list: self._desk.html("studies.html.j2", listed=listed, chosen=at.study, owner=visitor.owner),
            self._new: gr.update(visible=visitor.owner),
            self._like: gr.update(choices=self._templates(listed)),
            self._title: self._desk.html("study_title.html.j2", seen=seen),
            self._tabs: gr.update(visible=seen is not None),
            self._builder.panel: gr.update(visible=False),
        }
        if seen is not None:
            for part in self._parts.values():
                shown |= part.paint(visitor, seen)
        return shown

    def _listed(self, names: Sequence[str]) -> list[StudyListItem]:
        desk = self._desk
        drafts, statuses = desk.drafts.names(), status_of_all(desk.database, names)
        stand = outcomes(desk.database, names, desk.clock.now_us())
        found = []
        for name in names:
            draft = name in drafts and statuses[name].published is None
            study = None if draft else desk.study(name)
            people = stand[name, Origin.PERSON]
            state = "draft" if draft else statuses[name].state if study else "imported"
            live, complete = people.get(LIVE, 0), people.get(COMPLETE, 0)
            found.append(StudyListItem(name, state, study.file.version if study else None, live, complete))
        return found

    def _templates(self, listed: Sequence[StudyListItem]) -> list[tuple[str, str]]:
        """The studies that come with Parley, the drafts, and the published studies, wherever their files are."""
        drafts = [(f"{name} (draft)", f"{DRAFT}:{name}") for name in self._desk.drafts.names()]
        published = [
            (f"{one.name} (version {one.version}, published)", f"{PUBLISHED}:{one.name}")
            for one in listed
            if one.version is not None
        ]
        return [*((name, name) for name in shipped()), *drafts, *published]

    def _repaint(self, visitor: CurrentUser, name: str, tab: str = "") -> Updates:
        front = {self._tabs: gr.update(visible=True, selected=tab)} if tab else {}
        return {**self.paint(visitor, LocationValues(name, "")), **front}

    def _begin(self, visitor: CurrentUser, name: Any, like: Any) -> Updates:
        """Create a study from a template and choose it."""
        name, like = str(name or "").strip(), str(like or "")
        desk, (kind, _, own) = self._desk, like.partition(":")
        if kind == DRAFT and own:
            copy_draft(desk.drafts, name, own)
        elif kind == PUBLISHED and (study := desk.study(own)):
            draft_of(desk.drafts, name, study, desk.studies.picture)
        else:
            desk.drafts.create(name, like)
            desk.drafts.save(name, re.sub(r"\A# What next:.*\n", "", desk.drafts.text(name)))
        desk.audit(visitor, f"created a study from the template {like}", name)
        return self._created(visitor, name)

    def _created(self, visitor: CurrentUser, name: str) -> Updates:
        """Choose a new draft."""
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

"""Studies: the list with each study's status, and the tabs for the chosen study."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from app.studies.loader import load_study, shipped
from app.studies.pool_text import pools_in
from app.use_cases.studies import add_draft, delete_study, is_deletable
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import StudySection, StudyView, Updates, load_view, new_name, state_of
from app.web.console.study_tab.builder import StudiesBeside, StudyBuilder
from app.web.console.study_tab.editor import EditorSection, fingerprint
from app.web.console.study_tab.items import ItemsSection
from app.web.console.study_tab.preview import PreviewSection
from app.web.console.study_tab.prolific import ProlificSection
from app.web.console.study_tab.recruitment import RecruitmentSection
from app.web.console.study_tab.versions import VersionsSection
from app.web.console.tab import LocationValues, TabLocation, dropdown, html_part, text
from experiments.plural import count as how_many
from storage.log.seats import COMPLETE, LIVE
from storage.registers.origins import Origin
from storage.registers.study_versions import status_of_all
from storage.reports.sessions import outcomes, own_streams

FIRST = "demo"
UPLOAD = (
    '<label class="upload small"><input type="file" accept=".yaml,.yml" data-into="#new-file textarea">'
    "<span>Upload a study file…</span></label>"
)
# How the value of a template begins that is a draft.
DRAFT = "draft:"
LOADING = '<p class="quiet" role="status">Loading…</p>'


def _as_study(view: StudyView) -> str:
    """A fingerprint of what a study is; its draft may say it in other words, and with other comments."""
    hashes = [study and study.hash for study in (view.written, view.study)]
    return fingerprint(
        repr((hashes, view.text is None, view.versions, view.operations, view.dataset, view.new_metadata))
    )


def _as_pools(view: StudyView) -> str:
    return fingerprint(repr((view.text is None, pools_in(view.text or ""))))


# The tabs of a study that show what is written under Edit, each with the fingerprint of what it shows.
FOLLOWING: Mapping[str, Callable[[StudyView], str]] = {
    **dict.fromkeys(("Overview", "Preview", "Recruit", "Versions"), _as_study),
    "Items": _as_pools,
}

# The tab of a study that is shown after a change in another one, if it is not the first. Only that one is painted: the
# rest follow when they are opened.
AFTER: Mapping[str, str] = {"Items": "Edit"}


@dataclass(frozen=True, slots=True)
class StudyListItem:
    name: str
    state: str
    version: int | None
    live: int
    complete: int
    archived: bool
    waves: bool


class StudiesTab:
    name = "studies"
    label = "Studies"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._editor = EditorSection(context, location)
        self._parts: Mapping[str, StudySection] = {
            "Overview": RecruitmentSection(context, location),
            "Edit": self._editor,
            "Items": ItemsSection(context, location),
            "Preview": PreviewSection(context, location),
            "Recruit": ProlificSection(context, location),
            "Versions": VersionsSection(context, location),
        }
        self._marks: Mapping[str, gr.Textbox] = {}
        self._builder = StudyBuilder(context)
        self.outputs: list[Any] = []

    def build(self) -> None:
        load_study(FIRST)  # loads the modules now, so that the first keystroke in the editor is not delayed
        with gr.Row(elem_id="studies"):
            with gr.Column(scale=1, min_width=240, elem_id="studies-list"):
                self._list = html_part(LOADING, elem_id="studies-listed")
                with gr.Column(visible=False, elem_id="new-study", elem_classes="asks") as self._new:
                    self._called = gr.Textbox(
                        label="New study", placeholder="my-study", max_length=60, elem_id="new-name"
                    )
                    self._like = dropdown(label="Template", choices=shipped(), value=FIRST, elem_id="new-like")
                    self._make = gr.Button("Create study", size="sm", elem_id="new-make")
                    build = gr.Button("Build step by step…", size="sm", elem_id="new-build")
                    html_part(UPLOAD)
                    self._file = gr.Textbox(visible="hidden", elem_id="new-file")
            with gr.Column(scale=4, min_width=560, elem_id="study-bench"):
                self._title = html_part(elem_id="study-title")
                with gr.Tabs(elem_id="bench", visible=False) as self._tabs:
                    tabs = {label: self._build_part(label, part) for label, part in self._parts.items()}
                self._front = gr.Textbox(elem_id="bench-front", visible="hidden")
                self._marks = {label: gr.Textbox(elem_id=f"seen-{label}", visible="hidden") for label in FOLLOWING}
                self._builder.build()
                self._deleting = self._build_deleting()
        parts = [component for part in self._parts.values() for component in part.outputs]
        self.outputs = [self._list, self._new, self._like, self._title, self._tabs, *parts, *self._builder.outputs]
        self.outputs += [*self._marks.values(), self._deleting, self._loss, self._typed]
        for label, part in self._parts.items():
            then = AFTER.get(label, "Overview")
            head = [self._list, self._like, self._title, self._tabs, self._deleting, self._loss, self._typed]
            changed = [*head, *self._parts[then].outputs]
            part.wire([*changed, *self._marks_of(then)], partial(self._changed, then))
        made = [self._location.study, self._location.painted, self._location.session, self._called, *self.outputs]
        self._context.bind(
            [self._make.click, self._called.submit], self._begin, [self._called, self._like], made, owner=True
        )
        self._context.bind(self._file.input, self._upload, [self._file], [self._file, *made], owner=True)
        deleted = [self._location.study, self._typed]
        self._context.bind(self._delete.click, self._remove, deleted, made, owner=True)
        beside = (build, self._called, self._location.study, self._title, self._tabs)
        self._builder.wire(StudiesBeside(*beside, self._created, self._repaint, made))
        self._wire_following(tabs)

    def _build_deleting(self) -> gr.Accordion:
        accordion: gr.Accordion
        with gr.Accordion("Delete…", open=False, visible=False, elem_id="deleting") as accordion:
            self._loss = html_part()
            with gr.Row(elem_classes="actions"):
                self._typed = gr.Textbox(label="Type the study's name", max_lines=1, elem_id="delete-name")
                self._delete = gr.Button("Delete", size="sm", variant="stop", elem_id="delete-yes")
        return accordion

    def _build_part(self, label: str, section: StudySection) -> gr.Tab:
        tab: gr.Tab
        with gr.Tab(label, id=label, elem_id=f"bench-{label}") as tab:
            section.build()
        return tab

    def _wire_following(self, tabs: Mapping[str, gr.Tab]) -> None:
        on, study, marks = self._context.bind, self._location.study, list(self._marks.values())
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

    def _enter(self, label: str, user: CurrentUser, name: str, mark: str = "") -> Updates:
        entered = {self._front: label, **self._followed(user, name, label, mark)}
        if label != "Edit" or name not in self._context.names():
            return entered
        # the files beside the draft decide as well whether it has errors
        return {**entered, **self._editor.verdict(user, load_view(self._context, name))}

    def _follow(self, user: CurrentUser, name: str, front: str, *marks: str) -> Updates:
        return self._followed(user, name, front, dict(zip(FOLLOWING, marks, strict=True)).get(front, ""))

    def _followed(self, user: CurrentUser, name: str, label: str, mark: str) -> Updates:
        """The title; and a tab of the study, if the study is not as it was painted: to paint undoes what a person has
        begun there, and Gradio also says that a tab was opened when the page was loaded."""
        if name not in self._context.names():
            return {}
        seen = load_view(self._context, name)
        title: Updates = {self._title: self._title_of(seen)}
        if label not in FOLLOWING or mark == FOLLOWING[label](seen):
            return title
        return {**title, **self._parts[label].paint(user, seen), self._marks[label]: FOLLOWING[label](seen)}

    def _title_of(self, view: StudyView | None) -> str:
        return self._context.html("study_title.html.j2", seen=view)

    def paint(self, user: CurrentUser, location: LocationValues) -> Updates:
        seen = load_view(self._context, location.study) if location.study in self._context.names() else None
        shown: dict[Component, Any] = {
            **self._head(user, location.study, seen),
            self._new: gr.update(visible=user.owner),
            self._tabs: gr.update(visible=seen is not None),
            self._builder.panel: gr.update(visible=False),
        }
        if seen is not None:
            for part in self._parts.values():
                shown |= part.paint(user, seen)
            shown |= {mark: FOLLOWING[label](seen) for label, mark in self._marks.items()}
        return shown

    def _head(self, user: CurrentUser, name: str, view: StudyView | None) -> dict[Any, Any]:
        deletable = user.owner and is_deletable(self._context.database, self._context.drafts, name)
        sessions = len(own_streams(self._context.database, name)) if deletable else 0
        return {
            **self._context.guarded("List of studies", self._list, partial(self._list_of, user, name)),
            self._like: gr.update(choices=self._templates()),
            self._title: self._title_of(view),
            self._deleting: gr.update(visible=deletable, open=False),
            self._loss: self._context.html("study_delete.html.j2", seen=view, sessions=sessions) if deletable else "",
            self._typed: "",
        }

    def _changed(self, label: str, user: CurrentUser, name: str) -> Updates:
        seen = load_view(self._context, name)
        return {
            **self._head(user, name, seen),
            **self._parts[label].paint(user, seen),
            **{mark: FOLLOWING[label](seen) for mark in self._marks_of(label)},
            self._tabs: gr.update(selected=label),
        }

    def _list_of(self, user: CurrentUser, name: str) -> Updates:
        listed = self._listed(self._context.names())
        return {self._list: self._context.html("studies.html.j2", listed=listed, chosen=name, owner=user.owner)}

    def _listed(self, names: Sequence[str]) -> list[StudyListItem]:
        context = self._context
        drafts, statuses = context.drafts.names(), status_of_all(context.database, names)
        unpublished = {name for name in drafts if statuses[name].published is None}
        known = {name: None if name in unpublished else context.study(name) for name in names}
        waves = [name for name, study in known.items() if study and study.file.waves]
        stand = outcomes(context.database, names, context.clock.now_us(), waves)
        found = []
        for name, study in known.items():
            people = stand[name, Origin.PERSON]
            state = "draft" if name in unpublished else state_of(statuses[name]) if study else "imported"
            live, complete = people.get(LIVE, 0), people.get(COMPLETE, 0)
            version, archived = study.file.version if study else None, statuses[name].archived
            found.append(StudyListItem(name, state, version, live, complete, archived, name in waves))
        return found

    def _templates(self) -> list[tuple[str, str]]:
        drafts = [(f"{name} (draft)", f"{DRAFT}{name}") for name in self._context.drafts.names()]
        return [*((name, name) for name in shipped()), *drafts]

    def _repaint(self, user: CurrentUser, name: str, tab: str = "") -> Updates:
        front = {self._tabs: gr.update(visible=True, selected=tab)} if tab else {}
        return {**self.paint(user, LocationValues(name, "")), **front}

    def _begin(self, user: CurrentUser, name: Any, like: Any) -> Updates:
        name, like = new_name(text(name), self._context.drafts.names()), text(like)
        context = self._context
        if like.startswith(DRAFT):
            context.drafts.copy(name, like.removeprefix(DRAFT))
        else:
            context.drafts.create(name, like)
            context.drafts.save(name, re.sub(r"\A# What next:.*\n", "", context.drafts.text(name)))
        context.audit(user, f"created a study from the template {like}", name)
        return self._created(user, name)

    def _upload(self, user: CurrentUser, file: Any) -> Updates:
        name = add_draft(self._context.drafts, text(file))
        self._context.audit(user, "uploaded a study file", name)
        said = self._context.notify(
            f"{name} is uploaded. Files that it names, such as items, are uploaded under Items."
        )
        return {**self._created(user, name), self._file: "", **said}

    def _remove(self, user: CurrentUser, name: str, typed: Any) -> Updates:
        context = self._context
        if text(typed).strip() != name:
            return context.notify("Type the study's name to delete it.", "warn")
        known = (context.database, context.participants, context.drafts)
        erased = asyncio.run(delete_study(context.sessions, *known, name, context.clock.now_us()))
        context.audit(user, f"deleted the study, with {how_many(erased, 'session')}", name)
        names = context.names()
        shown = name if name in names else next(iter(names), "")
        return {
            **self._repaint(user, shown),
            self._location.study: gr.update(choices=names, value=shown or None),
            self._location.painted: shown,
            self._location.session: "",
            **context.notify(f"{name} is deleted" + (f", with {how_many(erased, 'session')}." if erased else ".")),
        }

    def _created(self, user: CurrentUser, name: str) -> Updates:
        return {
            **self._repaint(user, name, tab="Edit"),
            self._location.study: gr.update(choices=self._context.names(), value=name),
            self._location.painted: name,
            self._location.session: "",
            self._called: "",
            **self._context.notify(
                f"{name} is created. Edit it here; participants see nothing of it until it is published and opened."
            ),
        }

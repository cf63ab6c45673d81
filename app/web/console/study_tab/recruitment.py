"""Overview: the status of a study (pilot, open, pause, close), participant links, quotas and the study flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component
from markupsafe import Markup

from app.errors import SettingsError
from app.studies.outline import outline
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import UNPUBLISHED, Refresh, StudyView, Updates
from app.web.console.tab import TabLocation, dropdown, html_part
from app.web.link_problem_texts import problem_rows
from app.web.participant.recruiter_links import recruitment_links
from app.web.participant.signed_links import TrialLinks
from app.web.qr_code import as_svg
from experiments.session.study_status import Decision
from experiments.study.cells import cells, parse_cell
from experiments.study.study import Study
from storage.log.seats import cell_key
from storage.registers.link_problems import link_problems
from storage.registers.origins import Origin
from storage.registers.study_status import set_status
from storage.reports.sessions import LIVE, outcomes

MOST = 1_000_000
DECISIONS: Mapping[Decision, tuple[str, str]] = {
    "piloted": ("Start pilot", "The study is in pilot. New sessions are marked as pilot sessions."),
    "opened": ("Open", "The study is open. New participants can start, and their data count."),
    "archived": ("Archive", "The study is archived: it is listed apart until it is opened again. Nothing is deleted."),
    "paused": ("Pause", "The study is paused. New participants cannot start; sessions in progress can be finished."),
}
CLOSED = "The study is closed. New participants cannot start; sessions in progress can be finished."


class RecruitmentSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._desk, self._place = context, location
        self._trials = TrialLinks(context.secret)
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._head = html_part(elem_id="study-head")
        with gr.Row(elem_classes="actions"):
            self._buttons = {
                kind: gr.Button(label, size="sm", visible=False, elem_id=f"decide-{kind}")
                for kind, (label, _) in DECISIONS.items()
            }
            self._close = gr.Button("Close…", size="sm", visible=False, elem_id="decide-closed")
        with gr.Column(visible=False, elem_classes="sure", elem_id="closing") as self._closing:
            self._ask = html_part()
            with gr.Row(elem_classes="actions"):
                self._yes = gr.Button("Close study", size="sm", variant="stop", elem_id="close-yes")
                self._no = gr.Button("Cancel", size="sm", elem_id="close-no")
        self._about = html_part(elem_id="study-about")
        with gr.Row(visible=False, elem_classes="asks", elem_id="caps-form") as self._form:
            self._where = dropdown(
                label="Condition (all participants if empty)", multiselect=True, value=[], elem_id="cap-where"
            )
            self._most = gr.Number(label="Quota (0 = no new participants)", precision=0, elem_id="cap-most")
            self._set = gr.Button("Set quota", size="sm", elem_id="cap-set")
            self._lift = gr.Button("Remove quota", size="sm", elem_id="cap-lift")
        self._tree = html_part(elem_id="study-tree")
        shown = [self._head, *self._buttons.values(), self._close, self._closing, self._ask, self._about]
        self.outputs = [*shown, self._form, self._where, self._most, self._tree]

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        on, study = self._desk.bind, self._place.study
        for kind, button in self._buttons.items():
            on(button.click, self._decides(kind, repaint), [study], outputs, owner=True)
        on(self._close.click, lambda *_: {self._closing: gr.update(visible=True)}, [study], [self._closing], owner=True)
        on(self._no.click, lambda *_: {self._closing: gr.update(visible=False)}, [study], [self._closing])
        on(self._yes.click, self._decides("closed", repaint), [study], outputs, owner=True)
        setting = [self._set.click, self._most.submit]
        on(setting, self._caps(repaint), [study, self._where, self._most], outputs, owner=True)
        on(self._lift.click, self._caps(repaint, lift=True), [study, self._where, self._most], outputs, owner=True)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        # Of a study that no server offers nothing is to be decided, and no link leads anywhere.
        study = view.study if view.state != UNPUBLISHED else None
        fitting = view.operations.allowed if study and user.owner else ()
        stand = outcomes(self._desk.database, [view.name], self._desk.clock.now_us())
        people = {origin: stand[view.name, origin] for origin in (Origin.PERSON, Origin.PILOT)}
        going = sum(found.get(LIVE, 0) for found in people.values())
        caps = view.operations.quotas_of(study.file.quotas) if study else ()
        tree = view.written or view.study
        links = self._links(study, user) if study else []
        limits = [(cell_key(cap.where) or "All participants", cap.max) for cap in caps]
        return {
            self._head: self._desk.html("study_head.html.j2", seen=view, study=study),
            **{button: gr.update(visible=kind in fitting) for kind, button in self._buttons.items()},
            self._close: gr.update(visible="closed" in fitting),
            self._closing: gr.update(visible=False),
            self._ask: self._desk.html("study_close.html.j2", name=view.name, going=going),
            self._about: self._desk.html(
                "study_about.html.j2",
                **{"study": study, "people": people, "links": links, "limits": limits, "seen": view},
                problems=problem_rows(link_problems(self._desk.database, view.name)),
            ),
            self._form: gr.update(visible=bool(study) and user.owner),
            self._where: gr.update(choices=pairs(study) if study else [], value=[]),
            self._most: gr.update(value=None),
            self._tree: self._desk.html(
                "study_tree.html.j2", tree=outline(tree) if tree else (), hash=tree and tree.hash
            ),
        }

    def _links(self, study: Study, user: CurrentUser) -> list[tuple[str, str, Markup | None]]:
        """The study's links, each with its label and, unless the recruiter has to fill it in, its QR code."""
        address = self._desk.settings.address
        found = recruitment_links(study, address)
        found += self._trials.links(study.name, address) if user.owner else []
        return [(label, link, None if "%" in link else as_svg(link, f"QR code: {label}")) for label, link in found]

    def _decides(self, kind: Decision, repaint: Refresh) -> Callable[..., Updates]:
        def decide(user: CurrentUser, name: str) -> Updates:
            study = self._desk.studies.newest(name)
            data = {"why": kind} if kind in ("paused", "closed") else {}
            self._write(study.name, kind, data)
            self._desk.audit(user, kind, study.name)
            said = CLOSED if kind == "closed" else DECISIONS[kind][1]
            return {**repaint(user, name), **self._desk.notify(said)}

        return decide

    def _caps(self, repaint: Refresh, *, lift: bool = False) -> Callable[..., Updates]:
        def cap(user: CurrentUser, name: str, where: Any, most: Any) -> Updates:
            study = self._desk.studies.newest(name)
            cell = cell_of(study, where)
            if not lift and not (isinstance(most, int) and 0 <= most <= MOST):
                raise SettingsError(f"A quota is a whole number from 0 to {MOST:,}; 0 admits no new participants.")
            whom = cell_key(cell) or "all participants"
            self._write(study.name, "capped", {"where": cell, "most": None if lift else most})
            self._desk.audit(user, "removed the quota" if lift else f"set the quota to {most}", f"{name}: {whom}")
            said = f"The quota for {whom} is " + ("removed." if lift else f"{most:,}.")
            said += " New participants cannot start there." if most == 0 and not lift else ""
            return {**repaint(user, name), **self._desk.notify(said)}

        return cap

    def _write(self, study: str, kind: Decision, data: Mapping[str, Any]) -> None:
        set_status(self._desk.database, study, kind, data, by="researcher", at_us=self._desk.clock.now_us())


def pairs(study: Study) -> list[tuple[str, str]]:
    """Every value of every factor as a choice: its label and its value."""
    found = dict.fromkeys(pair for cell in cells(study.factors, study.pools) for pair in cell.values.items())
    by_factor = sorted(found, key=lambda pair: list(study.factors).index(pair[0]))
    return [(f"{name}: {value}", f"{name}={value}") for name, value in by_factor]


def cell_of(study: Study, chosen: Any) -> dict[str, str]:
    """The chosen factors with their values; raises NoSuchCell."""
    return parse_cell(map(str, chosen if isinstance(chosen, list) else ()), study.factors, study.pools)

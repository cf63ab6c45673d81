"""Overview: the status of a study (pilot, open, pause, close), participant links, quotas and the study flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gradio as gr
from gradio.components import Component
from markupsafe import Markup

from app.session.signed_links import TrialLinks
from app.studies.outline import outline
from app.use_cases.recruit import (
    accepts_personal_links,
    decide,
    personal_links,
    set_budget,
    set_quota,
    signed_links,
    signers,
)
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import UNPUBLISHED, Refresh, StudyView, Updates
from app.web.console.tab import TabLocation, dropdown, html_part, text
from app.web.link_problem_texts import problem_rows
from app.web.participant.recruiter_links import recruitment_links
from app.web.qr_code import as_svg
from experiments.errors import NotPossible
from experiments.plural import count as how_many
from experiments.session.study_status import Decision
from experiments.study.cells import cells, parse_cell
from experiments.study.study import Study
from storage.log.seats import LIVE, cell_key
from storage.registers.link_problems import link_problems
from storage.registers.origins import Origin
from storage.reports.sessions import outcomes

Limit = Literal["quota", "budget"]
LIMITS: Mapping[Limit, str] = {"quota": "Quota of participants", "budget": "Budget of models"}
DECISIONS: Mapping[Decision, tuple[str, str]] = {
    "piloted": ("Start pilot", "The study is in pilot. New sessions are marked as pilot sessions."),
    "opened": ("Open", "The study is open. New participants can start, and their data count."),
    "archived": ("Archive", "The study is archived: it is listed apart, and Open brings it back. Nothing is deleted."),
    "paused": ("Pause", "The study is paused. New participants cannot start; sessions in progress can be finished."),
}
CLOSED = "The study is closed. New participants cannot start; sessions in progress can be finished."


class RecruitmentSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
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
            self._why = gr.Textbox(label="Reason (participants do not see it)", max_lines=1, elem_id="close-why")
            with gr.Row(elem_classes="actions"):
                self._yes = gr.Button("Close study", size="sm", variant="stop", elem_id="close-yes")
                self._no = gr.Button("Cancel", size="sm", elem_id="close-no")
        self._about = html_part(elem_id="study-about")
        with gr.Column(visible=False, elem_id="caps-form") as self._form:
            self._where = dropdown(
                label="Condition (all participants if empty)",
                free=True,  # otherwise the page drops a typed text without a word, and the limit is that of all
                multiselect=True,
                value=[],
                elem_id="cap-where",
            )
            self._limits = {what: self._build_limit(what, label) for what, label in LIMITS.items()}
        self._build_links()
        self._tree = html_part(elem_id="study-tree")
        shown = [self._head, *self._buttons.values(), self._close, self._closing, self._ask, self._why, self._about]
        self.outputs = [*shown, self._form, self._where, *(most for most, *_ in self._limits.values()), self._tree]
        self.outputs += [self._linking, self._count, self._recruiter, self._ids, self._made]

    def _build_limit(self, what: Limit, label: str) -> tuple[gr.Number, gr.Button, gr.Button]:
        with gr.Row(elem_classes="asks"):
            return (
                gr.Number(label=label, elem_id=f"{what}-most"),
                gr.Button(f"Set {what}", size="sm", elem_id=f"set-{what}"),
                gr.Button(f"Remove {what}", size="sm", elem_id=f"remove-{what}"),
            )

    def _build_links(self) -> None:
        with gr.Accordion("Links for one participant each…", open=False, visible=False) as self._linking:
            with gr.Row(elem_classes="asks"):
                self._count = gr.Number(label="Personal links", precision=0, elem_id="links-count")
                self._recruiter = dropdown(label="Signed links for the recruiter", elem_id="links-recruiter")
                self._ids = gr.Textbox(label="IDs, one a line", lines=3, max_lines=6, elem_id="links-ids")
                self._make = gr.Button("Create links", size="sm", elem_id="links-make")
            self._made = html_part(elem_id="links-made")

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        on, study = self._context.bind, self._location.study
        for kind, button in self._buttons.items():
            on(button.click, self._decides(kind, repaint), [study], outputs, owner=True)
        on(self._close.click, lambda *_: {self._closing: gr.update(visible=True)}, [study], [self._closing], owner=True)
        on(self._no.click, lambda *_: {self._closing: gr.update(visible=False)}, [study], [self._closing])
        on(self._yes.click, self._decides("closed", repaint), [study, self._why], outputs, owner=True)
        for what, (most, set_, remove) in self._limits.items():
            for event, lift in ((set_.click, False), (most.submit, False), (remove.click, True)):
                on(event, self._limit(repaint, what, lift=lift), [study, self._where, most], outputs, owner=True)
        typed = [study, self._count, self._recruiter, self._ids]
        on(self._make.click, self._create_links, typed, [self._made], owner=True)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        # Of a study that no server offers nothing is to be decided, and no link leads anywhere.
        study = view.study if view.state != UNPUBLISHED else None
        fitting = view.operations.allowed if study and user.owner else ()
        waves = [view.name] if study and study.file.waves else []
        stand = outcomes(self._context.database, [view.name], self._context.clock.now_us(), waves)
        people = {origin: stand[view.name, origin] for origin in (Origin.PERSON, Origin.PILOT)}
        going = sum(found.get(LIVE, 0) for found in people.values())
        quotas = view.operations.quotas_of(study.file.quotas) if study else ()
        tree = view.written or view.study
        links = self._shared_links(study, user) if study else []
        limits = [(cap.where, how_many(cap.max, "participant")) for cap in quotas]
        limits += [(dict(where), f"{most:,.2f} for models") for where, most in view.operations.budgets.items()]
        return {
            self._head: self._context.html("study_head.html.j2", seen=view, study=study),
            **{button: gr.update(visible=kind in fitting) for kind, button in self._buttons.items()},
            self._close: gr.update(visible="closed" in fitting),
            self._closing: gr.update(visible=False),
            self._why: "",
            self._ask: self._context.html("study_close.html.j2", name=view.name, going=going),
            self._about: self._context.html(
                "study_about.html.j2",
                **{"study": study, "people": people, "links": links, "seen": view},
                limits=[(cell_key(where) or "All participants", most) for where, most in limits],
                problems=problem_rows(link_problems(self._context.database, view.name)),
            ),
            self._form: gr.update(visible=bool(study) and user.owner),
            self._where: gr.update(choices=pairs(study) if study else [], value=[]),
            **{most: gr.update(value=None) for most, *_ in self._limits.values()},
            **self._links_form(study if user.owner else None),
            self._tree: self._context.html(
                "study_tree.html.j2", tree=outline(tree) if tree else (), hash=tree and tree.hash
            ),
        }

    def _shared_links(self, study: Study, user: CurrentUser) -> list[tuple[str, str, Markup | None]]:
        """The study's links, each with its label and, unless the recruiter has to fill it in, its QR code."""
        address = self._context.settings.address
        found = recruitment_links(study, address)
        found += self._trials.links(study.name, address) if user.owner else []
        return [(label, link, None if "%" in link else as_svg(link, f"QR code: {label}")) for label, link in found]

    def _links_form(self, study: Study | None) -> Updates:
        by, signing = (study.file.recruitment.channels, signers(study)) if study else ((), [])
        personal = study is not None and accepts_personal_links(study)
        return {
            self._linking: gr.update(visible=personal or bool(signing), open=False),
            self._count: gr.update(value=10, visible=personal),
            self._recruiter: gr.update(
                label="Or signed links for the recruiter" if personal else "Signed links for the recruiter",
                choices=signing,
                value=signing[0] if by and signing else None,
                visible=bool(signing),
            ),
            self._ids: gr.update(
                label="IDs, one a line (personal links if empty)" if personal else "IDs, one a line",
                value="",
                visible=bool(signing),
            ),
            self._made: "",
        }

    def _create_links(self, user: CurrentUser, name: str, count: Any, recruiter: Any, ids: Any) -> Updates:
        context, study = self._context, self._context.studies.newest(name)
        known, signed = (context.participants, study, context.settings.address), bool(text(ids).strip())
        if signed:
            links = signed_links(*known, text(ids), text(recruiter))
        else:
            links = personal_links(*known, count if isinstance(count, int) else 0)
        rows = [("id" if signed else "label", "link"), *links]
        written = "".join(f"{label},{link}\n" for label, link in rows).encode()
        file = context.downloads.offer(user, f"{study.name}-links.csv", "links", 0, lambda file: file.write(written))
        created = how_many(len(links), "link")
        context.audit(user, f"created {created} for participants", study.name)
        about = f"{created}. Each admits whoever has it as that participant: hand them out one by one."
        return {self._made: context.html("file_link.html.j2", link=file, about=about)}

    def _decides(self, decision: Decision, repaint: Refresh) -> Callable[..., Updates]:
        def decided(user: CurrentUser, name: str, why: Any = "") -> Updates:
            decide(self._context.database, name, decision, user.name, self._context.clock, text(why))
            said = CLOSED if decision == "closed" else DECISIONS[decision][1]
            return {**repaint(user, name), **self._context.notify(said)}

        return decided

    def _limit(self, repaint: Refresh, what: Limit, *, lift: bool) -> Callable[..., Updates]:
        set_limit = set_quota if what == "quota" else set_budget

        def limit(user: CurrentUser, name: str, where: Any, most: Any) -> Updates:
            study, given = self._context.studies.newest(name), None if lift else most
            if given is None and not lift:
                raise NotPossible(f"Type the {what} first.")
            cell = cell_of(study, where)
            set_limit(self._context.database, study, cell, given, user.name, self._context.clock)
            said = f"The {what} for {cell_key(cell) or 'all participants'} is "
            said += "removed." if lift else f"{given:,}." + ("" if given else " New participants cannot start there.")
            return {**repaint(user, name), self._where: gr.skip(), **self._context.notify(said)}

        return limit


def pairs(study: Study) -> list[str]:
    found = dict.fromkeys(pair for cell in cells(study.factors, study.pools) for pair in cell.values.items())
    by_factor = sorted(found, key=lambda pair: list(study.factors).index(pair[0]))
    return [f"{name}={value}" for name, value in by_factor]


def cell_of(study: Study, chosen: Any) -> dict[str, str]:
    """The chosen factors with their values; raises NoSuchCell."""
    return parse_cell(map(str, chosen if isinstance(chosen, list) else ()), study.factors, study.pools)

"""Preview: go through a study as a participant, from any step and in any condition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from app.bots.preview_session import PreviewTarget, advance_to_step
from app.errors import SettingsError
from app.session.signed_links import PreviewLinks
from app.studies.outline import Branch, outline
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import Refresh, StudyView, Updates, load_view
from app.web.console.study_tab.recruitment import cell_of, pairs
from app.web.console.study_tab.simulation import SimulationPanel
from app.web.console.tab import TabLocation, dropdown, html_part
from experiments.errors import suggestion
from experiments.study.study import Study

START = ("The beginning", "")


class PreviewSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._walks = PreviewLinks(context.secret)
        self._simulation = SimulationPanel(context)
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._about = html_part()
        with gr.Column(visible=False, elem_classes="asks", elem_id="walk-form") as self._form:
            with gr.Row():
                self._step = dropdown(label="Start at", elem_id="walk-step")
                self._where = dropdown(
                    label="Condition (any if empty)", free=True, multiselect=True, value=[], elem_id="walk-where"
                )
                self._language = dropdown(label="Language", visible=False, elem_id="walk-language")
            self._go = gr.Button("Create preview link", size="sm", variant="primary", elem_id="walk-go")
        self._link = html_part(elem_id="walk-link")
        self._simulation.build()
        own = [self._about, self._form, self._step, self._where, self._language, self._link]
        self.outputs = [*own, *self._simulation.outputs]

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        place, on = self._location.study, self._context.bind
        chosen = [self._step, self._where, self._language]
        on(self._go.click, self._walk, [place, *chosen], [self._link], owner=True)
        panel = self._simulation
        on(panel.go.click, self._simulate, [place, *panel.sent], panel.view.outputs, owner=True)
        panel.view.wire(place)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        study = _study_of(view)
        return {
            self._about: self._context.html("study_walk.html.j2", study=study, owner=user.owner, seen=view),
            self._form: gr.update(visible=study is not None and user.owner),
            **(self._choices(study) if study else {}),
            self._link: "",
            **self._simulation.paint(user, view.name, study),
        }

    def _choices(self, study: Study) -> Updates:
        languages = study.file.offered
        return {
            self._step: gr.update(choices=[START, *_steps(outline(study)[-1].children)], value=""),
            self._where: gr.update(choices=pairs(study), value=[], visible=bool(study.factors)),
            self._language: gr.update(choices=list(languages), value=languages[0], visible=len(languages) > 1),
        }

    def _runnable(self, name: str) -> Study:
        study = _study_of(load_view(self._context, name))
        if study is None:
            raise SettingsError("There is no preview yet: correct the errors in the study file first.")
        return study

    def _simulate(self, user: CurrentUser, name: str, number: Any, seed: Any) -> Updates:
        return self._simulation.start(user, self._runnable(name), number, seed)

    def _walk(self, user: CurrentUser, name: str, step: Any, where: Any, language: Any) -> Updates:
        study = self._runnable(name)
        offered = study.file.offered
        if len(offered) > 1 and language not in offered:
            raise SettingsError(f"{language!r} is not a language of this study{suggestion(str(language), offered)}")
        target = PreviewTarget(str(step or ""), cell_of(study, where), language if len(offered) > 1 else "")
        self._context.studies.register(study)
        stream = asyncio.run(advance_to_step(self._context.sessions, study, target))
        self._context.audit(user, f"started a preview at {target.step or 'the beginning'}", study.name)
        link = self._walks.link(self._context.settings.address, stream)
        return {self._link: self._context.html("study_link.html.j2", link=link, target=target)}


def _study_of(view: StudyView) -> Study | None:
    """The draft, if it has unpublished changes and no errors; else the published version."""
    return view.written if view.changed else view.study


def _steps(branches: Sequence[Branch], above: str = "") -> Iterator[tuple[str, str]]:
    """The steps as pairs of a label and a path, each path once."""
    met: set[str] = set()
    for branch in branches:
        called = branch.note if branch.kind == "step" and branch.note else branch.text
        name = f"{above}{called}"
        found = [(name, branch.path)] if branch.kind == "step" else _steps(branch.children, f"{name} / ")
        for label, path in found:
            if path not in met:
                met.add(path)
                yield label, path

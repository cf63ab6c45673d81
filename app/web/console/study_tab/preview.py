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
from app.web.console.study_tab.base import Refresh, StudyView, Updates, runnable
from app.web.console.study_tab.recruitment import cell_of, pairs
from app.web.console.tab import TabLocation, dropdown, html_part
from experiments.errors import suggestion
from experiments.study.study import Study

START = ("The beginning", "")


class PreviewSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self._walks = PreviewLinks(context.secret)
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
        self.outputs = [self._about, self._form, self._step, self._where, self._language, self._link]

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        place, on = self._location.study, self._context.bind
        chosen = [self._step, self._where, self._language]
        on(self._go.click, self._walk, [place, *chosen], [self._link], owner=True)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        study = view.runnable
        return {
            self._about: self._context.html("study_walk.html.j2", study=study, owner=user.owner, seen=view),
            self._form: gr.update(visible=study is not None and user.owner),
            **(self._choices(study) if study else {}),
            self._link: "",
        }

    def _choices(self, study: Study) -> Updates:
        languages = study.file.offered
        return {
            self._step: gr.update(choices=[START, *_steps(outline(study)[-1].children)], value=""),
            self._where: gr.update(choices=pairs(study), value=[], visible=bool(study.factors)),
            self._language: gr.update(choices=list(languages), value=languages[0], visible=len(languages) > 1),
        }

    def _walk(self, user: CurrentUser, name: str, step: Any, where: Any, language: Any) -> Updates:
        study = runnable(self._context, name)
        offered = study.file.offered
        if len(offered) > 1 and language not in offered:
            raise SettingsError(f"{language!r} is not a language of this study{suggestion(str(language), offered)}")
        target = PreviewTarget(str(step or ""), cell_of(study, where), language if len(offered) > 1 else "")
        self._context.studies.register(study)
        stream = asyncio.run(advance_to_step(self._context.sessions, study, target))
        self._context.audit(user, f"started a preview at {target.step or 'the beginning'}", study.name)
        link = self._walks.link(self._context.settings.address, stream)
        return {self._link: self._context.html("study_link.html.j2", link=link, target=target)}


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

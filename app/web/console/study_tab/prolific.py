"""Recruit: the study at Prolific by its API, compared with the study here, and what an owner decides about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from app.recruiters.prolific import access_of, prolific_client
from app.use_cases.prolific_study import ProlificAct, ProlificView, StudyAtProlific
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import UNPUBLISHED, Refresh, StudyView, Updates
from app.web.console.tab import TabLocation, html_part, text

# The label of each decision, and the states of the study at Prolific in which it is offered.
ACTS: Mapping[ProlificAct, tuple[str, tuple[str, ...]]] = {
    "draft": ("Save draft at Prolific", ("nothing", "UNPUBLISHED")),
    "pause": ("Pause", ("ACTIVE",)),
    "start": ("Start again", ("PAUSED",)),
    "stop": ("Stop for good…", ("ACTIVE", "PAUSED")),
}
STOPPING = (
    "<p><b>Stop the study at Prolific for good?</b> Nobody new can take part there, and it cannot be started again; a "
    "pause can be ended. Who has begun can finish.</p>"
)
SPENDING: Mapping[ProlificAct, str] = {"publish": "Publish", "places": "Add places"}


class ProlificSection:
    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context, self._location = context, location
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._compare = gr.Button("Compare with Prolific", size="sm", visible=False, elem_id="prolific-show")
        self._view = html_part(elem_id="prolific-view")
        with gr.Row(elem_classes="actions"):
            self._buttons = {
                word: gr.Button(label, size="sm", visible=False, elem_id=f"prolific-{word}")
                for word, (label, _) in ACTS.items()
            }
        with gr.Column(visible=False, elem_classes="sure", elem_id="prolific-stopping") as self._stopping:
            html_part(STOPPING)
            with gr.Row(elem_classes="actions"):
                self._yes = gr.Button("Stop for good", size="sm", variant="stop", elem_id="prolific-stop-yes")
                self._no = gr.Button("Cancel", size="sm", elem_id="prolific-stop-no")
        with gr.Row(elem_classes="asks", visible=False) as self._spending:
            self._sum = gr.Textbox(
                label="Type the sum to spend, without fees", max_lines=1, max_length=20, elem_id="prolific-sum"
            )
            self._spend = {
                word: gr.Button(label, size="sm", variant="primary", visible=False, elem_id=f"prolific-{word}")
                for word, label in SPENDING.items()
            }
        self.outputs = [self._compare, self._view, *self._buttons.values(), self._stopping, self._spending, self._sum]
        self.outputs += self._spend.values()

    def wire(self, outputs: Sequence[Component], repaint: Refresh) -> None:
        given = [self._location.study, self._sum]
        self._context.bind(self._compare.click, self._acts("show"), given, self.outputs)
        for word, button in (self._buttons | self._spend | {"stop": self._yes}).items():
            self._context.bind(button.click, self._acts(word), given, self.outputs, owner=True)
        for button, asks in ((self._buttons["stop"], True), (self._no, False)):
            self._context.bind(button.click, self._asks(asks), [], [self._stopping], owner=True)

    def paint(self, user: CurrentUser, view: StudyView) -> Updates:
        """Without asking Prolific, which is done when somebody wants to know."""
        published = view.state != UNPUBLISHED
        study = view.study if published and view.study and view.study.file.prolific else None
        here = study is not None
        token = access_of(self._context.settings) is not None
        about = {"here": here, "token": token, "owner": user.owner, "study": view.name, "published": published}
        known = (None, self._context.database, self._context.settings)
        planned = StudyAtProlific(*known, study, self._context.clock, user.name).look() if study and not token else None
        return {**self._shown(user, planned, about), self._compare: gr.update(visible=here and token)}

    def _asks(self, asks: bool) -> Callable[..., Updates]:
        return lambda *_: {self._stopping: gr.update(visible=asks)}

    def _acts(self, word: ProlificAct) -> Callable[..., Updates]:
        def act(user: CurrentUser, name: str, said: Any) -> Updates:
            context = self._context
            known = (context.database, context.settings, context.studies.newest(name), context.clock, user.name)
            with prolific_client(context.settings) as client:
                view = StudyAtProlific(client, *known).act(word, text(said))
            told = {} if word == "show" else context.notify(f"Done. At Prolific the study is {view.status.lower()}.")
            return {**self._shown(user, view, {"here": True, "token": True, "study": name}), **told}

        return act

    def _shown(self, user: CurrentUser, view: ProlificView | None, about: Mapping[str, Any]) -> Updates:
        there = view if about["token"] else None
        fits = {word: there is not None and there.status in states for word, (_, states) in ACTS.items()}
        fits["draft"] = there is not None and fits["draft"] and bool(there.changes) and not there.lacks
        fits["publish"] = there is not None and there.status == "UNPUBLISHED" and not (there.changes or there.lacks)
        fits["places"] = there is not None and there.can_add_places
        return {
            self._view: self._context.html("study_prolific.html.j2", view=view, **about),
            **{button: gr.update(visible=user.owner and fits[word]) for word, button in self._buttons.items()},
            **{button: gr.update(visible=fits[word]) for word, button in self._spend.items()},
            self._stopping: gr.update(visible=False),
            self._spending: gr.update(visible=user.owner and any(fits[word] for word in SPENDING)),
            self._sum: "",
        }

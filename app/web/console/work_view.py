"""What a tab shows of long work: how far it is, its result or its error, and a button to stop it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import gradio as gr
from gradio.components import Component

from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import html_part

ASK_S = 1


class WorkView:
    """The work of some kinds on a study, with a button to stop what is under way; it refreshes itself meanwhile."""

    def __init__(self, context: ConsoleContext, kinds: Collection[str], name: str) -> None:
        self._context, self._kinds, self._name = context, kinds, name

    def build(self) -> None:
        self._list = html_part(elem_id=f"{self._name}-work")
        self._button = gr.Button("Stop", visible=False, size="sm", elem_id=f"{self._name}-stop")
        self._timer = gr.Timer(ASK_S, active=False)
        self.outputs: list[Component] = [self._list, self._button, self._timer]

    def wire(self, study: Component) -> None:
        bind = self._context.bind
        bind(self._timer.tick, self.look, [study], self.outputs, quiet=True)
        bind(self._button.click, self._stop, [study], self.outputs, owner=True)

    def look(self, user: CurrentUser, study: str) -> dict[Component, Any]:
        found = [work for name in (study, "") for work in self._context.work.of(name, self._kinds)]
        running = user.owner and any(work.running and not work.stopping for work in found)
        return {
            self._list: self._context.html("work.html.j2", works=found),
            self._button: gr.update(visible=running),
            self._timer: gr.update(active=any(work.running for work in found)),
        }

    def _stop(self, user: CurrentUser, study: str) -> dict[Component, Any]:
        for name in (study, ""):
            self._context.work.stop(name, self._kinds)
        return self.look(user, study)

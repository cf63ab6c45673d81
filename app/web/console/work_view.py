"""A tab's view of long work: its progress, its result or its error, and buttons to stop and to dismiss it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr
from gradio.components import Component

from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.long_work import LongWork, own
from app.web.console.tab import html_part

ASK_S = 1
Look = Callable[..., Mapping[Any, Any]]


class WorkView:
    """The work with buttons to stop what is under way and to dismiss what has ended; it refreshes itself."""

    def __init__(self, context: ConsoleContext, kinds: Collection[str], name: str) -> None:
        self._context, self._kinds, self._name = context, kinds, name

    def build(self) -> None:
        self.stop = gr.Button("Stop", visible=False, size="sm", elem_id=f"{self._name}-stop")
        self._list = html_part(elem_id=f"{self._name}-work")
        self._dismiss = gr.Button("Dismiss what has ended", visible=False, size="sm", elem_id=f"{self._name}-dismiss")
        self.timer = gr.Timer(ASK_S, active=False)
        self.outputs: list[Component] = [self._list, self.stop, self._dismiss, self.timer]

    def wire(self, study: Component, look: Look, outputs: Sequence[Any], also: Sequence[Component] = ()) -> None:
        """Let it refresh a tab's `outputs` by its own `look` at the study, with the values of `also`."""
        bind, inputs = self._context.bind, [study, *also]

        def on_mine(act: Callable[..., None], user: CurrentUser, name: str, *read: Any) -> Mapping[Any, Any]:
            for mine in (name, own(user)) if user.owner else (own(user),):
                act(self._context.work, mine, self._kinds)
            return look(user, name, *read)

        bind(self.timer.tick, look, inputs, outputs, quiet=True)
        bind(self.stop.click, partial(on_mine, LongWork.stop), inputs, outputs)
        bind(self._dismiss.click, partial(on_mine, LongWork.dismiss), inputs, outputs)

    def look(self, user: CurrentUser, study: str) -> dict[Any, Any]:
        found = [work for name in (study, own(user)) for work in self._context.work.of(name, self._kinds)]
        mine = [work for work in found if user.owner or work.study == own(user)]
        return {
            self._list: self._context.html("work.html.j2", works=found, now_us=self._context.clock.now_us()),
            self.stop: gr.update(visible=any(work.running and not work.stopping for work in mine)),
            self._dismiss: gr.update(visible=any(not work.running for work in mine)),
            self.timer: gr.update(active=any(work.running for work in found)),
        }

"""The banner above all tabs: the open alerts that nobody has seen, and the button that marks them as seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.alerts import explained, link, since
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import text
from storage.registers.alerts import Alert, mark_seen, open_alerts

LOOK_S = 15
STALE_S = 600
"""An alert that was not observed for so long is said not to be checked: no server runs."""


class AlertBanner:
    def __init__(self, desk: ConsoleContext) -> None:
        self._desk = desk

    def build(self) -> None:
        with gr.Row(elem_id="alerts", visible=False) as self._row:
            self._list = gr.HTML(elem_id="alerts-list", padding=False, apply_default_css=False)
            self._seen = gr.Button("Mark as seen", elem_id="alerts-seen", size="sm", scale=0)
        self._shown = gr.Textbox(elem_id="alerts-shown", visible="hidden")
        self._timer = gr.Timer(LOOK_S)
        self.outputs: list[Component] = [self._row, self._list, self._shown]
        self._desk.bind(self._timer.tick, self._again, [], self.outputs, quiet=True)
        self._desk.bind(self._seen.click, self._mark, [self._shown], self.outputs)

    def paint(self) -> Mapping[Any, Any]:
        alerts = [alert for alert in open_alerts(self._desk.database) if alert.seen_us is None]
        console = "."  # links within the console
        shown = [(*explained(one), since(one), link(one.key, console), one) for one in alerts]
        html = self._desk.html("alerts.html.j2", shown=shown, stale=self._is_stale)
        return {
            self._row: gr.update(visible=bool(alerts)),
            self._list: html if alerts else "",
            self._shown: " ".join(str(alert.id) for alert in alerts),
        }

    def _is_stale(self, alert: Alert) -> bool:
        return self._desk.clock.now_us() - alert.last_us > STALE_S * 1e6

    def _again(self, visitor: CurrentUser) -> Mapping[Any, Any]:
        return self.paint()

    def _mark(self, visitor: CurrentUser, shown: Any) -> Mapping[Any, Any]:
        """Mark as seen what the user was shown, and not what came after."""
        ids = {int(word) for word in text(shown).split() if word.isascii() and word.isdigit() and len(word) < 10}
        for alert in mark_seen(self._desk.database, ids, visitor.name, self._desk.clock.now_us()):
            self._desk.audit(visitor, "marked an alert as seen", explained(alert)[0])
        return self.paint()

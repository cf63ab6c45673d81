"""Live: who is there now, and how far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.web.console.desk import Desk
from app.web.console.room import At, Place
from app.web.console.visitor import Visitor


class LiveRoom:
    """What happens in a study now."""

    name = "live"
    label = "Live"

    def __init__(self, desk: Desk, place: Place) -> None:
        self._desk = desk
        self._place = place
        self.outputs: list[Component] = []

    def build(self) -> None:
        """Make the room's components."""
        self._now = gr.HTML(elem_id="live", padding=False, apply_default_css=False)
        self.outputs = [self._now]

    def paint(self, visitor: Visitor, at: At) -> Mapping[Component, Any]:
        """Who is there now."""
        return {self._now: f"<p>{at.study}</p>"}

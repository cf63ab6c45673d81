"""What a room of the console is: a tab, what it shows for a study, and what can be done there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gradio as gr
from gradio.components import Component

from app.web.console.current_user import Visitor


def picker(label: str, **options: Any) -> gr.Dropdown:
    """A dropdown whose choices are known only when it is painted. What comes back from the browser is not checked here,
    so whoever reads it must: after a restart Gradio knows no choices of a page that is still open."""
    return gr.Dropdown(choices=[], label=label, interactive=True, allow_custom_value=True, **options)


def text(value: Any) -> str:
    """What came from a browser where a text should be."""
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody is in the console: components whose values are also in the page's address, so that a reload and a
    link lead back. `session` is a session's number, empty for none."""

    study: gr.Dropdown
    tab: gr.Textbox
    session: gr.Textbox


@dataclass(frozen=True, slots=True)
class At:
    """A place in the console as values. They come from a browser: a study may not exist, a session be no number."""

    study: str
    session: str


class Room(Protocol):
    """A tab. It is made with the desk and the place, and `build` is called once, where its components go."""

    name: str
    """In the page's address: `?tab=live`."""
    label: str
    outputs: list[Component]
    """What `paint` may update."""

    def build(self) -> None:
        """Make the components, and wire what can be done with them."""

    def paint(self, visitor: Visitor, at: At) -> Mapping[Component, Any]:
        """What is shown now."""

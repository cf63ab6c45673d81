"""The interface of a console tab: its components, its content for a study, and its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import gradio as gr
from gradio.components import Component

from app.web.console.current_user import CurrentUser


def html_part(shown: str | None = None, **options: Any) -> gr.HTML:
    """A part of the page with HTML of ours, and nothing of Gradio's around it."""
    return gr.HTML(shown, padding=False, apply_default_css=False, **options)


# For `js_on_load` of a list: a click opens the session in this tab; with Ctrl, Cmd or Shift it is an ordinary link.
PICKS = (
    "element.addEventListener('click', (e) => { const row = e.target.closest('[data-session]');"
    " if (!row || e.ctrlKey || e.metaKey || e.shiftKey) return; e.preventDefault();"
    " window.parleyConsole.picked = row.dataset.session; trigger('click'); });"
)


def dropdown(label: str, *, free: bool = False, **options: Any) -> gr.Dropdown:
    """A dropdown whose choices are set when it is painted, the only ones unless it is `free`. Its reader must validate
    it: after a restart Gradio does not know the choices of a page that is still open."""
    return gr.Dropdown(label=label, interactive=True, allow_custom_value=free, **{"choices": [], **options})


def sure_of(one: gr.Dropdown, sure: gr.Checkbox) -> None:
    """Take the tick that confirms a removal away when another thing is chosen to be removed."""
    gr.on([one.change], fn=None, inputs=[], outputs=[sure], js="() => false", api_visibility="private")


def meanwhile(button: gr.Button, part: gr.HTML, words: str) -> None:
    """Show in a part of the page that a button's work has begun, until it is answered."""
    js = f"""() => '<p class="quiet" role="status">{words}…</p>'"""
    gr.on([button.click], fn=None, inputs=[], outputs=[part], js=js, api_visibility="private")


def text(value: Any) -> str:
    """A browser's value as a text; empty if it is something else."""
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class TabLocation:
    """Components whose values are also in the page's address, for reloads and links. `session` is a number, or empty;
    `painted` is the study that the page shows, while another was chosen and is being painted."""

    study: gr.Dropdown
    tab: gr.Textbox
    session: gr.Textbox
    painted: gr.Textbox


@dataclass(frozen=True, slots=True)
class LocationValues:
    """A position in the console from a browser: the study may not exist, the session may not be a number."""

    study: str
    session: str


class Tab(Protocol):
    """A tab. It is created with the context and the position; `build` is called once, inside its place in the page."""

    name: str
    label: str
    outputs: list[Component]

    def build(self) -> None: ...

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Component, Any]: ...

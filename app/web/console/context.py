"""The desk: what every room of the console works with, and how its events are wired.

An event runs on Gradio's direct route (no queue, so no polling and no heartbeat), and only for who is logged in: the
gate says who asks. What a room's function raises of our errors is shown as a note; nothing is lost by it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import gradio as gr
from gradio.components import Component
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.clock import Clock
from app.config.settings import Settings
from app.errors import NotAllowed
from app.session.service import Sessions
from app.studies.drafts import Drafts
from app.web.console import formatting
from app.web.console.current_user import VISITOR, Visitor
from app.web.console.downloads import Downloads
from app.web.rendering import markdown
from experiments.study.resolve import Study
from problems.errors import ParleyError
from storage.accounts.accounts import Accounts
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.participants import Participants

log = logging.getLogger(__name__)
TEMPLATES = Path(__file__).parent / "templates"
Act = Callable[..., Mapping[Any, Any]]


class Desk:
    """What the rooms share: the database, the clock, the accounts, and the page's note."""

    def __init__(self, settings: Settings, database: Database, secret: str, clock: Clock, accounts: Accounts) -> None:
        self.settings = settings
        self.database = database
        self.secret = secret
        self.clock = clock
        self.accounts = accounts
        self.sessions = Sessions(database, clock)
        self.studies = self.sessions.studies
        self.drafts = Drafts(settings.studies_dir)
        self.participants = Participants(database, secret)
        self.downloads = Downloads(secret, clock)
        self.note = gr.HTML(elem_id="note", padding=False, apply_default_css=False, render=False)

    def names(self) -> list[str]:
        """The studies there are: those that the database knows, and those that are being written."""
        return sorted({*self.studies.names(), *self.drafts.names()})

    def study(self, name: str) -> Study | None:
        """What who begins a study now gets; None where there is only a draft of it, or imported sessions."""
        try:
            return self.studies.newest(name)
        except StorageError:
            return None

    def did(self, visitor: Visitor, what: str, about: str = "") -> None:
        """Write down what somebody did or looked at."""
        self.accounts.did(visitor.name, what, about)

    def say(self, text: str, kind: Literal["good", "warn", "bad"] = "good") -> dict[Component, Any]:
        """An update that shows a note."""
        return {self.note: _note(text, kind)}

    def html(self, template: str, **values: Any) -> str:
        """A template of the console, with these values."""
        return _TEMPLATES.get_template(template).render(values)

    def on(
        self,
        triggers: Any,
        act: Act,
        inputs: Sequence[Component] = (),
        outputs: Sequence[Any] = (),
        *,
        owner: bool = False,
        js: str | None = None,
        quiet: bool = False,
    ) -> None:
        """Let an event, or each of several, run `act(visitor, *values)`, which gives updates by component.

        A `quiet` one, which nobody asked for, leaves the note where it is.
        """

        def handle(request: gr.Request, *values: Any) -> dict[Any, Any]:
            asked = request.request
            assert asked is not None  # noqa: S101  (there is one wherever an event comes from a page)
            visitor: Visitor = asked.scope[VISITOR]
            try:
                if owner and not visitor.owner:
                    raise NotAllowed("Only owners may do this. Ask one of them, or have your role changed.")
                return {self.note: gr.skip() if quiet else "", **act(visitor, *values)}
            except ParleyError as error:
                log.info("%s: %s", visitor.name, error)
                return self.say(str(error), "bad")

        gr.on(
            triggers=triggers if isinstance(triggers, list) else [triggers],
            fn=handle,
            inputs=list(inputs),
            outputs=[*outputs, self.note],
            js=js,
            queue=False,
            show_progress="hidden",
            trigger_mode="always_last",
            concurrency_limit=None,
            api_visibility="private",
        )


def _note(text: str, kind: str) -> str:
    role = "alert" if kind == "bad" else "status"
    return f'<div class="note {kind}" role="{role}">{escape(text)}</div>'


def _markdown(text: str) -> Markup:
    return Markup(markdown.html(text, images=False))  # noqa: S704  (markdown.py lets no tag of an author through)


def _line(text: str) -> Markup:
    return Markup(markdown.line(text))  # noqa: S704  (as above)


_TEMPLATES = Environment(
    loader=FileSystemLoader(TEMPLATES),
    auto_reload=False,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "markdown": _markdown,
    "line": _line,
    "when": formatting.when,
    "duration": formatting.duration,
    "number": formatting.number,
    "figure": formatting.figure,
    "percent": formatting.percent,
}

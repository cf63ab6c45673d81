"""The context that all console tabs share, and how their events are wired.

Events use Gradio's direct route (no queue, so no polling and no heartbeat), and only for logged-in users, whom the gate
identifies. If a tab's function raises one of our errors, its message is shown as a note and nothing else changes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from app.clock import Clock
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from app.errors import NotAllowed
from app.extension import extensions
from app.rendering import markdown
from app.session.service import Sessions
from app.studies.drafts import Drafts
from app.use_cases.tables import money
from app.web.console import formatting
from app.web.console.current_user import VISITOR, CurrentUser
from app.web.console.downloads import Downloads
from app.web.console.long_work import LongWork
from app.web.console.tab import html_part
from experiments.plural import count as how_many
from experiments.session.outcomes import status_label
from experiments.study.study import Study
from problems.errors import ParleyError
from storage.accounts.accounts import Accounts
from storage.db.engine import Database
from storage.errors import StorageError
from storage.registers.participants import Participants

log = logging.getLogger(__name__)
TEMPLATES = Path(__file__).parent / "templates"
SHUT = "(...sent) => { window.parleyConsole.shut(%s); return (%s)(...sent); }"
OPEN = "() => { window.parleyConsole.open(); return []; }"
Act = Callable[..., Mapping[Any, Any]]
OWNERS_ONLY = "Only owners may do this. Ask an owner to do it or to change your role."


class ConsoleContext:
    def __init__(self, settings: Settings, database: Database, secret: str, clock: Clock, accounts: Accounts) -> None:
        self.settings = with_saved_servers(settings, database)
        self.database = database
        self.secret = secret
        self.clock = clock
        self.accounts = accounts
        self.sessions = Sessions(database, clock)
        self.studies = self.sessions.studies
        self.drafts = Drafts(settings.studies_dir)
        self.participants = Participants(database, secret)
        self.downloads = Downloads(clock)
        self.work = LongWork(clock)
        self.note = html_part(elem_id="note", render=False)

    async def close(self) -> None:
        self.stop()
        await self.sessions.close()

    def stop(self) -> None:
        """End what threads of the console do, and delete their files."""
        self.work.close()
        self.downloads.close()

    def names(self) -> list[str]:
        return sorted({*self.studies.names(), *self.drafts.names()})

    def study(self, name: str) -> Study | None:
        """The current version of a study; None if there is only a draft, or only imported sessions."""
        try:
            return self.studies.newest(name)
        except StorageError:
            return None

    def audit(self, user: CurrentUser, what: str, about: str = "") -> None:
        self.accounts.audit_log.record(user.name, what, about)

    def notify(self, text: str, kind: Literal["good", "warn", "bad"] = "good") -> dict[Component, Any]:
        return {self.note: _note(text, kind)}

    def html(self, template: str, **values: Any) -> str:
        return _TEMPLATES.get_template(template).render(values)

    def guarded(self, what: str, place: Component, paint: Callable[[], Mapping[Any, Any]]) -> Mapping[Any, Any]:
        """Return the updates of `paint`; if it fails, `place` shows the error, and the rest of the page works."""
        try:
            return paint()
        except Exception as error:  # a named edge: a part may be an extension's, and must not empty the others
            reference = token_hex(4)
            log.exception("failed to show the part %s of the console, reference %s", what, reference)
            why = str(error) if isinstance(error, ParleyError) else ""
            return {place: self.html("fault.html.j2", label=what, why=why, reference=reference)}

    def bind(
        self,
        triggers: Any,
        act: Act,
        inputs: Sequence[Component] = (),
        outputs: Sequence[Any] = (),
        *,
        owner: bool = False,
        js: str | None = None,
        quiet: bool = False,
        shuts: str | None = None,
    ) -> Dependency:
        """Wire events to `act(visitor, *values)`, which returns updates by component. What a button does is not done
        again while it is under way; other events are sent again once they were answered, as the last choice counts. A
        `quiet` event, such as a timer's, leaves the current note. An event that sets what a person fills in `shuts`
        parts of the page until it was answered, as the answer would undo what is done there: the arguments for `shut`
        in console.js, where `sent` are the inputs' values."""

        def handle(request: gr.Request, *values: Any) -> dict[Any, Any]:
            http_request = request.request
            assert http_request is not None  # noqa: S101  (every event from a page has a request)
            user: CurrentUser = http_request.scope[VISITOR]
            try:
                if owner and not user.owner:
                    raise NotAllowed(OWNERS_ONLY)
                return {self.note: gr.skip() if quiet else "", **act(user, *values)}
            except ParleyError as error:
                log.info("%s: %s", user.name, error)
                return self.notify(str(error), "bad")

        triggers = triggers if isinstance(triggers, list) else [triggers]
        event: Dependency = gr.on(
            triggers=triggers,
            fn=handle,
            inputs=list(inputs),
            outputs=[*outputs, self.note],
            js=SHUT % (shuts, js or "(...sent) => sent") if shuts else js,
            queue=False,
            show_progress="hidden",
            preprocess=False,  # values are as EventValidation let them through; Gradio would compare them with choices
            trigger_mode="once" if any(map(_is_button, triggers)) else "always_last",
            concurrency_limit=None,
            api_visibility="private",
        )
        if shuts:
            event.then(None, js=OPEN, api_visibility="private")
        return event


def _is_button(trigger: Any) -> bool:
    """True for the event of a button that people press. The page presses the hidden ones: each time counts."""
    component = getattr(trigger, "__self__", None)
    return isinstance(component, gr.Button) and component.visible != "hidden"


def _note(text: str, kind: str) -> str:
    role = "alert" if kind == "bad" else "status"
    return f'<div class="note {kind}" role="{role}">{_coded(text)}</div>'


def _coded(text: object) -> Markup:
    """An error or a hint, with the parts between backticks as code."""
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(str(text)))))  # noqa: S704  (escaped before)


def _path(text: str) -> Markup:
    """A step's path, which may break after each slash."""
    return Markup("/<wbr>").join(text.split("/"))


def _step(path: str, title: str = "") -> Markup:
    """A step in words, with the parts around it; its path shows on hovering."""
    name, around = formatting.step_label(path, title)
    words = Markup('<span title="{}">{}</span>').format(path, name)
    return words + Markup(' <span class="quiet">{}</span>').format(around) if around else words


def _line(text: str) -> Markup:
    return Markup(markdown.line(text))  # noqa: S704  (markdown.py escapes what a text has of HTML)


_TEMPLATES = Environment(
    loader=FileSystemLoader([TEMPLATES, *(one.templates for one in extensions() if one.templates)]),
    auto_reload=False,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "coded": _coded,
    "line": _line,
    "when": formatting.format_time,
    "duration": formatting.duration,
    "number": formatting.number,
    "count": how_many,
    "figure": formatting.format_number,
    "percent": formatting.percent,
    "status": status_label,
    "origin": formatting.origin,
    "path": _path,
    "step": _step,
    "money": money,
}

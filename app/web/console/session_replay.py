"""The replay: a participant's page after a given event, rendered as they saw it but inert, and a slider between events.

It is a document of its own in a sandboxed frame: no script runs, no form is sent, nothing is loaded, and whatever a
text does to its page stays in the frame. Styles and pictures are inlined, because the gate serves none to a frame
without an origin.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any

import gradio as gr
from gradio.components import Component
from markupsafe import Markup

from app.session.transitions import LoadedSession
from app.web import bundle
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.tab import TabLocation, html_part
from app.web.console.text_rendering import BudgetedRenderer
from app.web.participant.page import STYLES
from app.web.participant.view import StudyContext, render_page, study_context_of
from experiments.events import NOTES, Event
from experiments.session.engine import screen
from experiments.study.screen import CodeBlock, NextPartBlock, Screen
from experiments.study.study import Study
from experiments.views.answers import as_sent, given_by
from experiments.views.transcript import PAGES, state_at, timeline
from storage.registers.session_pictures import session_picture
from storage.registers.studies import StoredPicture
from storage.reports.sessions import SessionRecord

FONTS = re.compile(r"@font-face \{[^}]*\}")
# The address of a picture as `app.rendering.markdown` writes it, or the page that of one that was attached.
PICTURE = re.compile(r'(?<=<img src=")(?:picture|attached)/([0-9a-f]{64})(?=")')
PARTS = ("head", "left", "talk", "chat", "side")
RATED = "rated"
# Removed, because a sandboxed frame refuses it and reports an error.
FOCUS = " autofocus>"
MOST_EVENTS = 100_000
Updates = Mapping[Component, Any]


class SessionReplay:
    """The page at a moment of the session that `read` finds by its study and number, with a slider to move it."""

    def __init__(
        self, context: ConsoleContext, location: TabLocation, read: Callable[[str, str], SessionRecord]
    ) -> None:
        self._context, self._location, self._read = context, location, read

    def build(self) -> None:
        about: dict[str, Any] = {"label": "Event", "elem_id": "session-moment", "visible": False}
        self._slider = gr.Slider(1, MOST_EVENTS, value=1, step=1, buttons=[], interactive=True, **about)
        with gr.Row(visible=False, elem_classes="actions") as self._steps:
            previous = gr.Button("Previous event", size="sm", elem_id="session-previous")
            following = gr.Button("Next event", size="sm", elem_id="session-following")
        self._page = html_part(elem_id="session-page")
        self.outputs: list[Any] = [self._slider, self._steps, self._page]
        here = [self._location.study, self._location.session, self._slider]
        for moved, by in ((self._slider.input, 0), (previous.click, -1), (following.click, 1)):
            self._context.bind(moved, partial(self._move, by), here, [self._slider, self._page], quiet=True)

    def show(self, session: SessionRecord) -> Updates:
        count = len(session.events)
        return {
            self._slider: gr.update(maximum=max(2, count), value=1, visible=count > 1),
            self._steps: gr.update(visible=count > 1),
            self._page: replay(self._context, session, 1),
        }

    def nothing(self, page: str = "") -> Updates:
        return {**dict.fromkeys((self._slider, self._steps), gr.update(visible=False)), self._page: page}

    def _move(self, by: int, _: CurrentUser, study: str, number: str, moment: Any) -> Updates:
        session = self._read(study, number)
        if session.study is None:
            return {}
        sent = round(min(moment, MOST_EVENTS)) if isinstance(moment, int | float) else None
        there = min(max((sent or 1) + by, 1), len(session.events))
        # Gradio sends whatever is typed beside a slider; what is empty yet stays so.
        moved = gr.skip() if sent in (None, there) else there
        return {self._page: replay(self._context, session, there), self._slider: moved}


def replay(context: ConsoleContext, session: SessionRecord, number: int) -> str:
    """The page after the given number of events. What was chosen there and sent later is not known to be there yet."""
    assert session.study is not None  # noqa: S101  (an imported session has no pages)
    events, study = session.events, session.study
    moment = timeline(study, events)[number - 1]
    seen = _seen(study, events, number)
    document = _document(context, session.entry.stream, study, events, seen, number)
    values = {"moment": moment, "count": len(events), "document": document, "number": session.entry.number}
    values |= {"between": seen != number}
    return context.html("replay.html.j2", **values)


def _seen(study: Study, events: Sequence[Event], number: int) -> int:
    """After how many events the page was the one that was seen after this number. Between two pages, where something
    is drawn, assigned or asked for, the one before is still there."""
    for seen in chain(range(number, 0, -1), range(number + 1, len(events) + 1)):
        panel = screen(study, state_at(events, seen)).panel
        if panel.blocks or panel.fields or panel.chat:
            return seen
    return number


def _document(
    context: ConsoleContext, stream: str, study: Study, events: Sequence[Event], seen: int, number: int
) -> str:
    state = state_at(events, seen)
    look = study_context_of(LoadedSession(stream, study, state))
    reading = BudgetedRenderer(dollars=look.dollar_maths)
    shown = reading.screen(_harmless(screen(study, state)))
    draft = _submitted_values(shown, events[seen:number])

    def picture(sha256: str) -> StoredPicture | None:
        return context.studies.picture(sha256) or session_picture(context.database, sha256, stream)

    return inert_page(context, shown, look, draft, events[seen - 1].at_us, picture)


def inert_page(
    context: ConsoleContext,
    screen: Screen,
    study_context: StudyContext,
    draft: Mapping[str, Any],
    now_us: int,
    picture: Callable[[str], StoredPicture | None],
) -> str:
    """A participant's page for a sandboxed frame, with these values in its form. `picture` finds one by its SHA-256."""
    painting = render_page(screen, study=study_context, shown=None, draft=draft, now_us=now_us)
    inlined = {name: _inlined(picture, str(painting["updates"][name]["value"]).replace(FOCUS, ">")) for name in PARTS}
    parts = {name: Markup(html) for name, html in inlined.items()}  # noqa: S704  (paint.py's templates escaped it)
    values = {
        "parts": parts,
        "painting": painting,
        "chat": screen.panel.chat,
        "look": study_context,
        "styles": _styles(),
    }
    return context.html("replayed.html.j2", **values)


def _inlined(picture: Callable[[str], StoredPicture | None], html: str) -> str:
    def uri(match: re.Match[str]) -> str:
        found = picture(match[1])
        return f"data:{found.type};base64,{base64.b64encode(found.content).decode()}" if found else match[0]

    return PICTURE.sub(uri, html)


@cache
def _styles() -> Markup:
    """The styles of the participants' page without the font that they load."""
    return Markup(FONTS.sub("", bundle.styles(STYLES)))  # noqa: S704  (files of ours)


def _submitted_values(screen: Screen, events: Sequence[Event]) -> Mapping[str, Any]:
    """The form values that were sent from this page by these events, while the next page was not there yet."""
    sent = next((event for event in events if event.kind not in NOTES), None)
    if sent is None or sent.path != screen.path:
        return {}
    if sent.kind == RATED and screen.panel.chat is not None:
        return as_sent(screen.panel.chat.rating, sent.data)
    return as_sent(screen.panel.fields, given_by(sent)) if sent.kind in PAGES else {}


def _harmless(screen: Screen) -> Screen:
    kept = (block for block in screen.panel.blocks if not isinstance(block, NextPartBlock))
    blocks = (replace(block, url="") if isinstance(block, CodeBlock) else block for block in kept)
    return replace(screen, panel=replace(screen.panel, blocks=tuple(blocks)))

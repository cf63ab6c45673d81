"""The player of a replay: one event after another, in the pace in which they happened, with long pauses cut short."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from gradio.components import Component

from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.session_replay import replay
from app.web.console.tab import TabLocation
from experiments.events import Event
from storage.errors import StorageError
from storage.reports.sessions import SessionRecord

PLAY, PAUSE = "▶ Play", "❚❚ Pause"
SPEEDS = {"1×": 1.0, "4×": 4.0, "16×": 16.0}
AT_FIRST = "4×"
SHORTEST_S, LONGEST_S = 0.6, 4.0
"""For how long a moment is shown at least, and at most."""
MOST_EVENTS = 100_000
Updates = Mapping[Component, Any]
Read = Callable[[str, str], SessionRecord]


class ReplayPlayer:
    """The page at a moment of a session, with a slider and a button that plays from there."""

    def __init__(self, desk: ConsoleContext, place: TabLocation, read: Read) -> None:
        self._desk, self._place, self._read = desk, place, read

    def build(self) -> None:
        with gr.Row(elem_id="session-player", visible=False) as self._row:
            self._play = gr.Button(PLAY, elem_id="session-play", size="sm", scale=0)
            self._speed = gr.Radio([*SPEEDS], value=AT_FIRST, label="Speed", elem_id="session-speed", scale=0)
            about: dict[str, Any] = {"label": "Event", "elem_id": "session-moment"}
            self._slider = gr.Slider(1, MOST_EVENTS, value=1, step=1, buttons=[], interactive=True, **about)
        self._page = gr.HTML(elem_id="session-page", padding=False, apply_default_css=False)
        self._timer = gr.Timer(LONGEST_S, active=False)
        self.outputs: list[Component] = [self._row, self._play, self._slider, self._page, self._timer]
        here, on, playing = [self._place.study, self._place.session], self._desk.bind, [self._slider, self._speed]
        on(self._slider.input, self._move, [*here, self._slider], self.outputs, quiet=True)
        on(self._play.click, self._press, [*here, self._play, *playing], self.outputs)
        on(self._timer.tick, self._next, [self._place.tab, *here, *playing], self.outputs, quiet=True)

    def show(self, session: SessionRecord) -> Updates:
        count = len(session.events)
        slider = gr.update(maximum=max(2, count), value=count)
        return {
            **self._still(),
            self._row: gr.update(visible=count > 1),
            **self._at(session, count),
            self._slider: slider,
        }

    def nothing(self, page: str = "") -> Updates:
        return {**self._still(), self._row: gr.update(visible=False), self._page: page, self._slider: gr.skip()}

    def _still(self) -> dict[Component, Any]:
        return {self._play: gr.update(value=PLAY), self._timer: gr.update(active=False)}

    def _at(self, session: SessionRecord, number: int) -> dict[Component, Any]:
        return {self._slider: number, self._page: replay(self._desk, session, number)}

    def _move(self, _: CurrentUser, study: str, number: str, moment: Any) -> Updates:
        """Somebody moved the slider, which stops playing."""
        session = self._read(study, number)
        if session.study is None:
            return self.nothing()
        return {**self._still(), self._page: replay(self._desk, session, _moment(moment))}

    def _press(self, _: CurrentUser, study: str, number: str, label: Any, moment: Any, speed: Any) -> Updates:
        """Play from the moment that is shown, from the first one after the end; or pause."""
        session = self._read(study, number)
        if label == PAUSE or session.study is None:
            return self._still()
        here = _moment(moment)
        return self._playing(session, here if here < len(session.events) else 1, speed)

    def _next(self, _: CurrentUser, tab: str, study: str, number: str, moment: Any, speed: Any) -> Updates:
        """The next moment; playing ends with the session, or when another tab is opened."""
        try:
            session = self._read(study, number)
        except StorageError:
            return self._still()
        if tab != "sessions" or session.study is None:
            return self._still()
        return self._playing(session, _moment(moment) + 1, speed)

    def _playing(self, session: SessionRecord, here: int, speed: Any) -> Updates:
        if here >= len(session.events):
            return {**self._still(), **self._at(session, len(session.events))}
        shown_s = seconds_shown(session.events, here, SPEEDS.get(speed, SPEEDS[AT_FIRST]))
        going = {self._play: gr.update(value=PAUSE), self._timer: gr.update(value=shown_s, active=True)}
        return {**self._at(session, here), **going}


def seconds_shown(events: Sequence[Event], number: int, speed: float) -> float:
    """How long the page after the given number of events is shown: until the next event, within limits."""
    gap_s = (events[number].at_us - events[number - 1].at_us) / 1e6
    return min(max(gap_s / speed, SHORTEST_S), LONGEST_S)


def _moment(sent: Any) -> int:
    """The number of events before the moment that a browser sent; at least 1."""
    return max(1, round(sent)) if isinstance(sent, int | float) and sent < MOST_EVENTS else 1

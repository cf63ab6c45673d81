"""The console's page: a bar with the study picker, and the tabs.

The open tab paints what is shown for a study: when the page loads, when the study or the tab changes, and every few
seconds where the tab refreshes itself. The page's address holds the study, the tab and the session (console.js).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import Component
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from app.alerts import explained, is_settled, link, since
from app.extension import extensions
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.event_validation import EventValidation
from app.web.console.security import MOST_BODY
from app.web.console.tab import LocationValues, Tab, TabLocation, dropdown, html_part, text
from app.web.console.tabs import tab_kinds
from app.web.gradio_page import gradio_page, whole
from experiments.study.schema import json_schema
from storage.registers.alerts import Alert, mark_seen, open_alerts

LOOK_S = 15
# An alert that was not observed for so long is said not to be checked: no server runs.
STALE_S = 600


class AlertBanner:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def build(self) -> None:
        with gr.Row(elem_id="alerts", visible=False) as self._row:
            self._list = html_part(elem_id="alerts-list")
            self._seen = gr.Button("Mark as seen", elem_id="alerts-seen", size="sm", scale=0)
        self._shown = gr.Textbox(elem_id="alerts-shown", visible="hidden")
        self._timer = gr.Timer(LOOK_S)
        self.outputs: list[Component] = [self._row, self._list, self._shown]
        self._context.bind(self._timer.tick, self._again, [], self.outputs, quiet=True)
        self._context.bind(self._seen.click, self._mark, [self._shown], self.outputs)

    def paint(self) -> Mapping[Any, Any]:
        return {self._row: gr.update(visible=True), **self._context.guarded("Alerts", self._list, self._painted)}

    def _painted(self) -> Mapping[Any, Any]:
        database, now_us = self._context.database, self._context.clock.now_us()
        unseen = (alert for alert in open_alerts(database) if alert.seen_us is None)
        alerts = [alert for alert in unseen if not is_settled(database, alert, now_us)]
        console = "."  # links within the console
        shown = [(*explained(one), since(one), link(one.key, console), one) for one in alerts]
        html = self._context.html("alerts.html.j2", shown=shown, stale=self._is_stale)
        return {
            self._row: gr.update(visible=bool(alerts)),
            self._list: html if alerts else "",
            self._shown: " ".join(str(alert.id) for alert in alerts),
        }

    def _is_stale(self, alert: Alert) -> bool:
        return self._context.clock.now_us() - alert.last_us > STALE_S * 1e6

    def _again(self, user: CurrentUser) -> Mapping[Any, Any]:
        return self.paint()

    def _mark(self, user: CurrentUser, shown: Any) -> Mapping[Any, Any]:
        """Mark the alerts shown to the user as seen, and no later ones."""
        ids = {int(word) for word in text(shown).split() if word.isascii() and word.isdigit() and len(word) < 10}
        for alert in mark_seen(self._context.database, ids, user.name, self._context.clock.now_us()):
            self._context.audit(user, "marked an alert as seen", explained(alert)[0])
        return self.paint()


class GuardedTab:
    """A tab that shows an error in place of data that cannot be read."""

    def __init__(self, context: ConsoleContext, tab: Tab) -> None:
        self._context, self._tab = context, tab
        self.name, self.label = tab.name, tab.label
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._fault = html_part(elem_id=f"fault-{self.name}", elem_classes="tab-fault")
        self._tab.build()
        self.outputs = [self._fault, *self._tab.outputs]

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Component, Any]:
        return {
            self._fault: "",
            **self._context.guarded(self.label, self._fault, lambda: self._tab.paint(user, location)),
        }


STATIC = Path(__file__).parent / "static"
# Shared with the participants' page: the styles of texts, and the button that copies code.
SHARED = STATIC.parents[1] / "static"
TABS, PANELS = "'#rooms'", "'#rooms > [role=tabpanel]'"
READ_PLACE = "() => window.parleyConsole.place()"
KEEP_PLACE = "(study, tab, session) => { window.parleyConsole.keep(study, tab, session); return []; }"


def routes(context: ConsoleContext) -> list[BaseRoute]:
    """The page at `/`, and its scripts and styles under `/console/` and `/parley/`; they must be a list's last."""
    blocks = build(context)
    page = Mount(
        "/",
        gradio_page(blocks, head(), context.settings.console_sub_path),
        middleware=[Middleware(EventValidation, blocks=blocks)],
    )
    return [
        Route("/console/study.schema.json", _schema, methods=["GET", "HEAD"]),
        *(Route(f"/console/{path.name}", partial(_style, path)) for path in _styles_of_extensions()),
        Mount("/console", StaticFiles(directory=STATIC)),
        Mount("/parley", StaticFiles(directory=SHARED)),
        page,
    ]


def _schema(_: Request) -> Response:
    return JSONResponse(json_schema("study"))


def _styles_of_extensions() -> list[Path]:
    return [path for one in extensions() if one.styles for path in one.styles.glob("*.css")]


async def _style(path: Path, _: Request) -> Response:
    return FileResponse(path)


def head() -> str:
    first = ("console",)
    others = {path.stem for path in (*STATIC.glob("*.css"), *_styles_of_extensions())}
    names = [*first, *sorted(others.difference(first))]
    styles = "".join(f'<link rel="stylesheet" href="console/{name}.css">' for name in names)
    styles += '<link rel="stylesheet" href="parley/text.css">'
    script = '<script type="module" src="console/console.js"></script>'
    return f'<meta name="robots" content="noindex"><meta name="largest" content="{MOST_BODY}">{whole()}{styles}{script}'


def build(context: ConsoleContext) -> gr.Blocks:
    blocks: gr.Blocks
    with gr.Blocks(title="Parley console", analytics_enabled=False, fill_width=True) as blocks:
        with gr.Row(elem_id="bar"):
            gr.HTML('<h1><span aria-hidden="true">◗</span> Parley</h1>', elem_id="brand", padding=False)
            study = dropdown(label="Study", elem_id="study", container=False, scale=0)
            who = html_part(elem_id="who")
        tab = gr.Textbox(elem_id="tab", visible="hidden")
        session = gr.Textbox(elem_id="session", visible="hidden")
        place = TabLocation(study, tab, session, gr.Textbox(elem_id="painted", visible="hidden"))
        banner = AlertBanner(context)
        banner.build()
        context.note.render()  # type: ignore[no-untyped-call]
        clear = gr.Button(visible="hidden", elem_id="note-clear")
        gr.on([clear.click], fn=None, outputs=[context.note], js="() => ''", api_visibility="private")
        rooms = [GuardedTab(context, kind(context, place)) for kind in tab_kinds()]
        tabs = _tabs(context, place, rooms)
        _wire(blocks, context, place, rooms, tabs, who, banner)
    return blocks


def _tabs(context: ConsoleContext, location: TabLocation, all_tabs: Sequence[Tab]) -> gr.Tabs:
    tabs: gr.Tabs
    with gr.Tabs(elem_id="rooms") as tabs:
        for room in all_tabs:
            with gr.Tab(room.label, id=room.name, elem_id=f"room-{room.name}") as tab:
                room.build()
            context.bind(
                tab.select,
                partial(_enter, context, room, location),
                [location.study, location.tab, location.session],
                [location.tab, *room.outputs],
                shuts=f"sent[1] && sent[1] !== '{room.name}' ? {PANELS} : ''",
            )
    return tabs


def _enter(
    context: ConsoleContext, entered_tab: Tab, location: TabLocation, user: CurrentUser, *at: str
) -> Mapping[Component, Any]:
    study, tab, session = at
    if tab in ("", entered_tab.name):
        # Gradio sends this for the first tab before the page loads, and for the tab that loading has painted
        return {context.note: gr.skip()}
    return {location.tab: entered_tab.name, **entered_tab.paint(user, LocationValues(study or "", session or ""))}


def _wire(
    blocks: gr.Blocks,
    context: ConsoleContext,
    location: TabLocation,
    all_tabs: Sequence[Tab],
    tabs: gr.Tabs,
    who: gr.HTML,
    banner: AlertBanner,
) -> None:
    named = {room.name: room for room in all_tabs}
    outputs = [location.painted, *(component for room in all_tabs for component in room.outputs)]
    inputs = [location.study, location.tab, location.session]

    def paint(user: CurrentUser, study: str, tab: str, session: str) -> Mapping[Component, Any]:
        room = named.get(tab, all_tabs[0])
        return {location.painted: study or "", **room.paint(user, LocationValues(study or "", session or ""))}

    def choose(user: CurrentUser, study: str, tab: str, session: str, painted: str) -> Mapping[Component, Any]:
        if (study or "") == painted:
            # Gradio also sends this whenever the focus leaves the picker; to paint would undo what a person has begun
            return {context.note: gr.skip()}
        # Its session of the same number would come up, which nobody chose.
        return {location.session: "", **paint(user, study, tab, "")}

    def load(user: CurrentUser, study: str, tab: str, session: str) -> Mapping[Any, Any]:
        def pick() -> Mapping[Any, Any]:
            nonlocal study
            names = context.names()
            study = study if study in names else next(iter(names), "")
            return {location.study: gr.update(choices=names, value=study or None)}

        picker, tab = context.guarded("Studies", context.note, pick), tab if tab in named else all_tabs[0].name
        return {
            **picker,
            location.tab: tab,
            location.session: session,
            tabs: gr.update(selected=tab),
            who: context.html("who.html.j2", visitor=user),
            **banner.paint(),
            **paint(user, study, tab, session),
        }

    context.bind(blocks.load, load, inputs, [*inputs, tabs, who, *banner.outputs, *outputs], js=READ_PLACE, shuts=TABS)
    shuts = f"(sent[0] ?? '') === sent[3] ? '' : {PANELS}"
    context.bind(location.study.input, choose, [*inputs, location.painted], [location.session, *outputs], shuts=shuts)
    changes = [one.change for one in inputs]  # type: ignore[attr-defined]  # Gradio adds its events when it runs
    gr.on(changes, fn=None, inputs=inputs, outputs=[], js=KEEP_PLACE, api_visibility="private")

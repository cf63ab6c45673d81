"""Live: who is there now and stuck, whether it is balanced, and what the models do; it looks again by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.web.console.charts import over_time
from app.web.console.context import Desk
from app.web.console.current_user import Visitor
from app.web.console.formatting import WHOSE
from app.web.console.tab import At, Place, picker
from experiments.session.outcomes import OUTCOMES
from experiments.study.cells import cells
from experiments.study.resolve import Study
from storage.errors import StorageError
from storage.log.seats import cell_key
from storage.registers.origins import Origin
from storage.registers.study_status import decide_on, operations_of
from storage.reports.monitoring import Watched, Watching
from storage.reports.monitoring.sessions import first_origin

ORIGINS = (Origin.PERSON, Origin.PILOT, Origin.BOT)
"""Whose sessions can be watched: none that was imported."""
LOOK_S = 5
MOST_CELLS = 60
"""A study with more cells than that is steered by its factors' values alone."""
SHUTS = "Nobody new begins where {where}; who has begun goes on."
HOLDS = "At most {most} shall complete or take part where {where}."
LIFTS = "As many as come can begin where {where}."


class LiveRoom:
    """What happens in a study now."""

    name = "live"
    label = "Live"

    def __init__(self, desk: Desk, place: Place) -> None:
        self._desk = desk
        self._place = place
        self._watching = Watching(desk.database)
        self.outputs: list[Component] = []

    def build(self) -> None:
        """Make the room's components."""
        self._origin = gr.Radio(
            label="Whose sessions",
            choices=[(WHOSE[name], name) for name in ORIGINS],
            value=Origin.PERSON,
            elem_id="live-origin",
            container=False,
        )
        self._head = gr.HTML(elem_id="live-head", padding=False, apply_default_css=False)
        with gr.Row(elem_id="live-charts"):
            self._rate, self._sum = (
                gr.Plot(elem_id=f"live-{name}", show_label=False, container=False, visible=False)
                for name in ("rate", "sum")
            )
        self._body = gr.HTML(elem_id="live-body", padding=False, apply_default_css=False)
        with gr.Row(elem_id="live-cap", visible=False) as self._cap:
            self._cell = picker(label="Let fewer begin where", elem_id="live-cell")
            self._most = gr.Number(
                label="At most (0 for nobody new, empty for no limit)", value=0, precision=0, elem_id="live-most"
            )
            self._set = gr.Button("Set", elem_id="live-set", scale=0)
        self._timer = gr.Timer(LOOK_S, active=False)
        painted = [self._head, self._rate, self._sum, self._body]
        self.outputs = [self._origin, *painted, self._cap, self._cell, self._timer]
        self._wire()

    def _wire(self) -> None:
        now = [self._head, self._rate, self._sum, self._body]
        study = self._place.study
        self._desk.on(self._origin.input, self._choose, [study, self._origin], now)
        asked = [study, self._place.tab, self._origin]
        self._desk.on(self._timer.tick, self._again, asked, [*now, self._timer], quiet=True)
        decided = [study, self._origin, self._cell, self._most]
        self._desk.on(self._set.click, self._limit, decided, now, owner=True)

    def paint(self, visitor: Visitor, at: At) -> Mapping[Component, Any]:
        """People's sessions, or those of whoever has been there."""
        study = self._desk.study(at.study)
        if study is None:
            hidden = dict.fromkeys([self._rate, self._sum, self._cap], gr.update(visible=False))
            none = self._desk.html("live_none.html.j2", name=at.study)
            return {self._head: none, self._body: "", self._timer: gr.update(active=False), **hidden}
        origin = _origin_of(self._desk, study)
        choices = list(_choices(study))
        return {
            self._origin: origin,
            self._cap: gr.update(visible=visitor.owner and bool(choices)),
            self._cell: gr.update(choices=choices, value=None),
            self._timer: gr.update(active=True),
            **self._now(study, origin),
        }

    def _choose(self, visitor: Visitor, study: str, origin: Any) -> Mapping[Component, Any]:
        return self._now(self._desk.studies.newest(str(study)), _known(origin))

    def _again(self, visitor: Visitor, study: str, tab: str, origin: Any) -> Mapping[Component, Any]:
        """Refresh the tab while it is open; in another one nothing is refreshed."""
        return self._choose(visitor, study, origin) if tab == self.name else {self._timer: gr.update(active=False)}

    def _now(self, study: Study, origin: str) -> dict[Component, Any]:
        seen = self._watching.look(study, origin, self._desk.clock.now_us())
        values = {"seen": seen, "study": study, "outcomes": _outcomes(seen), "cell_key": cell_key}
        rate, total = over_time(seen.over_time) if seen.over_time else (None, None)
        return {
            self._head: self._desk.html("live_head.html.j2", **values),
            self._rate: gr.update(value=rate, visible=rate is not None),
            self._sum: gr.update(value=total, visible=total is not None),
            self._body: self._desk.html("live.html.j2", **values),
        }

    def _limit(self, visitor: Visitor, study: str, origin: Any, cell: Any, most: Any) -> Mapping[Component, Any]:
        """Say how many are wanted in a cell."""
        found = self._desk.studies.newest(str(study))
        where = where_of(found, cell)
        wanted = _count(most)
        data = {"where": where, "most": wanted}
        decide_on(self._desk.database, found.name, "capped", data, by="researcher", at_us=self._desk.clock.now_us())
        told = (LIFTS if wanted is None else HOLDS if wanted else SHUTS).format(where=cell_key(where), most=wanted)
        self._desk.did(visitor, f"capped {cell_key(where)} at {'no limit' if wanted is None else wanted}", found.name)
        self._watching.forget(found.name)
        return {**self._now(found, _known(origin)), **self._desk.say(told)}


def _known(origin: Any) -> str:
    return origin if origin in ORIGINS else Origin.PERSON


def _choices(study: Study) -> dict[str, dict[str, str]]:
    """The values of factors, and whole cells where there are not too many, each by what is read."""
    every = cells(study.factors, study.pools)
    values = dict.fromkeys((name, value) for cell in every for name, value in cell.values.items())
    alone = [{name: value} for name, value in values]
    whole = [dict(cell.values) for cell in every if len(cell.values) > 1]
    return {cell_key(one): one for one in (*alone, *(whole if len(whole) <= MOST_CELLS else ()))}


def where_of(study: Study, sent: Any) -> dict[str, str]:
    """The factors that were chosen; raises StorageError for what cannot be."""
    found = _choices(study).get(sent) if isinstance(sent, str) else None
    if found is None:
        raise StorageError("Choose first for which participants this shall hold.")
    return found


def _count(sent: Any) -> int | None:
    """How many at most; None for no limit."""
    if sent is None or sent == "":
        return None
    if not isinstance(sent, int | float) or sent != int(sent) or not 0 <= sent <= 1_000_000:
        raise StorageError(f"At most {sent!r} is no number of participants; allowed: whole numbers from 0, or nothing.")
    return int(sent)


def _outcomes(seen: Watched) -> list[tuple[str, int]]:
    """How sessions stand: those under way, those that ended, and those that were left."""
    known = seen.tally.outcomes
    return [(name, known[name]) for name in ("live", *OUTCOMES, "left") if known.get(name)]


def _origin_of(desk: Desk, study: Study) -> str:
    """Whose sessions are looked at unless somebody chooses: in a study that is open never a pilot's."""
    if operations_of(desk.database, study.name).pilot:
        return Origin.PILOT
    found = first_origin(desk.database, study.name, ORIGINS)
    return Origin.PERSON if found == Origin.PILOT else found

"""Monitoring: sessions in progress, the balance of conditions, data quality, and models; refreshes itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.analysis.report.quality_and_costs import FLAGS
from app.web.console.charts import arrivals_chart
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.study_tab.base import state_of
from app.web.console.study_tab.recruitment import quota_note, quota_set
from app.web.console.tab import LocationValues, TabLocation, dropdown
from app.web.link_problem_texts import problem_rows
from experiments.session.outcomes import OUTCOMES
from experiments.study.cells import cells
from experiments.study.study import Study
from storage.errors import StorageError
from storage.log.seats import cell_key
from storage.registers.link_problems import link_problems
from storage.registers.origins import ONLY_NAMED, Origin
from storage.registers.study_status import operations_of, set_status
from storage.reports.monitoring import StudyMonitor, StudyMonitors
from storage.reports.monitoring.sessions import MOST_WAITING, first_origin

ORIGINS = (Origin.PERSON, Origin.PILOT, Origin.BOT, Origin.REHEARSAL)
"""The origins that can be monitored; imported sessions have no course in time."""
LOOK_S = 5
QUOTAS = (
    "<h2>Participant quotas</h2><p>A quota is the most participants who may complete the study or be in progress in a "
    "condition. 0 closes the condition to new participants; an empty quota removes the limit.</p>"
)
FIXED: Mapping[str, Any] = {
    "meanings": {name: f"The session {meaning}." for name, meaning in FLAGS.items()},
    "most_waiting": MOST_WAITING,
}
MOST_CELLS = 60
"""With more cells than this, quotas can be set for values of factors only, not for whole cells."""


class MonitorTab:
    name = "monitoring"
    label = "Monitoring"

    def __init__(self, desk: ConsoleContext, place: TabLocation) -> None:
        self._desk = desk
        self._place = place
        self._watching = StudyMonitors(desk.database)
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._origin = gr.Radio(
            label="Session origin",
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
        with gr.Column(elem_id="live-cap", visible=False) as self._cap:
            gr.HTML(QUOTAS, padding=False, apply_default_css=False)
            with gr.Row():
                self._cell = dropdown(label="Condition", elem_id="live-cell")
                self._most = gr.Number(label="Quota", value=None, precision=0, elem_id="live-most")
                self._set = gr.Button("Set quota", elem_id="live-set", scale=0)
        self._timer = gr.Timer(LOOK_S, active=False)
        painted = [self._head, self._rate, self._sum, self._body]
        self.outputs = [self._origin, *painted, self._cap, self._cell, self._most, self._timer]
        self._wire()

    def _wire(self) -> None:
        now = [self._head, self._rate, self._sum, self._body]
        study = self._place.study
        self._desk.bind(self._origin.input, self._choose, [study, self._origin], now)
        inputs = [study, self._place.tab, self._origin]
        self._desk.bind(self._timer.tick, self._again, inputs, [*now, self._timer], quiet=True)
        self._desk.bind(self._cell.input, self._held, [study, self._cell, self._most], [self._most])
        decided = [study, self._origin, self._cell, self._most]
        self._desk.bind([self._set.click, self._most.submit], self._limit, decided, now, owner=True)

    def paint(self, visitor: CurrentUser, at: LocationValues) -> Mapping[Component, Any]:
        """The participants' sessions, or those of another origin if there are none."""
        study = self._desk.study(at.study)
        if study is None:
            hidden = dict.fromkeys([self._rate, self._sum, self._cap], gr.update(visible=False))
            none = self._desk.html("live_none.html.j2", name=at.study)
            hidden[self._origin] = gr.update(visible=False)
            return {self._head: none, self._body: "", self._timer: gr.update(active=False), **hidden}
        origin = _origin_of(self._desk, study)
        choices = list(_choices(study))
        return {
            self._origin: gr.update(value=origin, visible=True),
            self._cap: gr.update(visible=visitor.owner and bool(choices)),
            self._cell: gr.update(choices=choices, value=None),
            self._most: gr.update(value=None),
            self._timer: gr.update(active=True),
            **self._now(study, origin),
        }

    def _choose(self, visitor: CurrentUser, study: str, origin: Any) -> Mapping[Component, Any]:
        return self._now(self._desk.studies.newest(str(study)), _valid_origin(origin))

    def _again(self, visitor: CurrentUser, study: str, tab: str, origin: Any) -> Mapping[Component, Any]:
        """Refresh the tab while it is open; in another one nothing is refreshed."""
        return self._choose(visitor, study, origin) if tab == self.name else {self._timer: gr.update(active=False)}

    def _now(self, study: Study, origin: str) -> dict[Component, Any]:
        seen = self._watching.load(study, origin, self._desk.clock.now_us())
        values = {"seen": seen, "study": study, "outcomes": _outcomes(seen), "cell_key": cell_key, **FIXED}
        values["state"] = state_of(seen.operations)
        values["problems"] = problem_rows(link_problems(self._desk.database, study.name))
        rate, total = arrivals_chart(seen.over_time) if seen.over_time else (None, None)
        return {
            self._head: self._desk.html("live_head.html.j2", **values),
            self._rate: gr.update(value=rate, visible=rate is not None),
            self._sum: gr.update(value=total, visible=total is not None),
            self._body: self._desk.html("live.html.j2", **values),
        }

    def _held(self, visitor: CurrentUser, study: str, cell: Any, most: Any) -> Mapping[Component, Any]:
        """Show the quota of the chosen condition, or that it has none; a number that a person typed stays, as Gradio
        sends this whenever the focus leaves the conditions."""
        found = self._desk.studies.newest(str(study))
        where = where_of(found, cell)
        held = operations_of(self._desk.database, found.name).quotas_of(found.file.quotas)
        if most not in (None, *(quota.max for quota in held)):
            return {}
        return {self._most: gr.update(value=next((quota.max for quota in held if quota.where == where), None))}

    def _limit(self, visitor: CurrentUser, study: str, origin: Any, cell: Any, most: Any) -> Mapping[Component, Any]:
        found = self._desk.studies.newest(str(study))
        where = where_of(found, cell)
        wanted = _count(most)
        data = {"where": where, "most": wanted}
        set_status(self._desk.database, found.name, "capped", data, by="researcher", at_us=self._desk.clock.now_us())
        self._desk.audit(visitor, *quota_set(found.name, where, wanted))
        self._watching.forget(found.name)
        return {**self._now(found, _valid_origin(origin)), **self._desk.notify(quota_note(where, wanted))}


def _valid_origin(origin: Any) -> str:
    return origin if origin in ORIGINS else Origin.PERSON


def _choices(study: Study) -> dict[str, dict[str, str]]:
    """The choices for a quota by label: each value of a factor, and each cell unless there are too many."""
    every = cells(study.factors, study.pools)
    values = dict.fromkeys((name, value) for cell in every for name, value in cell.values.items())
    alone = [{name: value} for name, value in values]
    whole = [dict(cell.values) for cell in every if len(cell.values) > 1]
    return {cell_key(one): one for one in (*alone, *(whole if len(whole) <= MOST_CELLS else ()))}


def where_of(study: Study, sent: Any) -> dict[str, str]:
    """The chosen factors with their values; raises StorageError for an invalid choice."""
    found = _choices(study).get(sent) if isinstance(sent, str) else None
    if found is None:
        raise StorageError("Choose a condition first.")
    return found


def _count(sent: Any) -> int | None:
    """The quota; None for no limit."""
    if sent is None or sent == "":
        return None
    if not isinstance(sent, int | float) or sent != int(sent) or not 0 <= sent <= 1_000_000:
        raise StorageError(
            f"{sent!r} is not a quota; allowed: whole numbers from 0 to 1,000,000, or empty for no quota."
        )
    return int(sent)


def _outcomes(seen: StudyMonitor) -> list[tuple[str, int]]:
    """The number of sessions by status: in progress, ended by outcome, and abandoned."""
    counts = seen.tally.outcomes
    return [(name, counts[name]) for name in ("live", *OUTCOMES, "left") if counts.get(name)]


def _origin_of(desk: ConsoleContext, study: Study) -> str:
    if operations_of(desk.database, study.name).pilot:
        return Origin.PILOT
    found = first_origin(desk.database, study.name, ORIGINS)
    return Origin.PERSON if found in ONLY_NAMED else found

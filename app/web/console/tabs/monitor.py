"""Monitoring: sessions in progress, the balance of conditions, data quality, and models; refreshes itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
from gradio.components import Component

from app.web.console.charts import arrivals_chart
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.study_tab.base import state_of
from app.web.console.tab import LocationValues, TabLocation, html_part
from app.web.link_problem_texts import problem_rows
from experiments.session.outcomes import OUTCOMES
from experiments.study.study import Study
from experiments.views.quality_flags import FLAGS
from storage.log.seats import cell_key
from storage.registers.link_problems import link_problems
from storage.registers.origins import ONLY_NAMED, Origin
from storage.registers.study_status import operations_of
from storage.reports.monitoring import StudyMonitor, StudyMonitors
from storage.reports.monitoring.fidelity import MOST_SESSIONS
from storage.reports.monitoring.sessions import MOST_WAITING, first_origin

# The origins that can be monitored; imported sessions have no course in time.
ORIGINS = (Origin.PERSON, Origin.PILOT, Origin.BOT, Origin.REHEARSAL)
LOOK_S = 5
FIXED: Mapping[str, Any] = {
    "meanings": {name: f"The session {meaning}." for name, meaning in FLAGS.items()},
    "most_waiting": MOST_WAITING,
    "most_sessions": MOST_SESSIONS,
}


class MonitorTab:
    name = "monitoring"
    label = "Monitoring"

    def __init__(self, context: ConsoleContext, location: TabLocation) -> None:
        self._context = context
        self._location = location
        self._watching = StudyMonitors(context.database)
        self.outputs: list[Component] = []

    def build(self) -> None:
        self._origin = gr.Radio(
            label="Session origin",
            choices=[(WHOSE[name], name) for name in ORIGINS],
            value=Origin.PERSON,
            elem_id="live-origin",
            container=False,
        )
        self._head = html_part(elem_id="live-head")
        with gr.Row(elem_id="live-charts"):
            self._rate, self._sum = (
                gr.Plot(elem_id=f"live-{name}", show_label=False, container=False, visible=False)
                for name in ("rate", "sum")
            )
        self._body = html_part(elem_id="live-body")
        self._timer = gr.Timer(LOOK_S, active=False)
        now, study = [self._head, self._rate, self._sum, self._body], self._location.study
        self.outputs = [self._origin, *now, self._timer]
        self._context.bind(self._origin.input, self._choose, [study, self._origin], now)
        inputs = [study, self._location.tab, self._origin]
        self._context.bind(self._timer.tick, self._again, inputs, [*now, self._timer], quiet=True)

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Component, Any]:
        """The participants' sessions, or those of another origin if there are none."""
        study = self._context.study(location.study)
        if study is None:
            none = self._context.html("live_none.html.j2", name=location.study)
            hidden = dict.fromkeys([self._origin, self._rate, self._sum], gr.update(visible=False))
            return {self._head: none, self._body: "", self._timer: gr.update(active=False), **hidden}
        origin = _origin_of(self._context, study)
        return {
            self._origin: gr.update(value=origin, visible=True),
            self._timer: gr.update(active=True),
            **self._now(study, origin),
        }

    def _choose(self, user: CurrentUser, study: str, origin: Any) -> Mapping[Component, Any]:
        return self._now(self._context.studies.newest(str(study)), _valid_origin(origin))

    def _again(self, user: CurrentUser, study: str, tab: str, origin: Any) -> Mapping[Component, Any]:
        """Refresh the tab while it is open; in another one nothing is refreshed."""
        return self._choose(user, study, origin) if tab == self.name else {self._timer: gr.update(active=False)}

    def _now(self, study: Study, origin: str) -> dict[Component, Any]:
        seen = self._watching.load(study, origin, self._context.clock.now_us())
        values = {"seen": seen, "study": study, "outcomes": _outcomes(seen), "cell_key": cell_key, **FIXED}
        values["state"] = state_of(seen.operations)
        values["problems"] = problem_rows(link_problems(self._context.database, study.name))
        rate, total = arrivals_chart(seen.over_time) if seen.over_time else (None, None)
        return {
            self._head: self._context.html("live_head.html.j2", **values),
            self._rate: gr.update(value=rate, visible=rate is not None),
            self._sum: gr.update(value=total, visible=total is not None),
            self._body: self._context.html("live.html.j2", **values),
        }


def _valid_origin(origin: Any) -> str:
    return origin if origin in ORIGINS else Origin.PERSON


def _outcomes(monitor: StudyMonitor) -> list[tuple[str, int]]:
    counts = monitor.tally.outcomes
    return [(name, counts[name]) for name in ("live", *OUTCOMES, "left") if counts.get(name)]


def _origin_of(context: ConsoleContext, study: Study) -> str:
    if operations_of(context.database, study.name).pilot:
        return Origin.PILOT
    found = first_origin(context.database, study.name, ORIGINS)
    return Origin.PERSON if found in ONLY_NAMED else found

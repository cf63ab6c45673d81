"""Results: the estimates so far, as charts with intervals and tables with n.

They are computed in a background thread. The tab shows the latest results at once with their time, and updates when
newer ones are ready. The full report is a page of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import gradio as gr
from gradio.components import Component

from app.extension import hooked, needed
from app.extensions.analysis.background_cache import CachedResult, StaleWhileRevalidate
from app.extensions.analysis.estimates import format_interval, format_value
from app.extensions.analysis.reads.study_data import data_version, origins_of
from app.extensions.analysis.report.charts import forest_chart
from app.extensions.analysis.report.wording import WARNINGS
from app.extensions.analysis.results import SURVEY, Results, results
from app.use_cases.outcome_lock import locked_for, look_is_due, look_now, open_again
from app.web.console.charts import chart_or_note
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.tab import LocationValues, TabLocation, html_part, text
from storage.registers.origins import ORIGINS

MOST_REASON = 500
LOOK_S = 4
# The number of figures of a study that records every schema, without those of its surveys.
MOST = 21
Key = tuple[str, str]


class ResultsTab:
    name = "results"
    label = "Results"

    def __init__(self, context: ConsoleContext, location: TabLocation, workers: Executor | None = None) -> None:
        self._context = context
        self._location = location
        self.outputs: list[Component] = []
        found = workers or ThreadPoolExecutor(max_workers=1, thread_name_prefix="results")
        self._latest: StaleWhileRevalidate[Key, Results] = StaleWhileRevalidate(
            self._compute, self._mark, context.clock.now_us, found
        )

    def build(self) -> None:
        with gr.Row(elem_id="results-bar"):
            choices = [(words, origin) for origin, words in WHOSE.items()]  # all, as Gradio refuses others' values
            self._origin = gr.Radio(choices, label="Session origin", elem_id="results-origin", container=False)
            self._head = html_part(elem_id="results-head")
        self._said = html_part(elem_id="results-said")
        self._history = html_part(elem_id="results-plan")
        self._take = gr.Button("Take the planned look", variant="primary", elem_id="results-take", visible=False)
        self._why = gr.Textbox(
            label="Reason for an unplanned look", max_length=MOST_REASON, elem_id="results-why", visible=False
        )
        self._unlock = gr.Button("Show outcomes now (recorded)", elem_id="results-unlock", visible=False)
        self._shown = gr.Textbox(elem_id="results-shown", visible="hidden")
        self._figures = [self._figure(number) for number in range(MOST)]
        self._survey = html_part(elem_id="results-survey")
        self._timer = gr.Timer(LOOK_S, active=False)
        parts = [component for figure in self._figures for component in figure]
        self.outputs = [
            self._origin,
            self._head,
            self._said,
            self._history,
            self._take,
            self._why,
            self._unlock,
            self._shown,
            self._timer,
            *parts,
            self._survey,
        ]
        self._wire()

    def _figure(self, number: int) -> tuple[gr.HTML, gr.Plot, gr.HTML]:
        heading = html_part(elem_id=f"results-title-{number}", visible=False)
        with gr.Row(elem_classes="results-figure"):
            plot = gr.Plot(elem_id=f"results-plot-{number}", visible=False, show_label=False, container=False)
            table = html_part(elem_id=f"results-table-{number}", visible=False)
        return heading, plot, table

    def _wire(self) -> None:
        inputs = [self._location.study, self._location.tab, self._origin, self._shown]
        chosen = [self._location.study, self._origin]
        self._context.bind(self._origin.input, self._choose, chosen, self.outputs)
        self._context.bind(self._take.click, self._take_look, chosen, self.outputs, owner=True)
        self._context.bind(self._unlock.click, self._peek, [*chosen, self._why], self.outputs)
        self._context.bind(self._timer.tick, self._again, inputs, self.outputs, quiet=True)

    def paint(self, user: CurrentUser, location: LocationValues) -> Mapping[Component, Any]:
        """The results of the participants' sessions, or of the first origin that the study has."""
        found = origins_of(self._context.database, location.study) or ORIGINS[:1]
        choices = [(WHOSE[origin], origin) for origin in found]
        picker = gr.update(choices=choices, value=found[0], visible=len(found) > 1)
        open_again(self._context.database, location.study, found[0], user.name, "console", self._context.clock.now_us())
        return {self._origin: picker, **self._results_page(user, location.study, found[0])}

    def _choose(self, user: CurrentUser, study: str, origin: str) -> Mapping[Component, Any]:
        origin = _valid_origin(origin)
        open_again(self._context.database, study or "", origin, user.name, "console", self._context.clock.now_us())
        return self._results_page(user, study or "", origin)

    def _take_look(self, user: CurrentUser, study: str, origin: str) -> Mapping[Component, Any]:
        """Take the next planned look; its results are in the history of the plan."""
        look = needed("take_look", "trials")
        look(self._context.database, study, user.name, self._context.clock.now_us(), secret=self._context.secret)
        self._context.audit(user, "took a planned look at outcomes", study)
        return self._results_page(user, study, _valid_origin(origin))

    def _peek(self, user: CurrentUser, study: str, origin: str, why: str) -> Mapping[Component, Any]:
        origin = _valid_origin(origin)
        look_now(self._context.database, study, origin, user.name, "console", text(why), self._context.clock)
        return self._results_page(user, study, origin)

    def _again(self, user: CurrentUser, study: str, tab: str, origin: str, shown: str) -> Mapping[Component, Any]:
        """Newer results than the page shows; nothing if another tab is open."""
        if tab != self.name:
            return {self._timer: gr.update(active=False)}
        if self._locked(user, study or "", _valid_origin(origin)):
            return self._results_page(user, study or "", _valid_origin(origin))
        seen = self._latest.get((study or "", _valid_origin(origin)))
        return {} if shown == _mark_of(study, origin, seen) else self._painted(study, _valid_origin(origin), seen)

    def _results_page(self, user: CurrentUser, study: str, origin: str) -> Mapping[Component, Any]:
        history = "".join(shown(self._context, study) for shown in hooked("plan_history"))
        if why := self._locked(user, study, origin):
            return {
                **{part: gr.update(visible=False) for figure in self._figures for part in figure},
                self._head: "",
                self._said: self._context.html("outcomes_locked.html.j2", why=why),
                self._history: history,
                self._survey: "",
                self._take: gr.update(visible=user.owner and look_is_due(self._context.database, study)),
                self._why: gr.update(visible=True, value=""),
                self._unlock: gr.update(visible=True),
                self._shown: "",
                self._timer: gr.update(active=False),
            }
        return {**self._painted(study, origin, self._latest.get((study, origin))), self._history: history}

    def _locked(self, user: CurrentUser, study: str, origin: str) -> str:
        return locked_for(self._context.database, study, origin, user.name, self._context.clock.now_us())

    def _painted(self, study: str, origin: str, cached: CachedResult[Results]) -> Mapping[Component, Any]:
        every = cached.value.findings if cached.value else ()
        survey = [one for one in every if one.name.startswith(f"{SURVEY}.")]
        findings = [one for one in every if not one.name.startswith(f"{SURVEY}.")][:MOST]
        painted: dict[Component, Any] = {
            self._head: self._context.html("results_head.html.j2", study=study, origin=origin, seen=cached),
            self._said: self._context.html(
                "results_said.html.j2", warning=WARNINGS.get(origin, ""), seen=cached, label=WHOSE[origin].lower()
            ),
            self._take: gr.update(visible=False),
            self._why: gr.update(visible=False),
            self._unlock: gr.update(visible=False),
            self._shown: _mark_of(study, origin, cached),
            self._timer: gr.update(active=True),
            self._survey: self._table("results_survey.html.j2", survey=survey),
        }
        for number, (heading, plot, table) in enumerate(self._figures):
            if number >= len(findings):
                painted |= {part: gr.update(visible=False) for part in (heading, plot, table)}
                continue
            finding = findings[number]
            painted[heading] = gr.update(
                visible=True, value=self._context.html("results_title.html.j2", finding=finding)
            )
            there = bool(finding.estimates)
            painted[plot] = gr.update(visible=there, value=chart_or_note(forest_chart(finding)) if there else None)
            painted[table] = gr.update(
                visible=True, value=self._table("results_table.html.j2", finding=finding, metered=False)
            )
        return painted

    def _table(self, template: str, **values: Any) -> str:
        return self._context.html(template, written=format_value, between=format_interval, **values)

    def _compute(self, key: Key) -> Results:
        return results(self._context.database, *key)

    def _mark(self, key: Key) -> Any:
        return data_version(self._context.database, *key)


def _valid_origin(origin: str | None) -> str:
    return origin if origin and origin in WHOSE else ORIGINS[0]


def _mark_of(study: str, origin: str, cached: CachedResult[Results]) -> str:
    return f"{study} {origin} {cached.as_of_us} {cached.busy}"

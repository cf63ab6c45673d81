"""Integrity: evidence on how texts were written, and exclusions that are decided from nothing else.

Conditions, answers, scores and outcomes are not shown, no text of a participant, and no link to them. The evidence is
computed in a background thread, as it compares all texts of a study; whether a session is excluded is always current.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import gradio as gr
from gradio.components import Component

from app.extensions.analysis.background_cache import CachedResult, StaleWhileRevalidate
from app.extensions.analysis.estimates import SHARE, format_interval, format_value
from app.extensions.analysis.reads.study_data import data_version, origins_of
from app.extensions.trials.false_alarms import REFERENCES, IntegrityFindings, integrity_findings
from app.use_cases.sessions import add_remark
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.formatting import WHOSE
from app.web.console.tab import PICKS, LocationValues, TabLocation, html_part, text
from experiments.errors import NotPossible
from experiments.plural import count
from experiments.session.desk import Kind
from experiments.views.integrity import TITLES, written_value
from storage.datasets.integrity import SessionEvidence, excluded_sessions, thresholds_in_force
from storage.registers.origins import ORIGINS, Origin
from storage.reports.sessions import read_session

LOOK_S = 4
MOST = 200
# How the reason of an exclusion begins, so that a plan with `exclude: [integrity]` foresees it.
WHY = "integrity"
CHOSEN = tuple(origin for origin in ORIGINS if origin != Origin.IMPORT)
ON = " on evidence of integrity"
NOTED: Mapping[Kind, str] = {
    "excluded": "Session {number} is excluded: the decision and its reason are recorded.",
    "included": "Session {number} is included again.",
}
PICKED = "(study, origin, every, _) => [study, origin, every, window.parleyConsole.picked ?? '']"
Key = tuple[str, str]
Updates = Mapping[Component, Any]


class IntegrityTab:
    name = "integrity"
    label = "Integrity"

    def __init__(self, context: ConsoleContext, location: TabLocation, workers: Executor | None = None) -> None:
        self._context = context
        self._location = location
        self.outputs: list[Component] = []
        found = workers or ThreadPoolExecutor(max_workers=1, thread_name_prefix="integrity")
        self._latest: StaleWhileRevalidate[Key, IntegrityFindings] = StaleWhileRevalidate(
            self._compute, self._mark, context.clock.now_us, found
        )

    def build(self) -> None:
        with gr.Row(elem_id="integrity-bar"):
            choices = [(WHOSE[origin], origin) for origin in CHOSEN]
            self._origin = gr.Radio(choices, label="Session origin", elem_id="integrity-origin", container=False)
            self._every = gr.Checkbox(
                label="List sessions without a flag too", elem_id="integrity-every", container=False
            )
        self._rates = html_part(elem_id="integrity-rates")
        with gr.Row(elem_id="integrity-columns"):
            with gr.Column(min_width=320, scale=7):
                self._list = html_part(elem_id="integrity-list", js_on_load=PICKS)
            with gr.Column(min_width=320, scale=5):
                self._head = html_part(elem_id="integrity-head")
                with gr.Column(elem_id="integrity-actions", visible=False) as self._actions:
                    self._why = gr.Textbox(label="Reason", elem_id="integrity-why", lines=1, max_lines=4)
                    with gr.Row():
                        self._exclude = gr.Button("Exclude session", elem_id="integrity-exclude", size="sm")
                        self._include = gr.Button("Include session again", elem_id="integrity-include", size="sm")
        self._chosen = gr.Textbox(elem_id="integrity-chosen", visible="hidden")
        self._shown = gr.Textbox(elem_id="integrity-shown", visible="hidden")
        self._timer = gr.Timer(LOOK_S, active=False)
        listed = [self._rates, self._list, self._shown, self._timer]
        session = [self._chosen, self._head, self._actions, self._why, self._exclude, self._include]
        self.outputs = [self._origin, self._every, *listed, *session]
        self._wire(listed, session)

    def _wire(self, listed: list[Component], session: list[Component]) -> None:
        on, asked = self._context.bind, [self._location.study, self._origin, self._every]
        chosen = [*asked, self._chosen]
        on(self._origin.input, self._of_origin, asked, [*listed, *session])
        on(self._every.input, self._listed, asked, listed)
        on(self._list.click, self._open, chosen, session, js=PICKED)
        said = [*chosen, self._why]
        on(self._exclude.click, self._excluded, said, [*listed, *session])
        on(self._include.click, self._included, said, [*listed, *session])
        inputs = [*asked, self._location.tab, self._shown]
        on(self._timer.tick, self._again, inputs, listed, quiet=True)

    def paint(self, user: CurrentUser, location: LocationValues) -> Updates:
        """The evidence of the participants' sessions, or of the first origin that the study has."""
        found = [one for one in origins_of(self._context.database, location.study) if one in CHOSEN] or list(CHOSEN[:1])
        picker = gr.update(
            choices=[(WHOSE[origin], origin) for origin in found], value=found[0], visible=len(found) > 1
        )
        return {self._origin: picker, self._every: False, **self._of_origin(user, location.study, found[0], False)}

    def _of_origin(self, user: CurrentUser, study: str, origin: str, every: bool) -> Updates:
        return {**self._listed(user, study, origin, every), **self._no_session()}

    def _again(self, user: CurrentUser, study: str, origin: str, every: bool, tab: str, shown: str) -> Updates:
        if tab != self.name:
            return {self._timer: gr.update(active=False)}
        seen = self._evidence(study, origin)
        return {} if shown == _mark_of(study, origin, seen) else self._listed(user, study, origin, every)

    def _listed(self, _: CurrentUser, study: str, origin: str, every: bool) -> Updates:
        seen = self._evidence(study, origin)
        found = seen.value
        flagged = {number: _flags(one) for number, one in found.sessions.items()} if found else {}
        numbers = [number for number, flags in flagged.items() if flags or every is True]
        numbers.sort(key=lambda number: (-len(flagged[number]), number))
        about = {"study": text(study), "found": found, "titles": TITLES, "value": written_value}
        return {
            self._rates: self._context.html("integrity_rates.html.j2", **about, seen=seen, alarms=_alarms),
            self._list: self._context.html(
                "integrity_list.html.j2",
                **about,
                numbers=numbers[:MOST],
                left=len(numbers) - len(numbers[:MOST]),
                excluded=excluded_sessions(self._context.database, text(study)),
            ),
            self._shown: _mark_of(study, origin, seen),
            self._timer: gr.update(active=True),
        }

    def _open(self, _: CurrentUser, study: str, origin: str, __: bool, number: str) -> Updates:
        return self._session(text(study), text(origin), _number(number))

    def _session(self, study: str, origin: str, number: int) -> Updates:
        found = self._evidence(study, origin).value
        one = found.sessions.get(number) if found is not None else None
        if one is None:
            return self._no_session()
        excluded = number in excluded_sessions(self._context.database, study)
        about = {"number": number, "one": one, "excluded": excluded, "titles": TITLES, "value": written_value}
        reason = ", ".join(
            f"{name} {written_value(name, evidence.value)}"
            for name, evidence in one.dossier.items()
            if evidence is not None and one.flags[name]
        )
        return {
            self._chosen: f"{number}",
            self._head: self._context.html("integrity_session.html.j2", **about),
            self._actions: gr.update(visible=True),
            self._why: "" if excluded else f"{WHY}: {reason}",
            self._exclude: gr.update(visible=not excluded),
            self._include: gr.update(visible=excluded),
        }

    def _no_session(self) -> dict[Component, Any]:
        return {
            self._chosen: "",
            self._head: "",
            self._actions: gr.update(visible=False),
            self._why: "",
        }

    def _excluded(self, user: CurrentUser, study: str, origin: str, every: bool, number: str, why: str) -> Updates:
        reason = text(why).strip()
        if not reason.removeprefix(f"{WHY}:").strip():
            raise NotPossible("Nothing was saved: give a reason that names the evidence and the rule. It is recorded.")
        if not reason.lower().startswith(WHY):
            reason = f"{WHY}: {reason}"
        return self._decide(user, (study, origin, every), number, "excluded", reason)

    def _included(self, user: CurrentUser, study: str, origin: str, every: bool, number: str, why: str) -> Updates:
        return self._decide(user, (study, origin, every), number, "included", text(why))

    def _decide(self, user: CurrentUser, at: tuple[str, str, bool], number: str, kind: Kind, reason: str) -> Updates:
        context, (study, origin, every) = self._context, at
        session = read_session(context.database, context.studies, text(study), _number(number), context.clock.now_us())
        stream, who = session.entry.stream, user.name
        asyncio.run(add_remark(context.sessions, context.database, stream, kind, reason, who, ON))
        return {
            **self._listed(user, study, origin, every),
            **self._session(text(study), text(origin), session.entry.number),
            **context.notify(NOTED[kind].format(number=session.entry.number)),
        }

    def _evidence(self, study: str, origin: str) -> CachedResult[IntegrityFindings]:
        return self._latest.get((text(study), origin if origin in CHOSEN else CHOSEN[0]))

    def _compute(self, key: Key) -> IntegrityFindings:
        return integrity_findings(self._context.database, *key)

    def _mark(self, key: Key) -> Any:
        study, origin = key
        origins = dict.fromkeys((origin, *(one for some in REFERENCES.values() for one in some)))
        found = [data_version(self._context.database, study, one) for one in origins]
        return (*found, *thresholds_in_force(self._context.database, study).values())


def _flags(evidence: SessionEvidence) -> list[str]:
    return [name for name, flag in evidence.flags.items() if flag]


def _alarms(findings: IntegrityFindings, whose: str, name: str) -> tuple[str, str]:
    """The share of false alarms with its interval, and of how many sessions; no share where there are too few."""
    rate = findings.false_alarms[whose].get(name)
    if rate is None or rate.share is None:
        return "unknown", count(rate.known if rate else 0, "session")
    interval = format_interval(rate.share.low, rate.share.high, SHARE)
    return format_value(rate.share.value, SHARE), f"{interval}, {count(rate.known, 'session')}"


def _number(number: Any) -> int:
    return (
        int(number) if isinstance(number, str) and number.isascii() and number.isdecimal() and len(number) < 10 else 0
    )


def _mark_of(study: str, origin: str, cached: CachedResult[IntegrityFindings]) -> str:
    return f"{study} {origin} {cached.as_of_us} {cached.busy}"

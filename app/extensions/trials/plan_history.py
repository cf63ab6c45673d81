"""The history of a trial's plan in the console."""

from __future__ import annotations

from app.extensions.trials.deviations import deviations
from app.web.console.context import ConsoleContext
from storage.registers.plan_events import plan_events


def plan_history(desk: ConsoleContext, study: str) -> str:
    """The preregistration, looks and deviations of a trial as HTML; empty for other studies."""
    events = plan_events(desk.database, study)
    if not events.preregistrations:
        return ""
    found = deviations(desk.database, study)
    return desk.html("results_plan.html.j2", study=study, events=events, deviations=found)

"""The parts of `parley show` about a trial: deviations from its plan, and evidence on how texts came about.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from app.cli.common import AsJson, OriginOption, StudyName, existing_database, name_of, option
from app.cli.printing import iso, show
from app.cli.show import shown
from app.extensions.trials.reads.plan_events import plan_events
from experiments.views.integrity import INDICATORS
from storage.datasets.integrity import excluded_sessions
from storage.db.engine import Database
from storage.registers.study_versions import current
from storage.reports.conversations import origin_of

if TYPE_CHECKING:
    from app.extensions.trials.false_alarms import IntegrityFindings


def status(database: Database, study: str) -> dict[str, Any]:
    """The recorded events of a trial's plan; empty for a study that is not preregistered."""
    from app.extensions.trials.deviations import deviations

    events = plan_events(database, study)
    if not events.preregistrations:
        return {"trial": {}}
    unplanned = sum(look.number is None for look in events.looks)
    return {
        "trial": {
            "preregistered": iso(events.preregistrations[0].at_us),
            "planned_looks": len(events.looks) - unplanned,
            "unplanned_looks": unplanned,
            "deviations": [one.what for one in deviations(database, study)],
        }
    }


@shown("deviations")
def deviations_(study: StudyName, as_json: AsJson = False) -> None:
    """The report states each. `parley trial explain` gives a reason."""
    from app.extensions.trials.deviations import deviations

    database = existing_database()
    found = deviations(database, current(database, name_of(study)).name)
    rows = [{"name": one.name, "at": iso(one.at_us), "what": one.what, "reason": one.reason} for one in found]
    show(rows, as_json)


@shown("integrity")
def integrity(
    study: StudyName,
    every: Annotated[bool, option("--all", "List sessions without any flag too.")] = False,
    as_json: AsJson = False,
    origin: OriginOption = None,
) -> None:
    """Pasting, speed, likeness to models' replies, and copies, with rates of false alarms; without conditions,
    answers and outcomes. Evidence, never a verdict: dictation, autocompletion and translation look like pasting
    too."""
    from app.extensions.trials.false_alarms import integrity_findings

    database, name = existing_database(), name_of(study)
    found = integrity_findings(database, name, origin_of(database, name, origin))
    excluded = excluded_sessions(database, name)
    sessions = [
        {
            "number": number,
            "flags": [flag for flag, is_set in one.flags.items() if is_set],
            "excluded": number in excluded,
            **{about: asdict(evidence) if evidence else None for about, evidence in one.dossier.items()},
        }
        for number, one in found.sessions.items()
        if as_json or every or any(one.flags.values())
    ]
    show({"indicators": [_rates(one, found) for one in INDICATORS], "sessions": sessions}, as_json)


def _rates(name: str, findings: IntegrityFindings) -> dict[str, Any]:
    """An indicator with its threshold and rates; None where no session of that origin is there."""
    rates = {"sessions": findings.here, **findings.false_alarms}
    known = {whose: asdict(by[name]) if name in by else None for whose, by in rates.items()}
    return {"indicator": name, "threshold": findings.thresholds[name], **known}

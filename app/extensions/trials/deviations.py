"""Deviations from a preregistered plan, found in the records: changed versions, exclusions, an early end.

Nothing is a deviation before the preregistration, and nothing that the plan itself says. Reasons are given afterwards
(`parley trial explain STUDY`), except for exclusions and the end, which have theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from app.extensions.trials.reads.plan_events import (
    PlanEvents,
    Preregistration,
    complete_people,
    exclusions,
    plan_events,
    plan_in_force,
    started_before,
)
from app.web.console.context import ConsoleContext
from experiments.plural import count
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.registers.study_versions import versions

# Characters of a hash that are shown.
SHORT = 12
# How the reason of an exclusion begins that a plan with `exclude: [integrity]` foresees.
INTEGRITY = "integrity"


@dataclass(frozen=True, slots=True)
class Deviation:
    name: str
    at_us: int
    what: str
    reason: str = ""


def deviations(database: Database, study: str) -> tuple[Deviation, ...]:
    """All deviations since the first preregistration, in the order of time; none without one."""
    recorded = plan_events(database, study)
    if (first := plan_in_force(database, study, recorded)) is None:
        return ()
    amended = [one for one in recorded.preregistrations if one.at_us > first.at_us]
    planned = Studies(database).get(first.hash)
    found = [
        *_late(database, study, first),
        *_amended(database, planned, amended),
        *_changed(database, planned, first),
        *_excluded(database, planned, first),
        *_reopened(recorded, first),
        *_ended(database, planned, recorded, first),
    ]
    told = (replace(one, reason=recorded.reasons.get(one.name, one.reason)) for one in found)
    return tuple(sorted(told, key=lambda one: (one.at_us, one.name)))


def _late(database: Database, study: str, preregistration: Preregistration) -> Iterator[Deviation]:
    if number := started_before(database, study, preregistration.at_us):
        people = count(number, "participant")
        yield Deviation("late", preregistration.at_us, f"{people} had started before the plan was preregistered")


def _amended(database: Database, study: Study, later_preregistrations: list[Preregistration]) -> Iterator[Deviation]:
    for one in later_preregistrations:
        name = f"amended-{one.hash[:SHORT]}"
        changes = what_changed(study, Studies(database).get(one.hash))
        what = f"version {one.version} ({one.hash[:SHORT]}) was preregistered as well"
        yield Deviation(name, one.at_us, f"{what}: {changes}" if changes else what)


def _changed(database: Database, study: Study, preregistration: Preregistration) -> Iterator[Deviation]:
    for version in versions(database, study.name):
        if version.published_us > preregistration.at_us and version.hash != preregistration.hash:
            changes = what_changed(study, Studies(database).get(version.hash))
            what = f"version {version.version} ({version.hash[:SHORT]}) was published: {changes}"
            yield Deviation(f"version-{version.hash[:SHORT]}", version.published_us, what)


def what_changed(old_study: Study, new_study: Study) -> str:
    """Name the parts of a study that differ in another version: keys of the plan, and keys of the study file."""
    old, new = _plan(old_study), _plan(new_study)
    plan = [_change(key, old, new) for key in dict.fromkeys((*old, *new)) if old.get(key) != new.get(key)]
    one, other = (json.loads(study.document) for study in (old_study, new_study))
    keys = dict.fromkeys((*one["file"], *other["file"]))
    file = [key for key in keys if key != "plan" and one["file"].get(key) != other["file"].get(key)]
    parts = [key for key in dict.fromkeys((*one, *other)) if key != "file" and one.get(key) != other.get(key)]
    found = [f"its plan differs in {', '.join(plan)}"] if plan else []
    if file or parts:
        found.append(f"the study differs in {', '.join(dict.fromkeys((*file, *parts)))}")
    return "; ".join(found)


def _change(key: str, old: Mapping[str, object], new: Mapping[str, object]) -> str:
    if key != "participants":
        return key
    before, after = (plan.get(key) or "none given" for plan in (old, new))
    return f"{key} ({before} before, {after} now)"


def _plan(study: Study) -> dict[str, object]:
    return study.file.plan.model_dump(mode="json") if study.file.plan else {}


def _excluded(database: Database, study: Study, preregistration: Preregistration) -> Iterator[Deviation]:
    foreseen = study.file.plan is not None and INTEGRITY in study.file.plan.exclude
    for one in exclusions(database, study.name):
        if one.at_us > preregistration.at_us and not (foreseen and one.why.lower().startswith(INTEGRITY)):
            yield Deviation(f"exclusion-{one.session}", one.at_us, f"session {one.session} was excluded", one.why)


def _reopened(events: PlanEvents, preregistration: Preregistration) -> Iterator[Deviation]:
    """While a study was closed, its outcomes could be seen."""
    for number, one in enumerate(events.closings, 1):
        if one.reopened and one.at_us > preregistration.at_us:
            what = "the study was closed, so that its outcomes could be seen, and opened again"
            yield Deviation(f"reopened-{number}", one.at_us, what, one.why)


def _ended(
    database: Database, study: Study, events: PlanEvents, preregistration: Preregistration
) -> Iterator[Deviation]:
    """A study that was closed before it had its participants, and not because a planned look advised it."""
    wanted = study.file.plan.participants if study.file.plan else None
    last = events.closings[-1] if events.closings else None
    if wanted is None or last is None or last.reopened or last.at_us < preregistration.at_us:
        return
    if any(look.result.get("stop") for look in events.looks):
        return
    if (number := complete_people(database, study.name)) < wanted:
        what = f"the study was closed with {number:,} of {wanted:,} planned participants"
        yield Deviation("closed", last.at_us, what, last.why)


def plan_history(context: ConsoleContext, study: str) -> str:
    """The preregistration, looks and deviations of a trial as HTML; empty for other studies."""
    events = plan_events(context.database, study)
    if not events.preregistrations:
        return ""
    found = deviations(context.database, study)
    return context.html("results_plan.html.j2", study=study, events=events, deviations=found)

"""The confirmatory part of a report, in its order: planned results, flow by group, looks, deviations, methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.extensions.analysis.estimates import (
    NUMBER,
    Finding,
    Unit,
    format_interval,
    format_level,
    format_p_value,
    format_value,
)
from app.extensions.analysis.reads.study_data import flow
from app.extensions.analysis.report.build import ConfirmatoryPart
from app.extensions.analysis.report.wording import when
from app.extensions.trials.deviations import Deviation, deviations
from app.extensions.trials.estimator import sides
from app.extensions.trials.outcome_lock import outcome_lock
from app.extensions.trials.outcomes import TrialData, read_trial
from app.extensions.trials.populations import ArmFlow, arm_flows
from app.extensions.trials.reads.plan_events import PlanEvents, RecordedLook, plan_events, plan_in_force
from app.extensions.trials.results import HypothesisResult, findings, raw_means, trial_results, unit_of
from app.extensions.trials.wording import (
    RANDOMISED,
    exclusion_words,
    factor_words,
    hypothesis_words,
    inference_words,
    looks_words,
    missing_words,
    model_words,
    sample_words,
)
from experiments.study.sections.plan import Plan
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.studies import Studies

TEMPLATE = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
).get_template("report_part.html.j2")


@dataclass(frozen=True, slots=True)
class TrialReport:
    """`study` is the version with the plan that counts: as preregistered, or else the newest with sessions."""

    study: Study
    plan: Plan
    origin: str
    preregistered_us: int | None
    """Microseconds UTC; None without a preregistration."""
    events: PlanEvents
    results: tuple[HypothesisResult, ...]
    flows: tuple[ArmFlow, ...]
    deviations: tuple[Deviation, ...]
    complete: int
    over: bool
    """True if data collection is over, so that results are final."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return findings(self.results)

    @property
    def planned_looks(self) -> tuple[RecordedLook, ...]:
        return tuple(one for one in self.events.looks if one.number is not None)

    @property
    def unplanned_looks(self) -> tuple[RecordedLook, ...]:
        return tuple(one for one in self.events.looks if one.number is None)


def trial_report(database: Database, study: str, origin: str) -> TrialReport | None:
    """Read and compute the confirmatory part; None for a study without a plan, or without sessions of its own."""
    events = plan_events(database, study)
    counts = plan_in_force(database, study, events)
    planned = Studies(database).get(counts.hash) if counts else _newest_with_plan(database, study, origin)
    if planned is None or planned.file.plan is None or origin == Origin.IMPORT:
        return None
    plan = planned.file.plan
    people = origin == Origin.PERSON
    data = read_trial(database, study, origin, plan)
    complete = sum(one.complete and one.excluded is None for one in data.sessions)
    return TrialReport(
        study=planned,
        plan=plan,
        origin=origin,
        preregistered_us=counts.at_us if counts else None,
        events=events if people else PlanEvents(events.preregistrations),
        results=trial_results(data, events.looks, complete) if people else trial_results(data),
        flows=arm_flows(data, flow(database, study, origin).factors),
        deviations=deviations(database, study) if people else (),
        complete=complete,
        over=not people or _over(database, study, data, events),
    )


def _newest_with_plan(database: Database, study: str, origin: str) -> Study | None:
    taken = Studies(database).with_sessions(study, origin)
    return next((one for one in reversed(taken) if one.file.plan is not None), None)


def _over(database: Database, study: str, data: TrialData, events: PlanEvents) -> bool:
    if events.preregistrations:
        return outcome_lock(database, study) is None
    wanted = data.plan.participants
    closed = bool(events.closings) and not events.closings[-1].reopened
    return closed or wanted is None or sum(one.complete for one in data.sessions) >= wanted


def _methods(trial: TrialReport) -> Iterator[tuple[str, tuple[str, ...]]]:
    plan, study = trial.plan, trial.study
    yield "Hypotheses", tuple(f"{one.claim} {hypothesis_words(one)}" for one in plan.hypotheses)
    factors = "; ".join(factor_words(study))
    yield "Design", (f"{factors}. {RANDOMISED}" if factors else "There are no factors between or within participants.",)
    yield "Sample size", (f"{sample_words(plan)[:1].upper()}{sample_words(plan)[1:]}. {looks_words(plan)}",)
    yield "Statistical model", (model_words(plan),)
    yield "Inference", (" ".join(inference_words(plan)),)
    yield "Populations", (exclusion_words(plan),)
    yield "Missing data", (missing_words(plan),)


def confirmatory_part(database: Database, study: str, origin: str) -> ConfirmatoryPart | None:
    """None without a plan."""
    trial = trial_report(database, study, origin)
    return None if trial is None else part_of(trial)


def part_of(trial: TrialReport) -> ConfirmatoryPart:
    units = {one.hypothesis.id: unit_of(one.hypothesis) for one in trial.results}
    values = {
        "trial": trial, "when": when, "head": HEAD, "rows": [_row(one) for one in trial.results],
        "seen_head": SEEN, "seen": [row for one in trial.planned_looks for row in _seen(one, units)],
        "methods": list(_methods(trial)),
    }  # fmt: skip
    before, after = (TEMPLATE.render(**values, before=first) for first in (True, False))
    return ConfirmatoryPart(trial.findings, Markup(before), Markup(after), _as_json(trial))  # noqa: S704  (escaped)


HEAD = (
    "Hypothesis", "Conclusion", "Raw means", "Raw difference", "Effect", "Interval of the test", "p", "Corrected p",
    "Tested at",
)  # fmt: skip


def _row(result: HypothesisResult) -> tuple[str, ...]:
    one, found, unit = result.hypothesis, result.found, unit_of(result.hypothesis)
    name = f"{one.id} ({one.role})"
    if found is None or result.p is None:
        return (name, "no estimate", *["–"] * (len(HEAD) - 3), f"{result.alpha:.4g}")
    return (
        name,
        "too few participants" if result.too_few else "shown" if result.confirmed else "not shown",
        *raw_means(result),
        format_value(found.estimate, unit),
        f"{format_interval(result.low, result.high, unit)} ({format_level(result.level)})",
        format_p_value(result.p, sides(one.direction)),
        "–" if result.p_adjusted is None else format_p_value(result.p_adjusted),
        f"{result.alpha:.4g}",
    )


SEEN = ("Look", "Hypothesis", "Effect", "Interval over all looks", "p", "Stop at p", "Advice")


def _seen(look: RecordedLook, units: Mapping[str, Unit]) -> Iterator[tuple[str, ...]]:
    for found in look.result.get("hypotheses", ()):
        unit = units.get(found["id"], NUMBER)
        yield (
            str(look.number),
            found["id"],
            format_value(found["effect"], unit) + (" (A minus B)" if look.result["blinded"] else ""),
            format_interval(found["low"], found["high"], unit),
            format_p_value(found["p"], found.get("sides")),
            "–" if found["boundary"] is None else f"{found['boundary']:.4g}",
            "stop" if found["crossed"] else "go on",
        )


def _as_json(trial: TrialReport) -> dict[str, Any]:
    return {
        "version": trial.study.file.version,
        "hash": trial.study.hash,
        "preregistered": trial.preregistered_us and _iso(trial.preregistered_us),
        "over": trial.over,
        "hypotheses": [_hypothesis(one) for one in trial.results],
        "flow": [asdict(one) for one in trial.flows],
        "deviations": [asdict(one) for one in trial.deviations],
        "planned_looks": [asdict(one) for one in trial.planned_looks],
        "unplanned_looks": [asdict(one) for one in trial.unplanned_looks],
    }


def _hypothesis(result: HypothesisResult) -> dict[str, Any]:
    known = {name: getattr(result, name) for name in ("p", "p_adjusted", "alpha", "confirmed", "decision")}
    known |= {name: getattr(result, name) if result.found else None for name in ("low", "high", "level")}
    known |= {"sides": sides(result.hypothesis.direction)}
    plan = result.hypothesis.model_dump(mode="json")
    return {
        **plan,
        **known,
        "figure": f"trial.difference.{result.hypothesis.id}" if result.found else None,
        "why": result.why,
    }


def _iso(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat()

"""What a report says about a study's plan: planned results, flow by group, looks, deviations, methods, checklists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.extensions.analysis.estimates import Finding
from app.extensions.analysis.reads.study_data import flow
from app.extensions.trials.deviations import Deviation, deviations
from app.extensions.trials.outcomes import TrialData, read_trial
from app.extensions.trials.populations import ArmFlow, arm_flows
from app.extensions.trials.results import HypothesisResult, findings, raw_words, trial_results
from app.extensions.trials.wording import (
    ESTIMATOR,
    PAIRED,
    RANDOMISED,
    exclusion_words,
    factor_words,
    hypothesis_words,
    inference_words,
    looks_words,
    missing_words,
    sample_words,
)
from app.use_cases.outcome_lock import outcome_lock
from experiments.study.sections.plan import STEP, Plan
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.plan_events import PlanEvents, RecordedLook, plan_events
from storage.registers.studies import Studies
from storage.reports.plan_history import plan_in_force


@dataclass(frozen=True, slots=True)
class TrialReport:
    """The confirmatory part of a report. `study` is the version with the plan that counts: that of the preregistration
    in force, or else the newest with sessions."""

    study: Study
    plan: Plan
    origin: str
    preregistered_us: int | None
    """When that plan was preregistered, in microseconds UTC; None if it was not."""
    events: PlanEvents
    results: tuple[HypothesisResult, ...]
    flows: tuple[ArmFlow, ...]
    deviations: tuple[Deviation, ...]
    complete: int
    over: bool
    """Whether data collection is over, so that results are final."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return findings(self.results)

    @property
    def planned_looks(self) -> tuple[RecordedLook, ...]:
        return tuple(one for one in self.events.looks if one.number is not None)

    @property
    def unplanned_looks(self) -> tuple[RecordedLook, ...]:
        return tuple(one for one in self.events.looks if one.number is None)

    @property
    def methods(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The methods section: headings, each with a paragraph or the items of a list."""
        return tuple(_methods(self))


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
    steps = any(one.contrast.factor == STEP for one in plan.hypotheses)
    groups = any(one.contrast.factor != STEP for one in plan.hypotheses)
    models = " ".join(words for words, used in ((ESTIMATOR, groups), (PAIRED, steps)) if used)
    covariates = f" Covariates: {', '.join(plan.covariates)}." if plan.covariates else " There are no covariates."
    yield "Statistical model", (f"{models}{covariates}",)
    yield "Inference", (" ".join(inference_words(plan)),)
    yield "Populations", (exclusion_words(plan),)
    yield "Missing data", (missing_words(plan),)
    yield "Participants", tuple(_people(trial))
    yield "Results", tuple(map(_result, trial.results))


def _people(trial: TrialReport) -> Iterator[str]:
    for flow_ in trial.flows:
        for group, numbers in zip(flow_.groups, zip(*(row.counts for row in flow_.rows), strict=True), strict=True):
            counts = ", ".join(f"{row.words} {number:,}" for row, number in zip(flow_.rows, numbers, strict=True))
            yield f"{flow_.factor}, {group}: {counts}."


def _result(result: HypothesisResult) -> str:
    sentence = result.finding.estimates[0].sentence if result.finding else ""
    return " ".join(filter(None, (f"{result.hypothesis.id}.", sentence, raw_words(result), result.decision)))

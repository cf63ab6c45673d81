"""The confirmatory part of a report, in the order in which it is read: planned results, flow by group, looks,
deviations, methods. It consists of blocks and figures, so that every format says the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

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
from app.extensions.analysis.report.build import Block, BulletList, ConfirmatoryPart, Heading, Paragraph, TextTable
from app.extensions.analysis.report.wording import CONFIRMATORY, when
from app.extensions.trials.deviations import Deviation, deviations
from app.extensions.trials.estimator import sides
from app.extensions.trials.outcome_lock import outcome_lock
from app.extensions.trials.outcomes import TrialData, read_trial
from app.extensions.trials.populations import ArmFlow, arm_flows
from app.extensions.trials.reads.plan_events import PlanEvents, RecordedLook, plan_events, plan_in_force
from app.extensions.trials.results import HypothesisResult, findings, raw_means, trial_results, unit_of
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
from experiments.study.sections.plan import STEP, Plan
from experiments.study.study import Study
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.studies import Studies


@dataclass(frozen=True, slots=True)
class TrialReport:
    """The confirmatory part of a report. `study` is the version with the plan that counts: that of the preregistration
    in force, or else the newest with sessions."""

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
    """The methods section: headings, each with a paragraph or the items of a list."""
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


PLANNED = (
    "These hypotheses were decided beforehand. Each is tested once, on everybody as assigned (intention to treat), at "
    "the level of the plan."
)
# In place of PLANNED where the plan has looks.
LOOKED = (
    "These hypotheses were decided beforehand. Each is tested on everybody as assigned (intention to treat). Primary "
    "hypotheses are tested at each planned look too, so that the test here has only the alpha that those looks left."
)
UNREGISTERED = (
    "The plan was not preregistered with Parley: it is that of the study file, and nothing shows that it was "
    "written before the data were seen."
)
DEPENDS = (
    "In each of the following tables the first row is the confirmatory result. The other rows show how far it depends "
    "on who is analysed; they are not corrected and decide nothing."
)


def confirmatory_part(database: Database, study: str, origin: str) -> ConfirmatoryPart | None:
    """None without a plan."""
    trial = trial_report(database, study, origin)
    return None if trial is None else part_of(trial)


def part_of(trial: TrialReport) -> ConfirmatoryPart:
    return ConfirmatoryPart(trial.findings, tuple(confirmatory(trial)), _as_json(trial))


def confirmatory(trial: TrialReport) -> Iterator[Block | Finding]:
    """The planned results with their figures, participants, looks and deviations, and the methods section."""
    yield Heading(2, CONFIRMATORY, "confirmatory")
    yield Paragraph(f"{LOOKED if trial.plan.looks else PLANNED} {_origin(trial)}")
    if trial.preregistered_us is None and not trial.events.looks:
        yield Paragraph(UNREGISTERED)
    if not trial.over:
        yield Paragraph(_interim(trial), loud=True)
    yield TextTable("Planned hypotheses", HEAD, tuple(map(_row, trial.results)), 2)
    yield BulletList(
        tuple(f"{one.hypothesis.id} (“{one.hypothesis.claim.strip()}”): {one.decision}" for one in trial.results)
    )
    if trial.findings:
        yield Heading(3, "Results by hypothesis", "trial.results")
        yield Paragraph(DEPENDS)
    for result in trial.results:
        if result.finding is not None:
            yield result.finding
    yield Heading(3, "Participants by group", "trial.participants")
    for arm_flow in trial.flows:
        yield from _flow(arm_flow)
    yield from _history(trial)
    yield Heading(3, "Methods", "trial.methods")
    for title, texts in _methods(trial):
        yield Heading(4, title)
        yield Paragraph(texts[0]) if len(texts) == 1 else BulletList(texts)


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


def _origin(trial: TrialReport) -> str:
    version = f"version {trial.study.file.version} of the study ({trial.study.hash[:12]})"
    if trial.preregistered_us is None:
        return f"The plan is that of {version}."
    return f"The plan is that of {version}, preregistered on {when(trial.preregistered_us)}."


def _interim(trial: TrialReport) -> str:
    wanted = f" of {trial.plan.participants:,}" if trial.plan.participants else ""
    return (
        f"Data collection is not over: {trial.complete:,}{wanted} planned participants have completed. These results "
        "are not the planned analysis."
    )


def _flow(flow: ArmFlow) -> Iterator[Block]:
    rows = tuple((row.words, *(f"{count:,}" for count in row.counts)) for row in flow.rows)
    which = "Two steps" if flow.factor == STEP else f"Groups of {flow.factor}"
    some = "hypothesis" if len(flow.hypotheses) == 1 else "hypotheses"
    title = f"{which} ({some} {', '.join(flow.hypotheses)})"
    yield Heading(4, title)
    yield TextTable(title, ("Stage", *flow.groups), rows)


def _history(trial: TrialReport) -> Iterator[Block | Finding]:
    """Looks and deviations; what a study without a preregistration has none of is not said."""
    if trial.planned_looks:
        yield Heading(3, "Planned looks", "trial.looks")
        yield BulletList(tuple(f"{_look(one)}{_advice(one)}" for one in trial.planned_looks))
        units = {one.hypothesis.id: unit_of(one.hypothesis) for one in trial.results}
        rows = tuple(row for one in trial.planned_looks for row in _seen(one, units))
        yield TextTable(SHOWED, SEEN, rows, 2)
    if trial.unplanned_looks:
        yield Heading(3, "Unplanned looks at outcomes", "trial.unplanned_looks")
        yield BulletList(tuple(map(_look, trial.unplanned_looks)))
    if trial.deviations:
        yield Heading(3, "Deviations from the plan", "trial.deviations")
        reasons = ((one, one.reason or "no reason was given") for one in trial.deviations)
        yield BulletList(tuple(f"{when(one.at_us)}: {one.what}. Reason: {why}" for one, why in reasons))
    elif trial.preregistered_us is not None:
        yield Heading(3, "Deviations from the plan", "trial.deviations")
        yield Paragraph("None is recorded.")


def _look(look: RecordedLook) -> str:
    which = f"look {look.number}" if look.number is not None else f"by {look.who}, through {look.through}"
    why = f": {look.why}" if look.why else ""
    return f"{when(look.at_us)}, {which}, with {look.complete:,} complete participants{why}"


SHOWED = "What the planned looks showed"
SEEN = ("Look", "Hypothesis", "Effect", "Interval over all looks", "p", "Stop at p", "Advice")


def _advice(look: RecordedLook) -> str:
    """The advice of a planned look, and a note if it named the groups; empty if its result is not recorded."""
    if not look.result:
        return ""
    blind = ", with the groups called A and B" if look.result["blinded"] else ""
    return f"{blind}. Advice: {'stop' if look.result['stop'] else 'go on'}"


def _seen(look: RecordedLook, units: Mapping[str, Unit]) -> Iterator[tuple[str, ...]]:
    """The rows of a planned look, one for each primary hypothesis."""
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
    """The plan's results: which figures are confirmatory, with their decisions."""
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

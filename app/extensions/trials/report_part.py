"""The confirmatory part of a report: what was planned, in the order in which it is read.

It consists of the blocks of the text formats and of figures, so that every format says the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
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
from app.extensions.analysis.report.blocks import Block, BulletList, Heading, Paragraph, TextTable
from app.extensions.analysis.report.build import ConfirmatoryPart
from app.extensions.analysis.report.wording import CONFIRMATORY, when
from app.extensions.trials.checklists import Checklist, checklists
from app.extensions.trials.hypothesis_tests import sides
from app.extensions.trials.populations import ArmFlow
from app.extensions.trials.results import HypothesisResult, raw_means, unit_of
from app.extensions.trials.trial_report import TrialReport, trial_report
from experiments.study.sections.plan import STEP
from storage.db.engine import Database
from storage.registers.plan_events import RecordedLook

PLANNED = (
    "These hypotheses were decided beforehand. Each is tested once, on everybody as assigned (intention to treat), at "
    "the level of the plan."
)
LOOKED = (
    "These hypotheses were decided beforehand. Each is tested on everybody as assigned (intention to treat). Primary "
    "hypotheses are tested at each planned look too, so that the test here has only the alpha that those looks left."
)
"""In place of PLANNED where the plan has looks."""
UNREGISTERED = (
    "The plan was not preregistered with Parley: it is that of the study file, and nothing shows that it was "
    "written before the data were seen."
)
DEPENDS = (
    "In each of the following tables the first row is the confirmatory result. The other rows show how far it depends "
    "on who is analysed; they are not corrected and decide nothing."
)


def confirmatory_part(database: Database, study: str, origin: str) -> ConfirmatoryPart | None:
    """What the report of a study with a plan says about it; None without a plan."""
    trial = trial_report(database, study, origin)
    return None if trial is None else part_of(trial)


def part_of(trial: TrialReport) -> ConfirmatoryPart:
    tables = tuple(map(_checklist, checklists(trial)))
    return ConfirmatoryPart(trial.findings, tuple(confirmatory(trial)), tables, _as_json(trial))


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
        tuple((f"{one.hypothesis.id} (“{one.hypothesis.claim.strip()}”): {one.decision}", "") for one in trial.results)
    )
    if trial.findings:
        yield Heading(3, "Results by hypothesis", "trial.results")
        yield Paragraph(DEPENDS)
    for result in trial.results:
        if result.finding is not None:
            yield result.finding
    yield Heading(3, "Participants by group", "trial.participants")
    for flow in trial.flows:
        yield from _flow(flow)
    yield from _history(trial)
    yield Heading(3, "Methods", "trial.methods")
    for title, texts in trial.methods:
        yield Heading(4, title)
        yield Paragraph(texts[0]) if len(texts) == 1 else BulletList(tuple((text, "") for text in texts))


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
        yield BulletList(tuple((f"{_look(one)}{_advice(one)}", "") for one in trial.planned_looks))
        units = {one.hypothesis.id: unit_of(one.hypothesis) for one in trial.results}
        rows = tuple(row for one in trial.planned_looks for row in _seen(one, units))
        yield TextTable(SHOWED, SEEN, rows, 2)
    if trial.unplanned_looks:
        yield Heading(3, "Unplanned looks at outcomes", "trial.unplanned_looks")
        yield BulletList(tuple((_look(one), "") for one in trial.unplanned_looks))
    if trial.deviations:
        yield Heading(3, "Deviations from the plan", "trial.deviations")
        reasons = ((one, one.reason or "no reason was given") for one in trial.deviations)
        yield BulletList(tuple((f"{when(one.at_us)}: {one.what}. Reason: {why}", "") for one, why in reasons))
    elif trial.preregistered_us is not None:
        yield Heading(3, "Deviations from the plan", "trial.deviations")
        yield Paragraph("None is recorded.")


def _look(one: RecordedLook) -> str:
    which = f"look {one.number}" if one.number is not None else f"by {one.who}, through {one.through}"
    why = f": {one.why}" if one.why else ""
    return f"{when(one.at_us)}, {which}, with {one.complete:,} complete participants{why}"


SHOWED = "What the planned looks showed"
SEEN = ("Look", "Hypothesis", "Effect", "Interval over all looks", "p", "Stop at p", "Advice")


def _advice(one: RecordedLook) -> str:
    """What a planned look advised, and whether it named the groups; empty if its result is not recorded."""
    if not one.result:
        return ""
    blind = ", with the groups called A and B" if one.result["blinded"] else ""
    return f"{blind}. Advice: {'stop' if one.result['stop'] else 'go on'}"


def _seen(one: RecordedLook, units: Mapping[str, Unit]) -> Iterator[tuple[str, ...]]:
    """The rows of a planned look, one for each primary hypothesis."""
    for found in one.result.get("hypotheses", ()):
        unit = units.get(found["id"], NUMBER)
        yield (
            str(one.number),
            found["id"],
            format_value(found["effect"], unit) + (" (A minus B)" if one.result["blinded"] else ""),
            format_interval(found["low"], found["high"], unit),
            format_p_value(found["p"], found.get("sides")),
            "–" if found["boundary"] is None else f"{found['boundary']:.4g}",
            "stop" if found["crossed"] else "go on",
        )


def _checklist(one: Checklist) -> TextTable:
    rows = tuple((item.number, item.item, item.answer) for item in one.items)
    title = f"{one.title} ({one.source}): {one.answered} of {len(one.items)} items answered here"
    return TextTable(title, ("Item", "What to report", "Where"), rows, 3)


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
        "checklists": [asdict(one) for one in checklists(trial)],
    }


def _hypothesis(one: HypothesisResult) -> dict[str, Any]:
    known = {name: getattr(one, name) for name in ("p", "p_adjusted", "alpha", "confirmed", "decision")}
    known |= {name: getattr(one, name) if one.found else None for name in ("low", "high", "level")}
    known |= {"sides": sides(one.hypothesis.direction)}
    plan = one.hypothesis.model_dump(mode="json")
    return {**plan, **known, "figure": f"trial.difference.{one.hypothesis.id}" if one.found else None, "why": one.why}


def _iso(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).isoformat()

"""The contents of a report, read from a study's data; with its CONSORT flow diagram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from app.extension import hooked
from app.extensions.analysis.estimates import Finding
from app.extensions.analysis.reads.study_data import ParticipantFlow, flow, recorded, require_origin
from app.extensions.analysis.report.blocks import Block, TextTable
from app.extensions.analysis.report.published_comparison import FigureComparison, PublishedPaper, compare_with_published
from app.extensions.analysis.report.quality_and_costs import DataQuality, ModelCosts, quality, spent
from app.extensions.analysis.report.wording import WARNINGS, WHOSE, ended
from app.extensions.analysis.results import Results, Steps, results
from experiments.study.cells import cells
from experiments.study.study import Study
from problems.errors import DISTRIBUTION
from storage.ai_alone.model_use import asked_alone_of
from storage.db.engine import Database
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.schemas.registry import schema

MOST_VALUES = 12
"""A factor with more values than this (such as batches of questions) is summarised in one line."""


@dataclass(frozen=True, slots=True)
class FactorArm:
    """A factor's value: how many participants started and completed, their share, and its target."""

    factor: str
    value: str
    arrived: int
    complete: int
    share: float | None
    target: float | None


@dataclass(frozen=True, slots=True)
class VersionUsed:
    """A version of the study that has sessions."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class ConfirmatoryPart:
    """What an extension says in the report of a study with a plan, before all other results: its findings stand among
    its `blocks`, its checklists at the end, and `data` in the JSON report."""

    findings: tuple[Finding, ...]
    blocks: tuple[Block | Finding, ...]
    checklists: tuple[TextTable, ...]
    data: Mapping[str, Any]


CONFIRMATORY_HOOK = "confirmatory_part"
"""A function of the database, the study and the origin; it returns a ConfirmatoryPart, or None without a plan."""


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report. An imported release has no costs."""

    study: str
    title: str
    origin: str
    versions: tuple[VersionUsed, ...]
    flow: ParticipantFlow
    arms: tuple[FactorArm, ...]
    results: Results
    made_us: int
    parley: str
    quality: DataQuality | None = None
    costs: ModelCosts | None = None
    against: PublishedPaper | None = None
    trial: ConfirmatoryPart | None = None
    """The confirmatory part, for a study with a plan."""
    unfinished: bool = False
    """Whether sessions that were not completed are analysed."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, those of the plan first."""
        return (*(self.trial.findings if self.trial else ()), *self.results.findings)

    @property
    def warning(self) -> str:
        """A warning for simulated, rehearsed and pilot data; empty for participants' and published data."""
        return WARNINGS.get(self.origin, "")

    @property
    def whose(self) -> str:
        """The source of the data, in words."""
        said = WHOSE.get(self.origin, self.origin)
        if self.origin == Origin.PERSON and not self.flow.arrived:
            said = "models alone; no person took part"
        return f"{said}, {self.part}" if self.part else said

    @property
    def part(self) -> str:
        """The part of an imported release that it is about; empty if that is not divided, and for own sessions."""
        return self.flow.part if self.origin == Origin.IMPORT else ""

    @property
    def excluded(self) -> int:
        """The number of sessions that a researcher excluded."""
        return sum(self.flow.excluded.values())

    @property
    def compared(self) -> tuple[FigureComparison, ...]:
        return tuple(compare_with_published(self.results.findings, self.against))

    @property
    def comparison_summary(self) -> str:
        """A summary of the comparison with the paper, in words."""
        return self.against.summary(self.compared, self.results.findings) if self.against else ""


def build_report(
    database: Database,
    study: str,
    origin: str,
    at_us: int,
    *,
    steps: Steps = iter,
    against: PublishedPaper | None = None,
    part: str = "",
    unfinished: bool = False,
) -> Report:
    """Read and compute the contents of a study's report, of an imported release about one `part` of it. Sessions that
    were not completed are analysed only if `unfinished` is true.

    Raises StorageError if it has no sessions of that origin or part, PublishedUnknown if it has no such model to
    compare.
    """
    require_origin(database, study, origin)
    people = flow(database, study, origin, part)
    part = people.part if origin == Origin.IMPORT else ""
    studies = Studies(database).with_sessions(study, origin)
    asked = studies or tuple(map(Studies(database).get, asked_alone_of(database, study)))
    versions = tuple(VersionUsed(one.file.version, one.hash) for one in asked)
    title = asked[-1].file.title if asked else ", ".join(schema(name).title for name in recorded(database, study))
    arms = tuple(_arms(people, studies[-1])) if studies else ()
    found = results(database, study, origin, whole=True, steps=steps, part=part, unfinished=unfinished)
    if against is not None:
        against.check(found.findings)
    known = quality(database, study, origin, found.schemas, at_us, part)
    paid = spent(database, study, studies[-1].file.currency) if studies else None
    parts = (study, title, origin, versions, people, arms, found, at_us, version(DISTRIBUTION), known, paid, against)
    planned = (part(database, study, origin) for part in hooked(CONFIRMATORY_HOOK))
    return Report(*parts, next(planned, None) if studies else None, unfinished)


def _arms(people: ParticipantFlow, study: Study) -> Iterator[FactorArm]:
    """The values of each factor, including those without sessions; one line for a factor with very many values."""
    every = cells(study.factors, study.pools)
    for factor in study.factors:
        targets: dict[str, float] = {}
        for cell in every:
            targets[cell.values[factor]] = targets.get(cell.values[factor], 0.0) + cell.weight
        met = people.factors.get(factor, {})
        if len(targets) > MOST_VALUES:
            yield _many(factor, met)
        else:
            yield from _each(factor, met, targets)


def _each(factor: str, met: Mapping[str, tuple[int, int]], targets: Mapping[str, float]) -> Iterator[FactorArm]:
    whole = sum(complete for _, complete in met.values())
    for value in dict.fromkeys((*targets, *met)):
        arrived, complete = met.get(value, (0, 0))
        yield FactorArm(factor, value, arrived, complete, complete / whole if whole else None, targets.get(value))


def _many(factor: str, met: Mapping[str, tuple[int, int]]) -> FactorArm:
    completed: Sequence[int] = sorted(complete for _, complete in met.values()) or [0]
    words = f"{len(met)} values, each completed by {completed[0]:,} to {completed[-1]:,}"
    return FactorArm(factor, words, sum(arrived for arrived, _ in met.values()), sum(completed), None, None)


FEW_ARMS = 4
"""The flow shows the values of a factor that has at most this many."""
NOBODY = "its rows belong to no participant"
ANALYSED = "not excluded, and at least one answer, rating or vote"


@dataclass(frozen=True, slots=True)
class FlowExit:
    """The participants who left at a stage, by reason."""

    number: int
    words: str
    items: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FlowStage:
    """The number of participants who reached a stage, those who left before it, and its conditions."""

    number: int
    words: str
    note: str = ""
    out: FlowExit | None = None
    arms: tuple[FactorArm, ...] = ()


def flow_stages(report: Report) -> Iterator[FlowStage]:
    """The stages of the flow, from first to last. An imported release has only the stages that are known."""
    people, analysed = report.flow, report.results.analysed
    if report.origin == Origin.IMPORT:
        yield from _released(report)
        return
    yield FlowStage(people.arrived, "started", arms=_allocated(report))
    others = tuple((number, words) for kind, words, number in ended(people) if kind != COMPLETE)
    left = sum(number for number, _ in others)
    complete = people.outcomes.get(COMPLETE, 0)
    yield FlowStage(complete, "completed the study", out=FlowExit(left, "did not complete it", others))
    if report.unfinished:
        reasons = tuple((number, why) for why, number in people.excluded.items())
        out = FlowExit(report.excluded, "excluded by a researcher", reasons)
        yield FlowStage(analysed, "analysed", f"{ANALYSED}; includes sessions that were not completed", out)
    else:
        yield FlowStage(analysed, "analysed", ANALYSED, _left_out(people.excluded_complete, complete - analysed))


def _released(report: Report) -> Iterator[FlowStage]:
    people, analysed = report.flow, report.results.analysed
    yield FlowStage(people.arrived, "in the release", "" if people.arrived else NOBODY)
    others = tuple((number, part) for part, number in people.elsewhere.items())
    elsewhere = sum(people.elsewhere.values())
    if others:
        other = FlowExit(elsewhere, "in other parts of the release only", others)
        yield FlowStage(people.arrived - elsewhere, f"in {people.part}", out=other)
    yield FlowStage(analysed, "analysed", ANALYSED, _left_out(people.excluded, people.arrived - elsewhere - analysed))


def _left_out(excluded: Mapping[str, int], number: int) -> FlowExit | None:
    """So many participants who are not analysed, by the reasons of those who were excluded."""
    reasons = [(count, why) for why, count in excluded.items() if count]
    silent = number - sum(excluded.values())
    reasons += [(silent, "no answer, rating or vote")] if silent > 0 else []
    return FlowExit(sum(count for count, _ in reasons), "left out", tuple(reasons)) if reasons else None


def _allocated(report: Report) -> tuple[FactorArm, ...]:
    """The values of `condition` if it has at most FEW_ARMS of them, else of the first factor that does."""
    factors: dict[str, list[FactorArm]] = {}
    for arm in report.arms:
        factors.setdefault(arm.factor, []).append(arm)
    few = [name for name, arms in factors.items() if 1 < len(arms) <= FEW_ARMS]
    first = "condition" if "condition" in few else next(iter(few), None)
    return tuple(factors[first]) if first else ()

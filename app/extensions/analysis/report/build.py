"""The contents of a report, read from a study's data; with its CONSORT flow diagram.

The parts of a report in their order: the main results, a section for each schema, and tables of rows and columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from app.extension import hooked
from app.extensions.analysis.chatbench.published import FigureComparison, PublishedPaper, compare_with_published
from app.extensions.analysis.estimates import Estimate, Finding, in_words
from app.extensions.analysis.reads.study_data import ParticipantFlow, flow, recorded, require_origin
from app.extensions.analysis.report.wording import WARNINGS, WHOSE, ended, family
from app.extensions.analysis.results import EVERY, MAIN, Results, matches, results
from experiments.study.cells import cells
from experiments.study.study import Study
from problems.errors import DISTRIBUTION
from storage.ai_alone.model_use import asked_alone_of
from storage.db.engine import Database
from storage.log.seats import COMPLETE
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.schemas.registry import schema

# A factor with more values than this (such as batches of questions) is summarised in one line.
MOST_VALUES = 12


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
    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class ConfirmatoryPart:
    """An extension's part of the report on a study with a plan: HTML before and after its findings, and JSON `data`."""

    findings: tuple[Finding, ...]
    before: Markup
    after: Markup
    data: Mapping[str, Any]


# A function of the database, the study and the origin; it returns a ConfirmatoryPart, or None without a plan.
CONFIRMATORY_HOOK = "confirmatory_part"


@dataclass(frozen=True, slots=True)
class Report:
    study: str
    title: str
    origin: str
    versions: tuple[VersionUsed, ...]
    flow: ParticipantFlow
    arms: tuple[FactorArm, ...]
    results: Results
    made_us: int
    parley: str
    against: PublishedPaper | None = None
    trial: ConfirmatoryPart | None = None
    """The confirmatory part, for a study with a plan."""
    unfinished: bool = False
    """True if sessions that were not completed are analysed."""

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
        return sum(self.flow.excluded.values())

    @property
    def compared(self) -> tuple[FigureComparison, ...]:
        return tuple(compare_with_published(self.results.findings, self.against))

    @property
    def comparison_summary(self) -> str:
        return self.against.summary(len(self.compared)) if self.against else ""


def build_report(
    database: Database,
    study: str,
    origin: str,
    at_us: int,
    *,
    paper: PublishedPaper | None = None,
    part: str = "",
    unfinished: bool = False,
) -> Report:
    """A report of sessions that were completed, or with `unfinished` of all; of an imported release on one `part`.
    Raises StorageError if there are no sessions of that origin or part."""
    require_origin(database, study, origin)
    people = flow(database, study, origin, part)
    part = people.part if origin == Origin.IMPORT else ""
    studies = Studies(database).with_sessions(study, origin)
    asked = studies or tuple(map(Studies(database).get, asked_alone_of(database, study)))
    versions = tuple(VersionUsed(one.file.version, one.hash) for one in asked)
    title = asked[-1].file.title if asked else ", ".join(schema(name).title for name in recorded(database, study))
    arms = tuple(_arms(people, studies[-1])) if studies else ()
    found = results(database, study, origin, whole=True, part=part, unfinished=unfinished)
    parts = (study, title, origin, versions, people, arms, found, at_us, version(DISTRIBUTION), paper)
    planned = (part(database, study, origin) for part in hooked(CONFIRMATORY_HOOK))
    return Report(*parts, next(planned, None) if studies else None, unfinished)


def _arms(flow: ParticipantFlow, study: Study) -> Iterator[FactorArm]:
    """The values of each factor, including those without sessions; one line for a factor with very many values."""
    every = cells(study.factors, study.pools)
    for factor in study.factors:
        targets: dict[str, float] = {}
        for cell in every:
            targets[cell.values[factor]] = targets.get(cell.values[factor], 0.0) + cell.weight
        met = flow.factors.get(factor, {})
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


# The flow shows the values of a factor that has at most this many.
FEW_ARMS = 4
NOBODY = "its rows belong to no participant"
ANALYSED = "not excluded, and at least one answer, rating or vote"


@dataclass(frozen=True, slots=True)
class FlowExit:
    number: int
    words: str
    items: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class FlowStage:
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
    words = "completed the first wave" if people.first_wave else "completed the study"
    ways = "did not complete it" + (", or withdrew later" if "withdrawn" in people.outcomes else "")
    yield FlowStage(complete, words, out=FlowExit(left, ways, others))
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
    reasons = [(count, f"excluded ({why})") for why, count in excluded.items() if count]
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


@dataclass(frozen=True, slots=True)
class GridRow:
    """A group with an estimate in each column, or None where it has none."""

    label: str
    cells: tuple[Estimate | None, ...]
    size: tuple[int, int] | None
    """n and the number of participants, if the table has them once for each row."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `counts` is what n counts if that is once for each row, else empty."""

    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    counts: str


def grid(finding: Finding) -> Grid | None:
    if not finding.columns:
        return None
    cells: dict[str, dict[str, Estimate]] = {}
    for one, (row, column) in zip(finding.estimates, grid_places(finding), strict=True):
        cells.setdefault(row, {})[column] = one
    heads = tuple(dict.fromkeys(column for row in cells.values() for column in row))
    sizes = {label: {(one.n, one.participants) for one in row.values()} for label, row in cells.items()}
    alike = all(len(size) == 1 for size in sizes.values())
    rows = (
        GridRow(label, tuple(row.get(head) for head in heads), next(iter(sizes[label])) if alike else None)
        for label, row in cells.items()
    )
    return Grid(heads, tuple(rows), finding.counts if alike else "")


def grid_places(finding: Finding) -> list[tuple[str, str]]:
    keys = [
        tuple((name, value) for name, value in one.groups.items() if name not in finding.columns)
        for one in finding.estimates
    ]
    labels = {key: ", ".join(in_words(value) for _, value in key) for key in keys}
    often = Counter(labels.values())
    named = {key: ", ".join(f"{name}: {value}" for name, value in key) for key in keys if often[labels[key]] > 1}
    return [((labels | named)[key], _column(finding, one)) for key, one in zip(keys, finding.estimates, strict=True)]


def _column(finding: Finding, estimate: Estimate) -> str:
    values = {column: estimate.groups[column] for column in finding.columns if column in estimate.groups}
    if len(finding.columns) > 1 and not (len(values) > 1 and {*EVERY}.issuperset(values.values())):
        worded = {column: in_words(value) for column, value in values.items()}
        return ", ".join(f"{column}: {value}" if value == values[column] else value for column, value in worded.items())
    return in_words(next(iter(values.values()), ""))


# A main result needs so many participants, or answers where models answered alone.
FEWEST = 10
TOO_FEW = (
    f"No main result yet: each tells of one group, such as an arm, and needs {FEWEST} participants in it"
    " (answers, if models answered alone). All figures are below."
)
# The maximum number of sentences of a section's main results.
MOST = 8
SURVEYS = "survey"


@dataclass(frozen=True, slots=True)
class ReportSection:
    """The findings of a schema, or of both editions of one; `main` are its main results in sentences."""

    title: str
    anchor: str
    findings: tuple[Finding, ...]
    main: tuple[str, ...]


def sections(findings: Sequence[Finding]) -> Iterator[ReportSection]:
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(family(finding.name), []).append(finding)
    for title, own in found.items():
        anchor = own[0].name.partition(".")[0]
        yield ReportSection(title, anchor, tuple(_titled(own)), tuple(_main(anchor.partition("-")[0], own)))


def _titled(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings; those of two editions with the edition in their titles."""
    often = Counter(finding.title for finding in findings)
    for one in findings:
        edition = (
            f" ({one.name.partition('.')[0]})" if often[one.title] > 1 and "-" in one.name.partition(".")[0] else ""
        )
        yield replace(one, title=f"{one.title}{edition}")


def _main(schema: str, findings: Sequence[Finding]) -> Iterator[str]:
    """The sentences of the main results; of a section without declared ones, those of its first finding."""
    estimates = [one for finding in findings for one in finding.estimates]
    if schema == SURVEYS or not estimates:
        return
    large = [one for one in estimates if _is_large(one)]
    named = [one for pattern in MAIN.get(schema, ()) for one in large if matches(one.name, pattern)]
    first = next(finding.estimates for finding in findings if finding.estimates)
    shown = named or [one for one in first if _is_large(one)]
    yield from [one.sentence for one in shown[:MOST]] or [TOO_FEW]


def _is_large(estimate: Estimate) -> bool:
    return (estimate.participants or estimate.n) >= FEWEST

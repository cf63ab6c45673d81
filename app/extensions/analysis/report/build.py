"""Data quality (flags of sessions) and the cost of models' replies, for the report.

The contents of a report, read from a study's data; with its CONSORT flow diagram."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, TypeAlias

from app.extension import hooked
from app.extensions.analysis.chatbench.accuracy import ATTENTION, TABLE
from app.extensions.analysis.data_frames import SESSION, frame
from app.extensions.analysis.estimates import Finding
from app.extensions.analysis.reads.study_data import ParticipantFlow, flow, origins_of, recorded, require_origin
from app.extensions.analysis.report.published_comparison import FigureComparison, PublishedPaper, compare_with_published
from app.extensions.analysis.report.wording import WARNINGS, WHOSE, ended
from app.extensions.analysis.results import Results, Steps, results
from experiments.study.cells import cells
from experiments.study.study import Study
from experiments.views.quality_flags import FLAGS
from problems.errors import DISTRIBUTION
from storage.ai_alone.model_use import asked_alone_of
from storage.db.engine import Database
from storage.log.seats import COMPLETE, query_params
from storage.registers.origins import Origin
from storage.registers.studies import Studies
from storage.reports.blinding import ALL, blinding
from storage.reports.costs import Cost, costs
from storage.reports.monitoring.sessions import flag_counts, session_groups
from storage.schemas.registry import schema

EVERYBODY = (
    "Model calls of all sessions of the study: those of participants, pilot sessions and simulated participants."
)


@dataclass(frozen=True, slots=True)
class DataQuality:
    """Data-quality issues of sessions of an origin, including excluded ones.

    For imports only attention checks are known. `checked` is the number of participants with a question of ChatBench's
    attention check, and `missed` the number of those who answered one wrongly.
    """

    flags: Mapping[str, int]
    flagged: int
    pasted: int
    replies: int
    leaks: int
    checked: int
    missed: int

    def issues(self, flow: ParticipantFlow) -> Iterator[tuple[str, int, int]]:
        """Each issue in words, with its count and the total."""
        if flow.origin != Origin.IMPORT:
            yield "Sessions with a flag", self.flagged, flow.arrived
            for name, words in FLAGS.items():
                yield f"Sessions that {words} ({name})", self.flags.get(name, 0), flow.arrived
            yield "Sessions in which text was pasted", self.pasted, flow.arrived
            yield "Sessions that a researcher excluded", sum(flow.excluded.values()), flow.arrived
        if self.replies:
            yield "Replies that revealed which model wrote them", self.leaks, self.replies
        if self.checked:
            yield "Participants who missed a question of the attention check", self.missed, self.checked


@dataclass(frozen=True, slots=True)
class ModelCosts:
    """The usage and cost of each model, most expensive first, and the currency."""

    currency: str
    models: Mapping[str, Cost]

    @property
    def total(self) -> Cost:
        return sum(self.models.values(), Cost())

    @property
    def by_model(self) -> Iterator[tuple[str, Cost]]:
        """The cost of each model, and the total if there are several."""
        yield from self.models.items()
        if len(self.models) > 1:
            yield "all", self.total

    @property
    def note(self) -> str:
        """Which calls the costs cover, and the number of replies with unknown cost."""
        unknown = self.total.unknown
        return f"{EVERYBODY} {unknown:,} replies have no known cost." if unknown else EVERYBODY


def money(cost: Cost) -> str:
    """Format a cost; `over` if part of it is unknown."""
    if not cost.unknown:
        return f"{cost.cost:,.4f}"
    return f"over {cost.cost:,.4f}" if cost.cost else "unknown"


def quality(
    database: Database, study: str, origin: str, schemas: Collection[str], now_us: int, part: str = ""
) -> DataQuality:
    """The data-quality issues of a study's sessions."""
    checked, missed = _attention(database, study, origin, part) if "chatbench" in schemas else (0, 0)
    if origin == Origin.IMPORT or origin not in origins_of(database, study):  # read, or of models alone
        return DataQuality({}, 0, 0, 0, 0, checked, missed)
    with database.connect() as connection:
        found = flag_counts(session_groups(connection, query_params(study, origin, now_us, 0)))
    rows = [row for row in blinding(database, study, origin).leaks if row.by == ALL]
    replies, leaks = sum(row.replies for row in rows), sum(row.flagged for row in rows)
    return DataQuality(found.flags, found.flagged, found.pasted, replies, leaks, checked, missed)


def _attention(database: Database, study: str, origin: str, part: str) -> tuple[int, int]:
    """The number of participants with an attention check among their questions, and of those who missed one."""
    answers = frame(database, study, TABLE, origin, excluded=True, columns=("dataset", "acc"), part=part)
    checks = answers[(answers["dataset"] == ATTENTION) & answers["acc"].notna()]
    missed = checks.loc[checks["acc"].astype("float64") < 1, SESSION]
    return int(checks[SESSION].nunique()), int(missed.nunique())


def spent(database: Database, study: str, currency: str) -> ModelCosts:
    """The usage and cost of a study's models, over sessions of all origins."""
    return ModelCosts(currency, costs(database, study, "model"))


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a level from 1; links reach it by its anchor, if it has one."""

    level: int
    text: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a loud one is a warning."""

    text: str
    loud: bool = False


@dataclass(frozen=True, slots=True)
class BulletList:
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table; the first `words` columns are text, the others numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


Block: TypeAlias = Heading | Paragraph | BulletList | TextTable


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
    """A version of the study that has sessions."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class ConfirmatoryPart:
    """The part of an extension in the report of a study with a plan, before all other results: its findings stand among
    its `blocks`, and `data` in the JSON report."""

    findings: tuple[Finding, ...]
    blocks: tuple[Block | Finding, ...]
    data: Mapping[str, Any]


# A function of the database, the study and the origin; it returns a ConfirmatoryPart, or None without a plan.
CONFIRMATORY_HOOK = "confirmatory_part"


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
    paper: PublishedPaper | None = None,
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
    if paper is not None:
        paper.check(found.findings)
    known = quality(database, study, origin, found.schemas, at_us, part)
    paid = spent(database, study, studies[-1].file.currency) if studies else None
    parts = (study, title, origin, versions, people, arms, found, at_us, version(DISTRIBUTION), known, paid, paper)
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
    words = "completed the first wave" if people.first_wave else "completed the study"
    yield FlowStage(complete, words, out=FlowExit(left, "did not complete it", others))
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

"""The report of a study: everything about its results on one page that needs no network and can be printed.

`gather` reads, `html` draws: the console serves `html(gather(...))`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.analysis.estimates import between, written
from app.analysis.forest import forest
from app.analysis.results import Results, results
from experiments.core.cells import cells
from experiments.core.resolve import Study
from storage.engine import Database
from storage.origins import PILOT, origins
from storage.reading import UNDER_WAY, Flow, flow, recorded
from storage.recorded import ORIGIN as IMPORT
from storage.schemas.registry import schema
from storage.studies import Studies

WHOSE: Mapping[str, str] = MappingProxyType(
    {"person": "people", PILOT: "pilot sessions", "bot": "simulated participants", IMPORT: "an imported release"}
)
WARNINGS: Mapping[str, str] = MappingProxyType(
    {
        "bot": "Simulated data. No person took part in this: do not report it as what people did.",
        PILOT: "Pilot data. The study was only tried out: do not report it as the study's.",
    }
)
ENDED: Mapping[str, str] = MappingProxyType(
    {
        "complete": "completed the study",
        "no_consent": "did not consent",
        "screened_out": "were screened out",
        "failed_attention": "failed the attention checks",
        "timed_out": "ran out of time",
        "technical_failure": "ended for technical reasons",
        "withdrawn": "withdrew, and their data were erased",
        UNDER_WAY: "are under way, or left without ending",
    }
)
MOST_VALUES = 12
"""A factor of more values than these (such as batches of questions) is told in one line."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A factor's value: how many came, how many completed the study, and what share of them was wanted."""

    factor: str
    value: str
    arrived: int
    complete: int
    share: float | None
    target: float | None


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the study that people took part in."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Report:
    """All that the page says."""

    study: str
    title: str
    origin: str
    versions: tuple[Version, ...]
    flow: Flow
    arms: tuple[Arm, ...]
    results: Results
    made_us: int
    parley: str


def gather(database: Database, study: str, origin: str, at_us: int) -> Report:
    """Read and compute what the report of a study says. Raises StorageError where it has nobody of that origin."""
    with database.connect() as connection:
        origins(connection, study, origin)
    people = flow(database, study, origin)
    studies = Studies(database).taken(study, origin)
    versions = tuple(Version(one.file.version, one.hash) for one in studies)
    title = studies[-1].file.title if studies else ", ".join(schema(name).title for name in recorded(database, study))
    arms = tuple(_arms(people, studies[-1])) if studies else ()
    found = results(database, study, origin)
    return Report(study, title, origin, versions, people, arms, found, at_us, version("parley"))


def html(report: Report) -> str:
    """The page."""
    made = f"{datetime.fromtimestamp(report.made_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"
    return _PAGE.render(
        report=report,
        made=made,
        whose=WHOSE.get(report.origin, report.origin),
        warning=WARNINGS.get(report.origin, ""),
        ended=tuple(_ended(report.flow)),
        excluded=sum(report.flow.excluded.values()),
    )


def _ended(people: Flow) -> Iterator[tuple[str, int]]:
    """How sessions ended, in words, in a fixed order; only what occurred."""
    known = [name for name in ENDED if name in people.outcomes]
    for name in (*known, *sorted(people.outcomes.keys() - ENDED.keys())):
        yield ENDED.get(name, name.replace("_", " ")), people.outcomes[name]


def _arms(people: Flow, study: Study) -> Iterator[Arm]:
    """The values of each factor, those that nobody has yet among them; one line for a factor of very many."""
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


def _each(factor: str, met: Mapping[str, tuple[int, int]], targets: Mapping[str, float]) -> Iterator[Arm]:
    whole = sum(complete for _, complete in met.values())
    for value in dict.fromkeys((*targets, *met)):
        arrived, complete = met.get(value, (0, 0))
        yield Arm(factor, value, arrived, complete, complete / whole if whole else None, targets.get(value))


def _many(factor: str, met: Mapping[str, tuple[int, int]]) -> Arm:
    completed: Sequence[int] = sorted(complete for _, complete in met.values()) or [0]
    words = f"{len(met)} values, each completed by {completed[0]:,} to {completed[-1]:,}"
    return Arm(factor, words, sum(arrived for arrived, _ in met.values()), sum(completed), None, None)


_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.globals |= {"forest": forest}
_PAGES.filters |= {
    "written": written,
    "number": lambda value: f"{value:,}",
    "percent": lambda value: "–" if value is None else f"{100 * value:.0f} %",
    "between": lambda one, unit: between(one.low, one.high, unit),
}
_PAGE = _PAGES.get_template("report.html.j2")

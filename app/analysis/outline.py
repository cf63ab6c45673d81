"""How a report presents the findings of a schema: what is said first, which figures belong together, in which order.

Each schema's folder declares an `Outline` in its `outline.py`. A study declares the order of its own values by its
factors, models and problems; it comes before the order of the papers, and values in neither keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.analysis.estimates import Finding
from experiments.study.cells import cells
from experiments.study.study import Study

Order = Mapping[str, Sequence[str]]
"""The values of columns of estimates' `groups`, in the order in which they are shown."""
OTHERS = "Further results"
EVERY = ("all models", "all")
"""The groups of all values together, which come first."""


@dataclass(frozen=True, slots=True)
class Line:
    """The estimates whose names fit `pattern`, as one line after `lead`, or a sentence each without `lead`."""

    pattern: str
    lead: str = ""
    largest: int | None = None
    """Only so many estimates, the largest first."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A main result. Of several alternatives, the first with an estimate is shown."""

    title: str
    alternatives: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """Findings in one table, each a column with its heading; a single finding is a figure of its own."""

    findings: Mapping[str, str]
    title: str = ""
    """The title of several findings; a single one has its own."""
    folded: bool = False
    """Whether a page shows it only if it is opened."""


@dataclass(frozen=True, slots=True)
class OutlineTopic:
    """Figures about one subject."""

    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The presentation of a schema's findings."""

    contrasts: tuple[Contrast, ...]
    topics: tuple[OutlineTopic, ...]
    order: Order = field(default_factory=dict)
    """The papers' order of values."""
    rest: str = OTHERS
    """The title of the findings that are in none of the topics."""


def one(name: str, *, folded: bool = False) -> Figure:
    """A figure of a single finding."""
    return Figure({name: ""}, folded=folded)


def declared_order(study: Study | None, outlines: Iterable[Outline]) -> Order:
    """The order of values that a study and the papers of its schemas declare."""
    found: dict[str, dict[str, None]] = {}
    for order in (*([_of_study(study)] if study else []), *(outline.order for outline in outlines)):
        for column, values in order.items():
            found.setdefault(column, dict.fromkeys(EVERY)).update(dict.fromkeys(values))
    known = {column: tuple(values) for column, values in found.items()}
    return known | ({"other": known["model"]} if "model" in known else {})


def _of_study(study: Study) -> Order:
    """The values of the study's factors, its models, and the datasets of its problems."""
    cell_values = [cell.values for cell in cells(study.factors, study.pools)]
    factors = {name: tuple(dict.fromkeys(values[name] for values in cell_values)) for name in study.factors}
    datasets = dict.fromkeys(problem.dataset for pool in study.pools.values() for problem in pool)
    return {**factors, "model": (*factors.get("model", ()), *study.file.models), "dataset": tuple(datasets)}


def in_order(finding: Finding, order: Order) -> Finding:
    """The finding with its estimates sorted by their groups, one column after the other; names do not change.

    Values that `order` does not have follow in the order in which they were.
    """
    columns = tuple(dict.fromkeys(column for one in finding.estimates for column in one.groups))
    if not order.keys() & {*columns}:
        return finding
    places = {column: dict(_places(finding, column, order.get(column, ()))) for column in columns}
    last = len(finding.estimates) + max(map(len, order.values()))

    def place(groups: Mapping[str, str]) -> tuple[int, ...]:
        return tuple(places[column][groups[column]] if column in groups else last for column in columns)

    return replace(finding, estimates=tuple(sorted(finding.estimates, key=lambda one: place(one.groups))))


def _places(finding: Finding, column: str, declared: Sequence[str]) -> Iterator[tuple[str, int]]:
    there = dict.fromkeys(one.groups[column] for one in finding.estimates if column in one.groups)
    known = [value for value in declared if value in there]
    return ((value, number) for number, value in enumerate(dict.fromkeys((*known, *there))))

"""The parts of a report in their order: the main results, a section for each schema, and tables of rows and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.extensions.analysis.estimates import Estimate, Finding
from app.extensions.analysis.report.wording import family
from app.extensions.analysis.results import EVERY, MAIN, matches


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
    """The row and the column of each estimate of a finding with columns.

    Where columns are the values of several groups, each is named with its group; so are rows that would be called
    alike.
    """
    keys = [
        tuple((name, value) for name, value in one.groups.items() if name not in finding.columns)
        for one in finding.estimates
    ]
    labels = {key: ", ".join(value for _, value in key) for key in keys}
    often = Counter(labels.values())
    named = {key: ", ".join(f"{name}: {value}" for name, value in key) for key in keys if often[labels[key]] > 1}
    return [((labels | named)[key], _column(finding, one)) for key, one in zip(keys, finding.estimates, strict=True)]


def _column(finding: Finding, estimate: Estimate) -> str:
    values = {column: estimate.groups[column] for column in finding.columns if column in estimate.groups}
    if len(finding.columns) > 1 and not (len(values) > 1 and {*EVERY}.issuperset(values.values())):
        return ", ".join(f"{column}: {value}" for column, value in values.items())
    return next(iter(values.values()), "")


# A main result needs so many participants, or answers where models answered alone.
FEWEST = 10
TOO_FEW = f"Fewer than {FEWEST} participants so far: too few for a main result. All figures are below."
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

"""Estimates as a table of rows and columns: those of several findings by group, or those of one by two groups.

A table of forest plots side by side, in which each estimate keeps its interval, n and p.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.analysis.estimates import Estimate, Finding
from app.analysis.forest_plot import Beside, PlotRow, forest
from app.analysis.outline import EVERY
from app.analysis.report.arrangement import ReportFigure

Key = tuple[tuple[str, str], ...]
"""A row's groups: columns with their values."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """An estimate, its finding, and its places on the finding's axis."""

    finding: Finding
    row: PlotRow
    reference: float | None

    @property
    def estimate(self) -> Estimate:
        """The estimate."""
        return self.row.estimate


@dataclass(frozen=True, slots=True)
class GridRow:
    """A group with a cell in each column, or None where it has no estimate."""

    label: str
    cells: tuple[GridCell | None, ...]
    size: tuple[int, int] | None
    """n and the number of participants, if the table has them once for each row."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; `counts` is what n counts if that is once for each row, else empty."""

    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    counts: str


def grid(figure: ReportFigure, beside: Mapping[str, Beside] | None = None) -> Grid | None:
    """The table of a figure; None if it is a single finding with a row for each estimate."""
    if len(figure.findings) == 1 and not figure.findings[0].columns:
        return None
    cells: dict[Key, dict[str, GridCell]] = {}
    labels: dict[Key, str] = {}
    heads: dict[str, None] = dict.fromkeys(figure.heads if len(figure.findings) > 1 else ())
    for head, finding in zip(figure.heads, figure.findings, strict=True):
        drawn = forest(finding, beside)
        for row in drawn.rows:
            key, column = _place(finding, row.estimate)
            name = head if len(figure.findings) > 1 else column
            heads.setdefault(name)
            cells.setdefault(key, {})[name] = GridCell(finding, row, drawn.reference)
            labels.setdefault(key, ", ".join(value for _, value in key) if finding.columns else row.estimate.label)
    names = tuple(name for name in heads if any(name in row for row in cells.values()))
    sizes = {
        key: {(cell.estimate.n, cell.estimate.participants) for cell in row.values()} for key, row in cells.items()
    }
    counts = {finding.counts for finding in figure.findings}
    alike = len(counts) == 1 and all(len(size) == 1 for size in sizes.values())
    shown = dict(_distinct(labels))
    rows = (
        GridRow(shown[key], tuple(row.get(name) for name in names), next(iter(sizes[key])) if alike else None)
        for key, row in cells.items()
    )
    return Grid(names, tuple(rows), next(iter(counts)) if alike else "")


def _place(finding: Finding, one: Estimate) -> tuple[Key, str]:
    """The row and the column of an estimate; those of several findings are in one row if their labels agree too. Where
    columns are the values of several groups, each is named with its group."""
    key = tuple((column, value) for column, value in one.groups.items() if column not in finding.columns)
    if not finding.columns:
        return (*key, ("", one.label)), ""
    values = {column: one.groups[column] for column in finding.columns if column in one.groups}
    if len(finding.columns) > 1 and not (len(values) > 1 and {*EVERY}.issuperset(values.values())):
        return key, ", ".join(f"{column}: {value}" for column, value in values.items())
    return key, next(iter(values.values()), "")


def _distinct(labels: Mapping[Key, str]) -> Iterator[tuple[Key, str]]:
    """The labels of rows; equal ones with all their groups."""
    often = Counter(labels.values())
    for key, label in labels.items():
        yield key, label if often[label] == 1 else ", ".join(value.replace("_", " ") for column, value in key if column)

"""Estimates by two groups as a table of rows and columns, in which each keeps its interval, n and p."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from app.analysis.estimates import Estimate, Finding
from app.analysis.value_order import EVERY


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


def _column(finding: Finding, one: Estimate) -> str:
    values = {column: one.groups[column] for column in finding.columns if column in one.groups}
    if len(finding.columns) > 1 and not (len(values) > 1 and {*EVERY}.issuperset(values.values())):
        return ", ".join(f"{column}: {value}" for column, value in values.items())
    return next(iter(values.values()), "")

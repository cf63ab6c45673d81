"""Shared parts of analyses' tests: estimates by their names, and ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.extensions.analysis.estimates import Estimate, Finding
from app.extensions.analysis.results import figure_names, patterns


def named(findings: Iterable[Finding]) -> dict[str, Estimate]:
    """The estimates by their names, each of which is told once, and follows one documented pattern."""
    every = [one for finding in findings for one in finding.estimates]
    found = {one.name: one for one in every}
    assert len(found) == len(every)
    assert [name for name in found if len(patterns(name, figure_names())) != 1] == []
    return found


def midranks(values: Sequence[float]) -> list[float]:
    """The rank of each value by its definition, equal ones sharing the mean of theirs."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values
    ]

"""Figures as a paper printed them, beside those of a study: `parley report mine --against chatbench`.

A paper's figures have the names of our own, so whatever a study and a paper both have is compared, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from app.analysis.estimates import POINTS, SHARE, Estimate, Finding, written
from app.errors import PublishedUnknown
from experiments.errors import allowed

PAPERS: Mapping[str, str] = {"chatbench": "ChatBench (Chang, Anderson, Hofman: ACL 2025)"}
"""The papers whose figures are known; each analysis that has some keeps them as `FIGURES` in its `published.py`."""


class Published(Protocol):
    """A printed figure, in the same unit as ours, and where it stands."""

    @property
    def value(self) -> float:
        """The figure."""

    @property
    def standard_error(self) -> float | None:
        """Its standard error, where the paper has it."""

    @property
    def source(self) -> str:
        """The table or page."""


@dataclass(frozen=True, slots=True)
class Against:
    """A paper to compare with: its figures, by the stable names of ours."""

    name: str
    title: str
    figures: Mapping[str, Published]

    def told(self, found: Sequence[Compared]) -> str:
        """How many of its figures were compared, in words."""
        return (
            f"{len(found):,} of the {len(self.figures):,} figures that are known of {self.title} have a counterpart in "
            "this study. Whether they may be compared depends on the questions, models and participants of both."
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure of a study beside the published one."""

    finding: Finding
    estimate: Estimate
    published: Published

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.estimate.value - self.published.value

    @property
    def told_difference(self) -> str:
        """The difference in words; of shares in percentage points."""
        unit = self.finding.unit
        return written(self.difference, POINTS if unit == SHARE else unit)

    @property
    def ends(self) -> tuple[float, float] | None:
        """One standard error below and above the published figure."""
        error = self.published.standard_error
        return None if error is None else (self.published.value - error, self.published.value + error)


def against(name: str) -> Against:
    """A paper by its name; raises PublishedUnknown."""
    if name not in PAPERS:
        raise PublishedUnknown(f"there are no published figures called {name!r}{allowed(name, PAPERS)}")
    module = import_module(f"app.analysis.{name}.published")
    return Against(name, PAPERS[name], cast(Mapping[str, Published], module.FIGURES))


def compared(findings: tuple[Finding, ...], paper: Against | None) -> Iterator[Compared]:
    """What both have, in the order of the report."""
    figures = paper.figures if paper else {}
    for finding in findings:
        for one in finding.estimates:
            if one.name in figures:
                yield Compared(finding, one, figures[one.name])

"""ChatBench's printed figures, by the names of ours, and a study's beside them: `parley report mine --compare-with
chatbench`.

published_accuracies.csv has Tables A1 and A2 as a table of accuracies, from which `gaps` computes differences as it
does from data; published_figures.csv has the others. Shares and differences are numbers from 0 to 1. Figures without a
matching estimate are left out: the 34 % of conversations that mirror the benchmark (the preprint), and the totals over
all collections. Models are compared with those of the same name: gpt-4o and llama-3.1-8b.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from app.errors import PublishedUnknown
from app.extensions.analysis.base import each
from app.extensions.analysis.estimates import POINTS, SHARE, Estimate, Finding, Unit, format_value, slug
from experiments.errors import suggestion

TABLES = "Tables A1 and A2"
MODELS = ("gpt-4o", "llama-3.1-8b")
# Before the answer type, in place of a name: the first model's accuracy minus the second's.
MODEL_GAP = "model_gap."
# Accuracies (mean over questions) with the paper's standard errors.
TABLE = pd.read_csv(Path(__file__).parent / "published_accuracies.csv")
PAPERS: Mapping[str, str] = {"chatbench": "ChatBench (Chang, Anderson, Hofman: ACL 2025)"}


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A printed figure, in the unit of Parley's; `source` is the table, or the paper's name for the figure."""

    value: float
    standard_error: float | None
    source: str


def figures() -> Iterator[tuple[str, PublishedFigure]]:
    for row in each(TABLE):
        named = _named("accuracy", row.dataset, row.model, *row.answer_type.split("."))
        yield named, PublishedFigure(row.accuracy, row.standard_error, TABLES)
    for row in each(pd.read_csv(Path(__file__).parent / "published_figures.csv")):
        gap = row.figure.removeprefix(MODEL_GAP)
        name = row.figure if gap == row.figure else _named("model_gap", *MODELS, *gap.split("."))
        yield name, PublishedFigure(row.value, None, row.source)


def _named(*parts: str) -> str:
    return ".".join(["chatbench", *map(slug, parts)])


@dataclass(frozen=True, slots=True)
class PublishedPaper:
    name: str
    title: str
    figures: Mapping[str, PublishedFigure]

    def summary(self, number: int) -> str:
        return (
            f"{number:,} of the {len(self.figures):,} published figures of {self.title} have a counterpart in this "
            f"study; models are those of the same name ({' and '.join(MODELS)}). Whether the figures are comparable "
            "depends on the questions, models and participants of both."
        )


def published_paper(name: str) -> PublishedPaper:
    if name not in PAPERS:
        raise PublishedUnknown(f"there are no published figures named {name!r}{suggestion(name, PAPERS)}")
    return PublishedPaper(name, PAPERS[name], dict(figures()))


@dataclass(frozen=True, slots=True)
class FigureComparison:
    finding: Finding
    estimate: Estimate
    published: PublishedFigure

    @property
    def difference(self) -> float:
        return self.estimate.value - self.published.value

    @property
    def difference_text(self) -> str:
        return format_value(self.difference, self._apart)

    @property
    def error_text(self) -> str:
        return format_value(self.published.standard_error, self._apart)

    @property
    def _apart(self) -> Unit:
        return POINTS if self.finding.unit == SHARE else self.finding.unit


def compare_with_published(findings: tuple[Finding, ...], paper: PublishedPaper | None) -> Iterator[FigureComparison]:
    figures = paper.figures if paper else {}
    for finding in findings:
        for one in finding.estimates:
            if one.name in figures:
                yield FigureComparison(finding, one, figures[one.name])

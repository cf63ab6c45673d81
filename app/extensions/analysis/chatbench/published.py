"""The figures of ChatBench's paper, by the names of our estimates, for comparison with a study's own figures.

published_accuracies.csv has Tables A1 and A2 as a table of accuracies, from which `gaps` computes differences as it
does from data; published_figures.csv has the others. Shares and differences are numbers from 0 to 1. Figures without a
matching estimate are left out: the 34 % of conversations that mirror the benchmark (the preprint), and the totals over
all collections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from app.extensions.analysis.base import each
from app.extensions.analysis.estimates import slug

TABLES = "Tables A1 and A2"
MODELS = ("gpt-4o", "llama-3.1-8b")
# Before the answer type, in place of a name: the first model's accuracy minus the second's.
MODEL_GAP = "model_gap."
# Accuracies (mean over questions) with the paper's standard errors.
TABLE = pd.read_csv(Path(__file__).parent / "published_accuracies.csv")


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A printed figure, in the unit of Parley's; `source` is the table, or the paper's name for the figure."""

    value: float
    standard_error: float | None
    source: str


def figures(called: Mapping[str, Sequence[str]]) -> Mapping[str, PublishedFigure]:
    """Every published figure, by the name of the matching estimate.

    `called` maps each of the paper's models to the study's names for it: mostly one, or none.
    """
    return dict(_figures(called))


def _figures(called: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, PublishedFigure]]:
    for row in each(TABLE):
        for name in called.get(row.model, ()):
            named = _named("accuracy", row.dataset, name, *row.answer_type.split("."))
            yield named, PublishedFigure(row.accuracy, row.standard_error, TABLES)
    pairs = [(one, other) for one in called.get(MODELS[0], ()) for other in called.get(MODELS[1], ())]
    for row in each(pd.read_csv(Path(__file__).parent / "published_figures.csv")):
        if not row.figure.startswith(MODEL_GAP):
            yield row.figure, PublishedFigure(row.value, None, row.source)
            continue
        kind = row.figure.removeprefix(MODEL_GAP).split(".")
        for one, other in pairs:
            value = row.value if one < other else -row.value  # estimates have their models in the order of the names
            yield _named("model_gap", *sorted((one, other)), *kind), PublishedFigure(value, None, row.source)


def _named(*parts: str) -> str:
    return ".".join(["chatbench", *map(slug, parts)])

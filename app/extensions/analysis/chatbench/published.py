"""The figures of ChatBench's paper, by the names of our estimates, for comparison with a study's own figures.

`TABLE` has Tables A1 and A2 as a table of accuracies, from which `gaps` computes differences as it does from data.
Shares and differences are numbers from 0 to 1. Figures without a matching estimate are left out: the 34 % of
conversations that mirror the benchmark (the preprint), and the totals over all collections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import pandas as pd

from app.extensions.analysis.estimates import slug

TABLES = "Tables A1 and A2"
MODELS = ("gpt-4o", "llama-3.1-8b")
ANSWER_TYPES = (
    "letter_only_zero_shot", "letter_only_few_shot", "free_text",
    "user-alone", "user-AI.answer-first", "user-AI.direct-to-AI",
)  # fmt: skip
_ACCURACIES: Mapping[str, tuple[str, str]] = {
    "elementary_mathematics": (
        ".73 .04 .74 .04 .99 .01 .78 .03 .90 .02 .92 .02",
        ".45 .04 .43 .03 .88 .03 .81 .03 .90 .02 .86 .03",
    ),
    "high_school_mathematics": (
        ".51 .05 .49 .04 .85 .03 .41 .03 .73 .03 .70 .04",
        ".32 .03 .30 .02 .64 .04 .45 .03 .64 .04 .62 .04",
    ),
    "college_mathematics": (
        ".45 .07 .44 .07 .73 .06 .28 .04 .52 .07 .52 .08",
        ".35 .04 .30 .04 .41 .05 .40 .04 .48 .07 .46 .07",
    ),
    "conceptual_physics": (
        ".91 .03 .96 .02 .97 .02 .55 .03 .84 .03 .84 .03",
        ".53 .05 .57 .04 .62 .04 .46 .03 .73 .04 .67 .04",
    ),
    "moral_scenarios": (
        ".71 .05 .80 .04 .72 .05 .73 .03 .78 .04 .79 .03",
        ".40 .03 .31 .03 .49 .03 .79 .03 .74 .04 .72 .04",
    ),
}
"""By dataset and model: the accuracy of each answer type, each followed by its standard error."""


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    value: float
    standard_error: float | None
    source: str
    """The table, or the paper's name for the figure."""


def _table() -> Iterator[tuple[str, str, str, float, float]]:
    for dataset, rows in _ACCURACIES.items():
        for model, row in zip(MODELS, rows, strict=True):
            numbers = [float(cell) for cell in row.split()]
            for kind, value, error in zip(ANSWER_TYPES, numbers[::2], numbers[1::2], strict=True):
                yield dataset, model, kind, value, error


TABLE = pd.DataFrame(list(_table()), columns=["dataset", "model", "answer_type", "accuracy", "standard_error"])
"""Accuracies (mean over questions) with the paper's standard errors."""
_MODEL_GAPS: Mapping[str, tuple[float, str]] = {
    "free_text": (0.25, "the gap between the models alone"),
    "user-AI.direct-to-AI": (0.09, "the gap between the models, direct-to-AI"),
    "user-AI.answer-first": (0.05, "the gap between the models, answer-first"),
}
"""The first model's accuracy minus the second's, by answer type."""
_OTHERS: Mapping[str, tuple[float, str]] = {
    "chatbench.mean_gap.letter_only_few_shot.all": (0.21, "the mean gap of few-shot letters, 21 percentage points"),
    "chatbench.mean_gap.free_text.all": (0.10, "the mean gap of free text, 10 percentage points"),
    "chatbench.correlation.free_text.direct-to-AI": (0.45, "question-level correlation"),
    "chatbench.correlation.free_text.answer-first": (0.46, "question-level correlation"),
    "chatbench.correlation_improvement.free_text.direct-to-AI": (0.26, "correlation with the improvement"),
    "chatbench.correlation_improvement.free_text.answer-first": (0.27, "correlation with the improvement"),
    "chatbench.linear_fit.free_text.answer-first": (0.55, "linear model of user-alone and AI-alone"),
    "chatbench.linear_fit.free_text.direct-to-AI": (0.63, "linear model of user-alone and AI-alone"),
    "chatbench.noise_ceiling.direct-to-AI": (0.90, "noise ceiling, 0.88 to 0.92; its middle"),
    "chatbench.noise_ceiling.answer-first": (0.92, "noise ceiling, 0.90 to 0.94; its middle"),
    "chatbench.transition.corrected.all_models": (0.54, "answer-first: wrong answers corrected with the chatbot"),
    "chatbench.transition.lost.all_models": (0.10, "answer-first: right answers lost with the chatbot"),
    "chatbench.count.user-alone": (5986, "Table A3, counts of both models added up"),
    "chatbench.count.user-AI": (6912, "Table A3, counts of both models added up"),
    "chatbench.count.AI-alone": (118717, "answers of models alone"),
}


def figures(called: Mapping[str, Sequence[str]]) -> Mapping[str, PublishedFigure]:
    """Every published figure, by the name of the matching estimate.

    `called` maps each of the paper's models to the study's names for it: mostly one, or none.
    """
    return MappingProxyType(dict(_figures(called)))


def _figures(called: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, PublishedFigure]]:
    for dataset, model, kind, value, error in _table():
        way, *condition = kind.split(".")
        for name in called.get(model, ()):
            yield _named("accuracy", dataset, name, way, *condition), PublishedFigure(value, error, TABLES)
    pairs = [(one, other) for one in called.get(MODELS[0], ()) for other in called.get(MODELS[1], ())]
    for kind, (value, where) in _MODEL_GAPS.items():
        for one, other in pairs:
            sign = 1 if one < other else -1  # estimates have their models in the order of the names
            yield (
                _named("model_gap", *sorted((one, other)), *kind.split(".")),
                PublishedFigure(sign * value, None, where),
            )
    for name, (value, where) in _OTHERS.items():
        yield name, PublishedFigure(value, None, where)


def _named(*parts: str) -> str:
    return ".".join(["chatbench", *map(slug, parts)])

"""Gaps: differences in accuracy between models alone and people with the chatbot, and between models.

They are computed from a plain table with the columns `dataset`, `model`, `answer_type`, `accuracy` and
`standard_error`, of a study (`accuracy_table`) or of the paper (`published.TABLE`). Two accuracies are compared as in
the paper,

    z = (p1 - p2)/sqrt(SE1^2 + SE2^2)

as if they were independent. They are about the same questions, which are mostly hard for both, so intervals and p are
conservative.

n is the number of answers on both sides, each counted once; a table without `n`, such as a printed one, has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import erfc, isfinite, nan, sqrt
from statistics import NormalDist, fmean
from typing import Any

import pandas as pd

from app.extensions.analysis.base import analysis, each
from app.extensions.analysis.chatbench.by_dataset import METHODS, WITH_AI
from app.extensions.analysis.estimates import (
    NUMBER,
    POINTS,
    Estimate,
    Finding,
    finding,
    format_interval,
    format_p,
    format_value,
    slug,
)
from app.extensions.analysis.intervals import LEVEL
from storage.datasets.describe.markdown import count

Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
ALL = "all"
KEY = ("dataset", "model")
# The number of answers that an accuracy is based on, and of participants who gave them.
SIZES = ("n", "participants")
NOISE = "Chance alone makes absolute differences larger than zero, so an interval around them would mislead."
UNSURE = "A standard error is not known, because there are too few answers or all are equal."


def z_test(first: float, second: float, error_first: float, error_second: float) -> dict[str, float]:
    """The test of two accuracies: `z`, two-sided `p`, the `standard_error` of their difference.

    Empty if an error is unknown or zero: if all answers are equal, their variance is not known.
    """
    error = sqrt(error_first**2 + error_second**2)
    if not isfinite(error) or min(error_first, error_second) <= 0:
        return {}
    z = (first - second) / error
    return {"standard_error": error, "z": z, "p": erfc(abs(z) / sqrt(2))}


def gap_table(accuracies: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of models alone minus that of people with the chatbot; z = gap/sqrt(SE1^2 + SE2^2). ChatBench, ACL 2025.

    Columns `dataset`, `model`, `method`, `condition`, `gap`, `standard_error`, `z`, `p` (NaN where there is no test),
    `n_alone` and `n_people` (answers of each side), `participants`.
    """
    accuracies = _sized(accuracies)
    kind = accuracies["answer_type"]
    with_ai = accuracies[kind.str.startswith(f"{WITH_AI}.")]
    alone = accuracies[~kind.str.startswith("user-")]
    pairs = alone.merge(with_ai, on=list(KEY), suffixes=("", "_people"))
    rows = []
    for row in each(pairs):
        condition = row.answer_type_people.partition(".")[2]
        test = z_test(row.accuracy, row.accuracy_people, row.standard_error, row.standard_error_people)
        numbers = (test.get(name, nan) for name in ("standard_error", "z", "p"))
        gap, sizes = row.accuracy - row.accuracy_people, (row.n, row.n_people, row.participants_people)
        rows.append((row.dataset, row.model, row.answer_type, condition, gap, *numbers, *sizes))
    sides = ("n_alone", "n_people", "participants")
    return pd.DataFrame(rows, columns=[*KEY, "method", "condition", "gap", "standard_error", "z", "p", *sides])


def mean_gaps(table: pd.DataFrame) -> pd.DataFrame:
    """The mean absolute gap = mean of |gap| of each method, by condition and over `all`. ChatBench, ACL 2025.

    `table` is what `gap_table` returns; gaps are differences of shares.
    Columns `method`, `condition`, `mean_gap`, `cells` (the number of gaps, unweighted), `n` (answers).
    """
    by = table.assign(size=table["gap"].abs())
    grouped = pd.concat([by, by.assign(condition=ALL)] if by["condition"].nunique() > 1 else [by])
    key = ["method", "condition"]
    found = grouped.groupby(key, sort=False).agg(
        mean_gap=("size", "mean"), cells=("size", "size"), n=("n_people", "sum")
    )
    alone = grouped.drop_duplicates([*KEY, *key]).groupby(key, sort=False)["n_alone"].sum()
    return found.assign(n=found["n"] + alone).reset_index()


def model_gaps(accuracies: pd.DataFrame) -> pd.DataFrame:
    """The mean over datasets of one model's accuracy minus another's, by answer type. ChatBench, ACL 2025.

    z = gap/SE, SE = sqrt(sum of both models' squared standard errors over D datasets)/D; a gap is one of shares.
    Columns `model`, `other`, `answer_type`, `gap`, `standard_error`, `z`, `p` (NaN where there is no test), `datasets`,
    `n` (answers with either).
    """
    accuracies = _sized(accuracies)
    rows = []
    for kind, some in accuracies.groupby("answer_type", sort=False):
        models = dict(iter(some.groupby("model", sort=True)))
        for model, other in combinations(models, 2):
            both = models[model].merge(models[other], on="dataset", suffixes=("", "_other"))
            if len(both):
                means = fmean(both["accuracy"]), fmean(both["accuracy_other"])
                errors = (sqrt((both[name].replace(0, nan) ** 2).sum(skipna=False)) / len(both) for name in
                          ("standard_error", "standard_error_other"))  # fmt: skip
                test = z_test(*means, *errors)
                numbers = (test.get(name, nan) for name in ("standard_error", "z", "p"))
                sizes = len(both), int(both["n"].sum() + both["n_other"].sum())
                rows.append((model, other, kind, means[0] - means[1], *numbers, *sizes))
    columns = ["model", "other", "answer_type", "gap", "standard_error", "z", "p", "datasets", "n"]
    return pd.DataFrame(rows, columns=columns)


def _sized(accuracies: pd.DataFrame) -> pd.DataFrame:
    """The table with its SIZES; 0 where it has none."""
    return accuracies.assign(**{name: 0 for name in SIZES if name not in accuracies.columns})


@analysis
def gaps(accuracies: pd.DataFrame) -> Iterator[Finding]:
    accuracies = accuracies.sort_values("answer_type", key=lambda kinds: kinds.map(_place), kind="stable")
    alone = gap_table(accuracies)
    yield finding("chatbench.gap", _gaps(alone), columns=("method", "condition"))
    yield finding("chatbench.mean_gap", _mean_gaps(alone), columns=("condition",))
    yield finding("chatbench.model_gap", _model_gaps(accuracies), columns=("answer_type",))


def _place(kind: str) -> int:
    return METHODS.index(kind) if kind in METHODS else len(METHODS)


def _gaps(table: pd.DataFrame) -> Iterator[Estimate]:
    for row in each(table):
        groups = {"dataset": row.dataset, "model": row.model, "method": row.method, "condition": row.condition}
        name = ".".join(["chatbench.gap", *map(slug, groups.values())])
        label = f"{row.dataset}, {row.model}: {row.method}, {row.condition}"
        said = f"On {row.dataset}, {row.model} alone ({row.method}) minus participants with it ({row.condition}): {{}}"
        n = int(row.n_alone + row.n_people)
        of = f"n = {row.n_alone:,} answers of the model and {row.n_people:,} of {row.participants:,} participants"
        sides = {"n_alone": float(row.n_alone), "n_people": float(row.n_people)} if n else {}
        yield _difference((name, label, groups, (n, int(row.participants))), said, row, of, sides)


def _mean_gaps(table: pd.DataFrame) -> Iterator[Estimate]:
    for row in each(mean_gaps(table)):
        groups, label = {"method": row.method, "condition": row.condition}, f"{row.method}, {row.condition}"
        of = f" (n = {row.n:,} answers)" if row.n else ""
        sentence = (
            f"Accuracy of models alone ({row.method}) and of participants with them ({row.condition}) differed by "
            f"{format_value(row.mean_gap, POINTS)} on average over {row.cells} groups{of}."
        )
        name = f"chatbench.mean_gap.{slug(row.method)}.{slug(row.condition)}"
        values = (row.mean_gap, None, None, int(row.n), 0)
        yield Estimate(name, label, *values, groups, sentence, NOISE, {"groups": float(row.cells)})


def _model_gaps(accuracies: pd.DataFrame) -> Iterator[Estimate]:
    for row in each(model_gaps(accuracies)):
        way = row.answer_type.split(".")
        name = ".".join(["chatbench.model_gap", *map(slug, (row.model, row.other, *way))])
        label = f"{row.model} minus {row.other}: {', '.join(way)}"
        over = count(row.datasets, "dataset")
        said = f"{row.model} minus {row.other} ({', '.join(way)}), on average over {over}: {{}}"
        groups = {"model": row.model, "other": row.other, "answer_type": row.answer_type}
        sizes = {"datasets": float(row.datasets)}
        yield _difference((name, label, groups, (int(row.n), 0)), said, row, f"n = {row.n:,} answers", sizes)


def _difference(
    figure: tuple[str, str, Mapping[str, str], tuple[int, int]], said: str, row: Any, size: str,
    sizes: Mapping[str, float],
) -> Estimate:  # fmt: skip
    """`figure` has the name, the label, the groups, and n with the number of participants."""
    name, label, groups, (n, participants) = figure
    known = isfinite(row.standard_error)
    half = Z * row.standard_error
    low, high = (max(-1.0, row.gap - half), min(1.0, row.gap + half)) if known else (None, None)
    tested = {"standard_error": row.standard_error, "z": row.z, "p": row.p} if known else {}
    details = [f"95 % interval {format_interval(low, high, POINTS)}"] if known else []
    details += [size] if n else []
    details += [f"z = {format_value(row.z, NUMBER)}, {format_p(tested, words=True)}"] if known else []
    sentence = said.replace("{}", format_value(row.gap, POINTS)) + (f" ({'; '.join(details)})." if details else ".")
    values, why = (row.gap, low, high, n, participants), "" if known else UNSURE
    return Estimate(name, label, *values, groups, sentence, why, {**tested, **sizes})

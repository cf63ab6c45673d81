"""Accuracy by dataset, model, answer type and condition, as in the paper's Tables A1 and A2, and the gaps between them.

    p_q = the share of right ones of the n_q answers to question q,    accuracy = (1/Q) * sum of p_q

Questions and participants are treated as random samples: the estimated quantity is the mean over both populations. The
corrected variance is therefore the two-way cluster jackknife of this mean (intervals.py), V = V_P + V_Q - V_PQ and at
least V_Q, where V_Q is s^2(p_q)/Q. A question without remaining answers is dropped. The paper prints
sqrt((E[SE_q] + Var(p_q))/Q), with SE_q = sqrt(p_q (1 - p_q)/n_q); the law of total variance has E[SE_q^2] there, and
the observed Var(p_q) already includes the noise of p_q. The authors' code has np.std(p_q)/sqrt(Q), without Bessel's
correction. Only the corrected error accounts for participants who answer several questions.

Gaps are computed from a table with the columns `dataset`, `model`, `answer_type`, `accuracy` and `standard_error`, of a
study (`accuracy_table`) or of the paper (`published.TABLE`, without `n`), by z = (p1 - p2)/sqrt(SE1^2 + SE2^2), as if
both were independent. They are about the same questions, so intervals and p are conservative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import erfc, isfinite, nan, sqrt
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis, each
from app.extensions.analysis.chatbench.accuracy import SAME
from app.extensions.analysis.estimates import (
    NUMBER,
    POINTS,
    SHARE,
    Estimate,
    Finding,
    estimate,
    finding,
    format_interval,
    format_p,
    format_value,
    slug,
)
from app.extensions.analysis.intervals import FEWEST, LEVEL, Codes, Interval, Values, codes, number_of, wilson
from experiments.plural import count

PRINTED = "standard_error_paper"
CODE = "standard_error_code"
TOTAL = "standard_error_total_variance"
CORRECTED = "standard_error"


@dataclass(frozen=True, slots=True)
class OverQuestions:
    """A mean over questions with its corrected interval; `further` has the standard errors and number of questions."""

    interval: Interval
    further: Mapping[str, float]


def of_people(hits: Values, people: Codes, questions: Codes) -> OverQuestions:
    """The mean over questions of zeros and ones that participants answered; at least one."""
    counts = np.bincount(questions)
    shares = np.bincount(questions, weights=hits) / counts
    mean, there, asked = float(shares.mean()), number_of(people), shares.size
    errors = published_errors(shares, counts)
    if there < FEWEST:
        return OverQuestions(Interval(mean, why=f"An interval needs {FEWEST} participants; there is {there}."), errors)
    spread = two_way(hits, people, questions)
    freedom = min(there, asked if asked > 1 else there) - 1
    return OverQuestions(wilson(mean, spread, freedom, hits.size), {**errors, CORRECTED: sqrt(spread)})


def of_models(shares: Values, counts: Values) -> OverQuestions:
    """The mean over questions of a model's accuracy, from `counts` independent answers to each question."""
    mean, asked = float(shares.mean()), shares.size
    errors = published_errors(shares, counts)
    if asked < 2:
        return OverQuestions(Interval(mean, why="An interval needs 2 questions; there is 1."), errors)
    spread = float(shares.var(ddof=1) / asked)
    interval = wilson(mean, spread, asked - 1, max(asked, int(counts.sum())))
    return OverQuestions(interval, {**errors, CORRECTED: sqrt(spread)})


def published_errors(shares: Values, counts: Values | Codes) -> dict[str, float]:
    """Standard errors that use only the questions' accuracies; none for a single question. Variances are divided by
    Q-1, but in the authors' code by Q: numpy's `std`, also of a pandas series."""
    asked = shares.size
    found = {"questions": float(asked)}
    if asked < 2:
        return found
    own = shares * (1 - shares) / np.maximum(counts, 1)
    between = float(shares.var(ddof=1))
    printed, total = (sqrt((float(part.mean()) + between) / asked) for part in (np.sqrt(own), own))
    return found | {PRINTED: printed, TOTAL: total, CODE: float(shares.std()) / sqrt(asked)}


def two_way(hits: Values, people: Codes, questions: Codes) -> float:
    """The variance of the mean over questions of answers of at least two participants."""
    by_person = one_way(hits, people, questions)
    if number_of(questions) < 2:
        return by_person
    by_question = one_way(hits, questions, questions)
    both = one_way(hits, codes(people * number_of(questions) + questions), questions)
    return max(by_person + by_question - both, by_question)


def one_way(hits: Values, clusters: Codes, questions: Codes) -> float:
    """The variance of the mean over questions, by leaving out one of at least two clusters at a time."""
    asked, groups = number_of(questions), number_of(clusters)
    counts, sums = np.bincount(questions), np.bincount(questions, weights=hits)
    pairs, place = np.unique(clusters * asked + questions, return_inverse=True)
    cluster, question = np.divmod(pairs, asked)
    left = counts[question] - np.bincount(place)
    emptied = left == 0
    share = (sums[question] - np.bincount(place, weights=hits)) / np.maximum(left, 1)
    shares = sums / counts
    change = np.bincount(cluster, weights=np.where(emptied, 0.0, share) - shares[question], minlength=groups)
    remaining = asked - np.bincount(cluster, weights=emptied, minlength=groups)
    without = (shares.sum() + change) / remaining
    return float((groups - 1) / groups * np.sum((without - shares.mean()) ** 2))


WITH_AI = "user-AI"
USER_ALONE = "user-alone"
METHODS = ("letter_only_zero_shot", "letter_only_few_shot", "free_text")
# The required columns of ai_alone_answers; other methods are recognised by their columns.
ALONE_COLUMNS = (
    "model",
    "dataset",
    "question_id",
    *(f"{name}_{what}" for name in METHODS for what in ("count", "acc")),
)
CELL = ("dataset", "model", "answer_type")
# The columns of a table of accuracies; gaps need only the first four and `standard_error`.
TABLE = (*CELL, "accuracy", "low", "high", "standard_error", "n", "participants", "questions")
# A cell with its mean, its number of answers and of participants.
Found = tuple[tuple[str, str, str], OverQuestions, int, int]


@analysis
def accuracy_by_dataset(answers: pd.DataFrame, alone: pd.DataFrame) -> Iterator[Finding]:
    """Accuracy by dataset, model and answer type (a method of models alone); with the chatbot also by condition.

    `answers` are those that `counted` returns, `alone` has the columns of ai_alone_answers. The standard errors of the
    paper and of its code are in `further`.
    """
    estimates = (_estimate(*one) for one in _cells(answers, alone))
    yield finding("chatbench.accuracy", estimates, columns=("answer_type", "condition"))


def accuracy_table(answers: pd.DataFrame, alone: pd.DataFrame) -> pd.DataFrame:
    """The accuracies of `accuracy_by_dataset` as a plain table with the columns of TABLE."""
    rows = [
        (
            *cell, found.interval.value, found.interval.low, found.interval.high, found.further.get("standard_error"),
            n, people, int(found.further["questions"]),
        )
        for cell, found, n, people in _cells(answers, alone)
    ]  # fmt: skip
    kinds = dict.fromkeys(("accuracy", "low", "high", "standard_error"), "float64")
    return pd.DataFrame(rows, columns=list(TABLE)).astype(kinds)


def _cells(answers: pd.DataFrame, alone: pd.DataFrame) -> Iterator[Found]:
    yield from sorted((*_of_models(alone), *_of_people(answers)), key=lambda one: _place(one[0]))


def _place(cell: tuple[str, str, str]) -> tuple[str, str, int, str]:
    """Models alone come first, in the paper's order, then people."""
    dataset, model, kind = cell
    order = (*METHODS, USER_ALONE, WITH_AI)
    return dataset, model, order.index(kind) if kind in order else len(order), kind


def _of_people(answers: pd.DataFrame) -> Iterator[Found]:
    with_ai = answers[answers["answer_type"] == WITH_AI]
    by_condition = with_ai.assign(answer_type=WITH_AI + "." + with_ai["condition"].astype(str))
    for rows in (answers, by_condition):
        for (dataset, model, kind), some in rows.groupby(list(CELL), sort=True):
            people = codes(some["worker_id"])
            found = of_people(some["acc"].to_numpy(), people, codes(some["question_id"]))
            yield (str(dataset), str(model), str(kind)), found, len(some), number_of(people)


def _of_models(alone: pd.DataFrame) -> Iterator[Found]:
    for method, rows in alone_by_method(alone):
        for (dataset, model), some in rows.groupby(["dataset", "model"], sort=True):
            found = of_models(some["acc"].to_numpy(), some["n"].to_numpy())
            yield (str(dataset), str(model), method), found, int(some["n"].sum()), 0


def alone_by_method(alone: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each method with its accuracies: `dataset`, `model`, `question_id`, `acc` and the number of answers, `n`."""
    for column in [name for name in alone.columns if name.endswith("_acc")]:
        method = column.removesuffix("_acc")
        rows = alone[["dataset", "model", "question_id"]].copy()
        rows["dataset"] = rows["dataset"].replace(SAME)
        rows["acc"] = alone[column].astype("float64")
        rows["n"] = alone[f"{method}_count"].astype("float64").fillna(0)
        yield method, rows[rows["acc"].notna()]


def _estimate(cell: tuple[str, str, str], over_questions: OverQuestions, n: int, participants: int) -> Estimate:
    dataset, model, kind = cell
    way, _, condition = kind.partition(".")
    name = ".".join(["chatbench.accuracy", *map(slug, (dataset, model, way, *([condition] if condition else [])))])
    groups = {"dataset": dataset, "model": model, "answer_type": way} | ({"condition": condition} if condition else {})
    where = f" ({condition})" if condition else ""
    who = f"Participants with {model}" if participants else f"{model} alone ({way})"
    how = {USER_ALONE: ", answering alone,", WITH_AI: f", answering with the chatbot{where},"}.get(way, "")
    said = f"{who}{how} gave {{}} correct answers to a question of {dataset} on average"
    figure = (
        name,
        f"{dataset}, {model}: {kind.replace('.', ', ')}",
        groups,
        (n, participants),
        over_questions.interval,
    )
    return estimate(*figure, said, SHARE, "answers", further=over_questions.further)


Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
EVERY = "all"
KEY = ("dataset", "model")
# The number of answers that an accuracy is based on, and of participants who gave them.
SIZES = ("n", "participants")
NOISE = "Chance alone makes absolute differences larger than zero, so an interval around them would mislead."
UNSURE = "A standard error is not known, because there are too few answers or all are equal."


def z_test(first: float, second: float, error_first: float, error_second: float) -> dict[str, float]:
    """The test of two accuracies: `z`, two-sided `p`, the `standard_error` of their difference. Empty if an error is
    unknown or zero: if all answers are equal, their variance is not known."""
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
    grouped = pd.concat([by, by.assign(condition=EVERY)] if by["condition"].nunique() > 1 else [by])
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
    return accuracies.assign(**{name: 0 for name in SIZES if name not in accuracies.columns})


@analysis
def gaps(accuracies: pd.DataFrame) -> Iterator[Finding]:
    accuracies = accuracies.sort_values("answer_type", key=lambda kinds: kinds.map(_place_of), kind="stable")
    alone = gap_table(accuracies)
    yield finding("chatbench.gap", _gaps(alone), columns=("method", "condition"))
    yield finding("chatbench.mean_gap", _mean_gaps(alone), columns=("condition",))
    yield finding("chatbench.model_gap", _model_gaps(accuracies), columns=("answer_type",))


def _place_of(kind: str) -> int:
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

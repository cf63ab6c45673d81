"""Correlations over questions: are questions that are easy for a model alone also easy for people with the model?

A point is a question with a model: the accuracy of the model alone by a method, and of people with it, by condition.
The improvement is people's accuracy with the model minus their accuracy alone (people assigned to that model, in either
condition). The linear model predicts people's accuracy with the model from their accuracy alone and the model's, by
least squares; its r is the root of R^2, computed from three correlations:

    R^2 = (r1^2 + r2^2 - 2 r1 r2 r12)/(1 - r12^2)

Intervals are the middle 95 % over bootstrap samples of the questions, with all their points. The noise ceiling is the
expected r if people were exactly as accurate as free text: Binomial(n_q, p_q)/n_q is drawn a hundred times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis, each
from app.extensions.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI, alone_by_method
from app.extensions.analysis.estimates import (
    NUMBER,
    SHARE,
    Estimate,
    Finding,
    Scatter,
    ScatterPoint,
    estimate,
    finding,
    in_words,
    slug,
)
from app.extensions.analysis.intervals import Interval, Values, central, codes, number_of, share_of

# How often the noise ceiling is drawn. (The paper's.)
DRAWS = 100
SAMPLES = 1000
SEED = 20250220
# The share of samples that must have a correlation.
ENOUGH = 0.9
CEILING = "free_text"
KEY = ["question_id", "model"]
QUESTIONS = "An interval needs more questions with different accuracies."
# A statistic of columns of numbers under several weightings of the rows.
Statistic = Callable[[Values, Values], Values]


def points(answers: pd.DataFrame, alone: pd.DataFrame, method: str, condition: str) -> pd.DataFrame:
    """By question and model: `ai`, `with_ai`, its number of answers `n`, and `user_alone` (NaN without answers)."""
    kinds = answers["answer_type"]
    with_ai = answers[(kinds == WITH_AI) & (answers["condition"] == condition)].groupby(KEY)["acc"]
    own = answers[kinds == USER_ALONE].groupby(KEY)["acc"].mean().rename("user_alone")
    by_method = {name: rows.groupby(KEY)["acc"].mean() for name, rows in alone_by_method(alone)}
    ai = by_method.get(method, pd.Series(dtype="float64")).rename("ai")
    people = pd.DataFrame({"with_ai": with_ai.mean(), "n": with_ai.size()}).reset_index()
    return people.merge(ai.reset_index(), on=KEY).merge(own.reset_index(), on=KEY, how="left")


def r_of(columns: Values, weights: Values) -> Values:
    """Pearson's correlation of two columns under each row of weights; NaN where a column does not vary."""
    return _r(*_moments(columns, weights), 0, 1)


def fit_of(columns: Values, weights: Values) -> Values:
    """The r of the linear model of the first column on the two others, under each row of weights."""
    mean, square = _moments(columns, weights)
    one, two, between = (_r(mean, square, a, b) for a, b in ((0, 1), (0, 2), (1, 2)))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (one**2 + two**2 - 2 * one * two * between) / (1 - between**2)
    alike = np.abs(between) > 1 - 1e-12
    return np.asarray(np.sqrt(np.clip(np.where(alike, one**2, share), 0, 1)), dtype=np.float64)


def _moments(columns: Values, weights: Values) -> tuple[Values, Values]:
    """Means, and means of products, of columns (centred before, against rounding) under each row of weights."""
    centred = columns - columns.mean(axis=0)
    sizes = weights.sum(axis=1)
    products = centred[:, :, None] * centred[:, None, :]
    return (weights @ centred) / sizes[:, None], np.tensordot(weights, products, axes=1) / sizes[:, None, None]


def _r(mean: Values, square: Values, a: int, b: int) -> Values:
    cov = {(i, j): square[:, i, j] - mean[:, i] * mean[:, j] for i, j in ((a, a), (b, b), (a, b))}
    with np.errstate(divide="ignore", invalid="ignore"):
        found = cov[a, b] / np.sqrt(cov[a, a] * cov[b, b])
    varies = (cov[a, a] > 1e-15) & (cov[b, b] > 1e-15)
    return np.asarray(np.where(varies, found, np.nan), dtype=np.float64)


def resampled(columns: Values, questions: Values, statistic: Statistic) -> Interval | None:
    whole = statistic(columns, np.ones((1, len(columns))))[0]
    if np.isnan(whole):
        return None
    held = codes(questions)
    count = number_of(held)
    drawn = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=SAMPLES)
    found = statistic(columns, drawn[:, held].astype(np.float64))
    found = found[~np.isnan(found)]
    if count < 3 or found.size < ENOUGH * SAMPLES:
        return Interval(float(whole), why=QUESTIONS)
    return Interval(float(whole), *central(found))


def noise_ceiling(shares: Values, counts: Values, seed: int = SEED) -> Interval | None:
    """The correlation of accuracies with binomial draws of `counts` answers per question; None if not defined."""
    if shares.size < 2:
        return None
    draws = np.random.default_rng(seed).binomial(counts.astype(int), shares, size=(DRAWS, shares.size)) / counts
    found = np.asarray([r_of(np.column_stack([shares, draw]), np.ones((1, shares.size)))[0] for draw in draws])
    found = found[~np.isnan(found)]
    if found.size < ENOUGH * DRAWS:
        return None
    return Interval(float(found.mean()), *central(found))


@analysis
def correlations(answers: pd.DataFrame, alone: pd.DataFrame) -> Iterator[Finding]:
    """Correlations over questions of models alone with people, by method and condition; undefined ones are left out."""
    made: dict[str, list[Estimate]] = {name: [] for name in SAID}
    for method, condition, rows in _by_method(answers, alone):
        for kind, found, used in _correlated(rows):
            made[kind].append(_estimate(kind, [method, condition], found, used))
        ceiling = noise_ceiling(rows["ai"].to_numpy(), rows["n"].to_numpy()) if method == CEILING else None
        if ceiling:
            made["noise_ceiling"].append(_estimate("noise_ceiling", [condition], ceiling, rows))
    for kind, some in made.items():
        yield finding(f"chatbench.{kind}", some)


def _by_method(answers: pd.DataFrame, alone: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    conditions = sorted(answers.loc[answers["answer_type"] == WITH_AI, "condition"].unique())
    for method, _ in alone_by_method(alone):
        for condition in conditions:
            yield method, condition, points(answers, alone, method, condition)


SAID: Mapping[str, str] = {
    "correlation": "accuracy of models alone ({}) correlated with accuracy of participants with them",
    "correlation_improvement": "accuracy of models alone ({}) correlated with participants' improvement with them",
    "linear_fit": "the prediction from participants alone and models alone ({}) correlated with participants' accuracy "
    "with them",
    "noise_ceiling": "if participants were exactly as accurate as free text ({}), the correlation would be",
}


def _correlated(rows: pd.DataFrame) -> Iterator[tuple[str, Interval, pd.DataFrame]]:
    if len(rows) < 2:
        return
    both = rows[rows["user_alone"].notna()]
    improved = both.assign(improvement=both["with_ai"] - both["user_alone"])
    wanted = (
        ("correlation", rows, ["ai", "with_ai"], r_of),
        ("correlation_improvement", improved, ["ai", "improvement"], r_of),
        ("linear_fit", both, ["with_ai", "user_alone", "ai"], fit_of),
    )
    for kind, used, columns, statistic in wanted:
        if len(used) > 1:
            found = resampled(used[columns].to_numpy(), used["question_id"].to_numpy(), statistic)
            if found:
                yield kind, found, used


def _estimate(kind: str, of: list[str], interval: Interval, rows: pd.DataFrame) -> Estimate:
    groups, label = dict(zip(("method", "condition")[-len(of) :], of, strict=True)), ", ".join(map(in_words, of))
    figure = (".".join([f"chatbench.{kind}", *map(slug, of)]), label, groups, (len(rows), 0), interval)
    said = f"Over questions, {SAID[kind].replace('{}', ', '.join(of))}: r = {{}}"
    return estimate(*figure, said, NUMBER, "points", further={"questions": float(rows["question_id"].nunique())})


@analysis
def questions(answers: pd.DataFrame, alone: pd.DataFrame) -> Iterator[Finding]:
    """The share of questions at which people with a model are more accurate than it is alone, and all points.

    `answers` are those that `counted` returns. How often they are `equal`, and the number of `questions`, are in
    `further`. The plot has the points of free text (or else of the first method), a panel for each condition.
    """
    found = {(method, condition): rows for method, condition, rows in _by_method(answers, alone) if len(rows)}
    if not found:
        return
    drawn = CEILING if any(method == CEILING for method, _ in found) else next(iter(found))[0]
    marks = tuple(
        ScatterPoint(row.ai, row.with_ai, int(row.n), str(row.question_id), str(row.model), condition)
        for (method, condition), rows in found.items() if method == drawn for row in each(rows)
    )  # fmt: skip
    yield finding(
        "chatbench.above_model", (_above(*of, rows) for of, rows in found.items()), columns=("condition",),
        note=f"The plot has a point for each question and model; of the accuracy of the {in_words(drawn)}.",
        scatter=Scatter(f"accuracy of the {in_words(drawn)}", "accuracy of people with it", (0, 1), marks),
    )  # fmt: skip


def _above(method: str, condition: str, rows: pd.DataFrame) -> Estimate:
    above = np.asarray(rows["with_ai"] > rows["ai"], dtype=np.float64)
    asked = codes(rows["question_id"])
    found = share_of(above, asked)
    found = replace(found, why=found.why.replace("participants", "questions"))
    groups = {"method": method, "condition": condition}
    name = f"chatbench.above_model.{slug(method)}.{slug(condition)}"
    said = (
        f"People with the model ({condition}) were more accurate than the model alone ({method}) on {{}} of questions"
    )
    further = {"equal": float((rows["with_ai"] == rows["ai"]).mean()), "questions": float(number_of(asked))}
    size = (len(rows), 0)
    return estimate(name, f"{method}, {condition}", groups, size, found, said, SHARE, "points", further=further)

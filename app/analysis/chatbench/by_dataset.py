"""Accuracy by dataset, model, way of answering and condition, as in the paper's Tables A1 and A2.

An accuracy is the mean over questions of each question's accuracy (over_questions.py). All of them make a plain table
with a row for each cell, on which gaps.py goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.base import Tables
from app.analysis.chatbench.over_questions import OverQuestions, of_models, of_people
from app.analysis.chatbench.preregistered_filter import ALONE, SAME, counted_of
from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, number_of

WITH_AI = "user-AI"
USER_ALONE = "user-alone"
METHODS = ("letter_only_zero_shot", "letter_only_few_shot", "free_text")
ALONE_COLUMNS = (
    "model",
    "dataset",
    "question_id",
    *(f"{name}_{what}" for name in METHODS for what in ("count", "acc")),
)
"""The columns of ai_alone_answers that are needed; other methods are found by theirs."""
CELL = ("dataset", "model", "answer_type")
TABLE = (*CELL, "accuracy", "low", "high", "standard_error", "n", "participants", "questions")
"""The columns of a table of accuracies; for gaps the first four and `standard_error` suffice."""
CODE = (
    'accuracy_by_dataset(counted(frame(database, study, "user_answers", origin), '
    'frame(database, study, "user_answers_filtered", origin)), frame(database, study, "ai_alone_answers", origin))'
)
METHOD = (
    "Accuracy is the unweighted mean over questions of each question's share of right answers, over the answers that "
    "the pre-registered filter keeps. Its 95 % interval is Wilson's with the variance of the two-way cluster jackknife "
    "of this mean (leaving out participants, and questions), for questions and participants as drawn from more of "
    "their kind, and Student's t of one degree of freedom less than there are questions, or participants if they are "
    "fewer. Of models alone it goes by how the questions' accuracies vary."
)
Found = tuple[tuple[str, str, str], OverQuestions, int, int]
"""A cell with its mean, its number of answers and of participants."""


def accuracy_by_dataset(answers: pd.DataFrame, alone: pd.DataFrame) -> tuple[Finding, ...]:
    """Accuracy by dataset, model and way of answering, people's by condition too.

    `answers` are those that `counted` leaves, `alone` has the columns of ai_alone_answers. The standard errors of the
    paper and of its code are in `further`. Names: `chatbench.accuracy.<dataset>.<model>.<answer_type>`, where the type
    is `user-alone`, `user-AI`, `user-AI.<condition>` or a method by which models answer alone.
    """
    estimates = tuple(_estimate(*one) for one in _cells(answers, alone))
    if not estimates:
        return ()
    title = "Accuracy by dataset and model, over questions"
    return (Finding("chatbench.accuracy", title, "answers", SHARE, (0, 1), estimates, METHOD, CODE),)


def accuracy_table(answers: pd.DataFrame, alone: pd.DataFrame) -> pd.DataFrame:
    """The accuracies of `accuracy_by_dataset` as a plain table with the columns of TABLE.

    accuracy = (1/Q) * sum over questions of (right answers)/(answers), a share from 0 to 1; `standard_error` is the
    corrected one, the root of the two-way cluster jackknife's variance, or NaN. ChatBench, ACL 2025, Tables A1 and A2.
    """
    rows = [
        (
            *cell, found.interval.value, found.interval.low, found.interval.high, found.further.get("standard_error"),
            n, people, int(found.further["questions"]),
        )
        for cell, found, n, people in _cells(answers, alone)
    ]  # fmt: skip
    kinds = dict.fromkeys(("accuracy", "low", "high", "standard_error"), "float64")
    return pd.DataFrame(rows, columns=list(TABLE)).astype(kinds)


def by_dataset(tables: Tables) -> tuple[Finding, ...]:
    """The findings of the tables of a part."""
    return accuracy_by_dataset(counted_of(tables), tables[ALONE])


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
    """Each method with its accuracies: `dataset`, `model`, `question_id`, `acc` and, of how many answers, `n`."""
    for column in [name for name in alone.columns if name.endswith("_acc")]:
        method = column.removesuffix("_acc")
        rows = alone[["dataset", "model", "question_id"]].copy()
        rows["dataset"] = rows["dataset"].replace(SAME)
        rows["acc"] = alone[column].astype("float64")
        rows["n"] = alone[f"{method}_count"].astype("float64").fillna(0)
        yield method, rows[rows["acc"].notna()]


def _estimate(cell: tuple[str, str, str], found: OverQuestions, n: int, participants: int) -> Estimate:
    dataset, model, kind = cell
    way, _, condition = kind.partition(".")
    name = ".".join(
        ["chatbench.accuracy", *map(slug, (dataset, model, way)), *([slug(condition)] if condition else [])]
    )
    groups = {"dataset": dataset, "model": model, "answer_type": way} | ({"condition": condition} if condition else {})
    group = EstimateGroup(name, f"{dataset}, {model}: {kind.replace('.', ', ')}", n, participants, groups)
    where = f" ({condition})" if condition else ""
    who = f"Participants with {model}" if participants else f"{model} alone ({way})"
    how = {USER_ALONE: ", answering alone,", WITH_AI: f", answering with the chatbot{where},"}.get(way, "")
    said = f"{who}{how} had {{}} of the answers to a question of {dataset} right on average"
    return estimate(group, found.interval, said, SHARE, "answers", further=found.further)

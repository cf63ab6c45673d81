"""Accuracy in ChatBench's `user_answers`: by condition and moment, and what the chatbot changed.

A moment is when a participant answered: `alone` (the question is answered only once, without the chatbot), `before`
(alone, and later again with the chatbot: answer-first) or `with_AI`. The attention check is left out, as in the paper,
and so are questions without an answer key. Chang, Anderson, Hofman: ChatBench. ACL 2025.

`accuracy_by_arm` is of any study of its own: by each factor with several values, and by what loops vary.

All intervals account for answers that share participants and questions (intervals.py). The mean is over answers; the
paper's mean is over questions, which is equal if each question is answered equally often.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, by_arm, call, table
from app.extensions.analysis.data_frames import PROBLEM_ANSWERS, SESSION
from app.extensions.analysis.estimates import (
    POINTS,
    Estimate,
    Finding,
    finding,
    mean_estimate,
    share_estimate,
    slug,
)

TABLE = "user_answers"
COLUMNS = ("worker_id", "model", "condition", "answer_type", "dataset", "question_id", "acc")
ATTENTION = "attention_check"
ALL = "all models"
MOMENTS = {"alone": "alone", "before": "alone, before the chatbot", "with_AI": "with the chatbot"}
ANSWER_FIRST = "Only answer-first, where the same participant gives both answers."


def prepared(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers included in the analysis, each with its `moment` and with `acc` as a number.

    `answers` has the columns of ChatBench's user_answers.
    """
    counted = answers[(answers["dataset"] != ATTENTION) & answers["acc"].notna()].copy()
    counted["acc"] = counted["acc"].astype("float64")
    with_ai = counted["answer_type"] == "user-AI"
    asked = pd.MultiIndex.from_frame(counted[["worker_id", "question_id"]])
    again = asked.isin(asked[with_ai])
    counted["moment"] = np.select([with_ai, again], ["with_AI", "before"], "alone")
    return counted.fillna({"condition": "all", "model": ALL})


@analysis
def accuracy(answers: pd.DataFrame) -> Iterator[Finding]:
    """Accuracy by condition and moment, accuracy with the chatbot by model, and the change by model.

    `answers` has the columns of ChatBench's user_answers.
    """
    known = prepared(answers)
    checks = int((answers["dataset"] == ATTENTION).sum())
    note = (
        f"{checks:,} answers to attention checks are left out; participants who failed one are not." if checks else ""
    )
    title = "Accuracy by condition" if answers["condition"].notna().any() else "Accuracy"
    by_condition = _by_condition(known)
    yield finding(
        "chatbench.accuracy_by_condition", by_condition, note=note, columns=("moment",), words={"title": title}
    )
    moment = {"moment": MOMENTS["with_AI"]}
    by_model = (
        _share(f"chatbench.accuracy_by_model.{slug(model)}", str(model), {"model": str(model), **moment},
               f"{with_model(model)}, participants answered {{}} of questions correctly", rows)
        for model, rows in known[(known["moment"] == "with_AI") & (known["model"] != ALL)].groupby("model", sort=True)
    )  # fmt: skip
    yield finding("chatbench.accuracy_by_model", by_model, note=note)
    yield finding("chatbench.change", _changes(known), note=ANSWER_FIRST)


def _by_condition(known: pd.DataFrame) -> Iterator[Estimate]:
    for condition, of_condition in known.groupby("condition", sort=True):
        where = "" if condition == "all" else f" in {condition}"
        for moment, words in MOMENTS.items():
            rows = of_condition[of_condition["moment"] == moment]
            if not rows.empty:
                name = f"chatbench.accuracy_by_condition.{slug(condition)}.{moment}"
                groups = {"condition": str(condition), "moment": words}
                said = f"Participants{where} answered {{}} of questions correctly {words}"
                yield _share(name, f"{condition}: {words}", groups, said, rows)


@analysis
def accuracy_by_arm(answers: pd.DataFrame) -> Iterator[Finding]:
    """Accuracy alone and with the AI in each condition of a study, from `answer_frame`."""
    counted = answers[answers["dataset"] != ATTENTION]
    estimates = (
        share_estimate(
            ".".join(["accuracy", *map(slug, (*arm.value, str(kind)))]), f"{arm.label}, {kind}",
            {**arm.groups, "kind": str(kind)}, f"{{}} of the answers given {kind} were right ({arm.label})",
            rows["correct"], rows[SESSION], rows["question"], counts="answers",
        )
        for arm, own in by_arm(counted) if arm.value
        for kind, rows in own.groupby("kind", sort=True)
    )  # fmt: skip
    yield finding("accuracy.by_arm", estimates, columns=("kind",))


ARM_COLUMNS = ("dataset", "question", "kind", "correct", "arms")
ARMS = (
    AnalysisStep(
        "Accuracy of the arms",
        call(accuracy_by_arm, table(PROBLEM_ANSWERS, ARM_COLUMNS, "answer_frame(database, study, origin)")),
        quick=True,
    ),
)


def _share(name: str, label: str, groups: dict[str, str], said: str, rows: pd.DataFrame) -> Estimate:
    clusters = rows["worker_id"], rows["question_id"]
    return share_estimate(name, label, groups, said, rows["acc"], *clusters, counts="answers")


def _changes(known: pd.DataFrame) -> Iterator[Estimate]:
    """By model, and over all models where there are several."""
    key = ["worker_id", "question_id", "model"]
    before, after = (known[known["moment"] == moment] for moment in ("before", "with_AI"))
    pairs = before[[*key, "acc"]].merge(after[[*key, "acc"]], on=key, suffixes=("_before", "_after"))
    pairs["change"] = pairs["acc_after"] - pairs["acc_before"]
    by_model = {str(model): rows for model, rows in pairs.groupby("model", sort=True)}
    every = {ALL: pairs} if len(by_model) > 1 else {}
    for model, rows in (every | by_model).items():
        said = f"{with_model(model)}, accuracy changed by {{}} from the answer before the chatbot to the answer with it"
        figure = (f"chatbench.change.{slug(model)}", model, {"model": model}, said, rows["change"])
        clusters = rows["worker_id"], rows["question_id"]
        yield mean_estimate(*figure, *clusters, counts="pairs of answers", unit=POINTS, scale=(-1, 1))


def with_model(model: object) -> str:
    return "Over all models" if model == ALL else f"With {model}"

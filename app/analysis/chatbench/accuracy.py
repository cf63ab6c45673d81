"""Accuracy in ChatBench's `user_answers`: by condition and moment, and what the chatbot changed.

A moment is when a participant answered: `alone` (the question is answered only once, without the chatbot), `before`
(alone, and later again with the chatbot: answer-first) or `with_AI`. The attention check is left out, as in the paper,
and so are questions without an answer key. Chang, Anderson, Hofman: ChatBench. ACL 2025.

All intervals account for answers that share participants and questions (intervals.py). The mean is over answers; the
paper's mean is over questions, which is equal if each question is answered equally often.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.estimates import POINTS, SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import Codes, Interval, codes, mean_of, number_of, share_of

TABLE = "user_answers"
COLUMNS = ("worker_id", "model", "condition", "answer_type", "dataset", "question_id", "acc")
"""The columns that are needed."""
ATTENTION = "attention_check"
ALL = "all models"
MOMENTS = {"alone": "alone", "before": "alone, before the chatbot", "with_AI": "with the chatbot"}
BEFORE = "“before” is alone, before answering the same question with the chatbot."
METHOD = (
    "Accuracy is the share of correct answers among all answers of a group, in per cent. Its 95 % interval is Wilson's "
    "for the effective number of independent answers, because answers share participants and questions. The "
    "variance is that of the two-way cluster jackknife (participants and questions; MacKinnon, Nielsen and Webb 2023; "
    "Cameron, Gelbach and Miller 2011); Student's t has one degree of freedom less than there are participants, or "
    "questions if they are fewer."
)
CHANGE = (
    "The change is the mean difference in accuracy, in percentage points, between a participant's answer with the "
    "chatbot and their answer to the same question before it. Its 95 % interval is mean ± t standard errors by the "
    "two-way cluster jackknife (participants and questions; MacKinnon, Nielsen and Webb 2023)."
)


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


def accuracy(answers: pd.DataFrame) -> tuple[Finding, ...]:
    """Accuracy by condition and moment, accuracy with the chatbot by model, and the change by model.

    `answers` has the columns of ChatBench's user_answers. Names:
    `chatbench.accuracy_by_condition.<condition>.<moment>`, `chatbench.accuracy_by_model.<model>`,
    `chatbench.change.<model>`. Empty without answers.
    """
    counted = prepared(answers)
    checks = int((answers["dataset"] == ATTENTION).sum())
    note = (
        f"{checks:,} answers to attention checks are left out; participants who failed one are not." if checks else ""
    )
    with_ai = counted[counted["moment"] == "with_AI"]
    found = (
        Finding(
            "chatbench.accuracy_by_condition", "Accuracy by condition", "answers", SHARE, (0, 1),
            tuple(_by_condition(counted)), METHOD, _code("accuracy"),
            note=f"{BEFORE} {note}".strip(), columns=("moment",),
        ),
        Finding(
            "chatbench.accuracy_by_model", "Accuracy with the chatbot, by model", "answers", SHARE, (0, 1),
            tuple(_by_model(with_ai)), METHOD, _code("accuracy"), note=note,
        ),
        Finding(
            "chatbench.change", "Change of accuracy with the chatbot", "pairs of answers", POINTS, (-1, 1),
            tuple(_changes(counted)), CHANGE, _code("accuracy"), reference=0.0,
            note="Only answer-first, where the same participant gives both answers.",
        ),
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _code(function: str) -> str:
    return f'{function}(frame(database, study, "{TABLE}", origin))'


def _by_condition(counted: pd.DataFrame) -> Iterator[Estimate]:
    for condition, of_condition in counted.groupby("condition", sort=True):
        for moment, words in MOMENTS.items():
            rows = of_condition[of_condition["moment"] == moment]
            if not rows.empty:
                groups = {"condition": str(condition), "moment": moment}
                where = "" if condition == "all" else f" in {condition}"
                group = _group(
                    f"chatbench.accuracy_by_condition.{slug(condition)}.{moment}", f"{condition}: {words}", rows, groups
                )
                said = f"Participants{where} answered {{}} of questions correctly {words}"
                yield estimate(group, _share(rows), said, SHARE, "answers")


def _by_model(with_ai: pd.DataFrame) -> Iterator[Estimate]:
    for model, rows in with_ai.groupby("model", sort=True):
        groups = {"model": str(model), "moment": "with_AI"}
        group = _group(f"chatbench.accuracy_by_model.{slug(model)}", str(model), rows, groups)
        said = f"{_with(str(model))}, participants answered {{}} of questions correctly"
        yield estimate(group, _share(rows), said, SHARE, "answers")


def _changes(counted: pd.DataFrame) -> Iterator[Estimate]:
    """By model, and over all models where there are several."""
    key = ["worker_id", "question_id", "model"]
    before, after = (counted[counted["moment"] == moment] for moment in ("before", "with_AI"))
    pairs = before[[*key, "acc"]].merge(after[[*key, "acc"]], on=key, suffixes=("_before", "_after"))
    pairs["change"] = pairs["acc_after"] - pairs["acc_before"]
    by_model = {str(model): rows for model, rows in pairs.groupby("model", sort=True)}
    every = {ALL: pairs} if len(by_model) > 1 else {}
    for model, rows in (every | by_model | every).items():
        found = mean_of(rows["change"].to_numpy(), *_clusters(rows), scale=(-1, 1))
        group = _group(f"chatbench.change.{slug(model)}", model, rows, {"model": model})
        said = f"{_with(model)}, accuracy changed by {{}} from the answer before the chatbot to the answer with it"
        yield estimate(group, found, said, POINTS, "pairs of answers")


def _with(model: str) -> str:
    return f"With {model}" if model != ALL else "Over all models"


def _share(rows: pd.DataFrame) -> Interval:
    return share_of(rows["acc"].to_numpy(), *_clusters(rows))


def _clusters(rows: pd.DataFrame) -> tuple[Codes, Codes]:
    return codes(rows["worker_id"]), codes(rows["question_id"])


def _group(name: str, label: str, rows: pd.DataFrame, groups: dict[str, str]) -> EstimateGroup:
    return EstimateGroup(name, label, len(rows), number_of(codes(rows["worker_id"])), groups)

"""Accuracy in ChatBench's `user_answers`: by condition and moment, what the chatbot changed, and which answers count.
Chang, Anderson, Hofman: ChatBench. ACL 2025.

A moment is when a participant answered: `alone` (the question is answered only once, without the chatbot), `before`
(alone, and later again with the chatbot: answer-first) or `with_AI`. The attention check is left out, as in the paper,
and so are questions without an answer key. Intervals account for answers that share participants and questions. The
mean is over answers; the paper's is over questions, which is equal if each question is answered equally often.

The paper's results are of the answers that its filter leaves, by the steps of the authors' code, as far as the released
rows allow: they do not show who completed the study, so the rows of a filtered file are used if there is one. For a
study's own sessions, the export writes it once a participant has completed the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, by_arm, call, table
from app.extensions.analysis.data_frames import SESSION, answer_frame
from app.extensions.analysis.estimates import (
    POINTS,
    Estimate,
    Finding,
    count_estimate,
    finding,
    mean_estimate,
    share_estimate,
    slug,
)
from experiments.plural import count

TABLE = "user_answers"
COLUMNS = ("worker_id", "model", "condition", "answer_type", "dataset", "question_id", "acc")
ATTENTION = "attention_check"
ALL = "all models"
MOMENTS = {"alone": "alone", "before": "alone, before the chatbot", "with_AI": "with the chatbot"}
ANSWER_FIRST = "Only answer-first, where the same participant gives both answers."


def prepared(answers: pd.DataFrame) -> pd.DataFrame:
    """The answers included in the analysis, each with its `moment` and with `acc` as a number."""
    counted = answers[(answers["dataset"] != ATTENTION) & answers["acc"].notna()].copy()
    counted["acc"] = counted["acc"].astype("float64")
    with_ai = counted["answer_type"] == "user-AI"
    asked = pd.MultiIndex.from_frame(counted[["worker_id", "question_id"]])
    again = asked.isin(asked[with_ai])
    counted["moment"] = np.select([with_ai, again], ["with_AI", "before"], "alone")
    return counted.fillna({"condition": "all", "model": ALL})


@analysis
def accuracy(answers: pd.DataFrame) -> Iterator[Finding]:
    """Accuracy by condition and moment, accuracy with the chatbot by model, and the change by model."""
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
ARMS = (AnalysisStep(call(accuracy_by_arm, table(answer_frame, ARM_COLUMNS)), quick=True),)


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


ASSIGNMENT = ("subject", "batch", "model", "condition")
COUNTED_COLUMNS = ("worker_id", *ASSIGNMENT, "answer_type", "dataset", "question_id", "acc")
# Dataset names on the dataset card that differ from those in the paper and the questions.
SAME: Mapping[str, str] = {"moral_reasoning": "moral_scenarios"}
KINDS: Mapping[str, str] = {"user-alone": "Answers alone", "user-AI": "Answers with the chatbot"}


def filtered(answers: pd.DataFrame) -> pd.DataFrame:
    """The rows that the filter leaves; rows must be in the order of answering."""
    checks = answers["dataset"] == ATTENTION
    failed = answers.loc[checks & (answers["acc"].astype("float64") != 1), "worker_id"]
    left = answers[~checks & ~answers["worker_id"].isin(failed)]
    return left[_first(left)].drop_duplicates(["worker_id", "question_id", "answer_type"])


def _first(answers: pd.DataFrame) -> pd.Series:
    assignment = answers.groupby(list(ASSIGNMENT), dropna=False, sort=False).ngroup()
    return assignment == assignment.groupby(answers["worker_id"]).transform("first")


def counted(answers: pd.DataFrame, released: pd.DataFrame | None = None) -> pd.DataFrame:
    """The answers that the paper's results include: those with an answer key, `acc` as a number, one name per dataset.

    These are the rows of the filtered file if it has any, else those left after the filter. `acc` is 0 or 1.
    """
    kept = filtered(answers) if released is None or released.empty else released
    kept = kept[kept["acc"].notna() & (kept["dataset"] != ATTENTION)].copy()
    kept["acc"] = kept["acc"].astype("float64")
    kept["dataset"] = kept["dataset"].replace(SAME)
    return kept.fillna({"condition": "all", "model": "all models"})


@analysis
def filter_counts(answers: pd.DataFrame, released: pd.DataFrame, alone: pd.DataFrame) -> Iterator[Finding]:
    """The number of answers analysed, by type."""
    kept = counted(answers, released)
    of_kind = {kind: kept[kept["answer_type"] == kind] for kind in KINDS}
    kinds = [
        _count(f"chatbench.count.{kind}", KINDS[kind], len(rows), rows["worker_id"].nunique())
        for kind, rows in of_kind.items()
        if len(rows)
    ]
    counts = alone[[name for name in alone.columns if name.endswith("_count")]].astype("float64")
    if asked := int(np.nansum(counts.to_numpy())):
        kinds.append(_count("chatbench.count.AI-alone", "Answers of models alone", asked, 0))
    note = "These rows do not show who completed the study; the filtered file, if there is one, considers it."
    axis = (0.0, float(max([one.n for one in kinds], default=1)))
    yield finding("chatbench.count", kinds, axis=axis, note=note)


def _count(name: str, label: str, number: int, participants: int) -> Estimate:
    of = f" of {count(participants, 'participant')}" if participants else ""
    sentence = f"{label[0].upper()}{label[1:]}: {number:,} answers{of}."
    return count_estimate(name, label, {"group": label}, number, participants, sentence)

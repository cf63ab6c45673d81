"""Accuracy in ChatBench's `user_answers`: by condition and moment, and what the chatbot changed.

A moment is when a participant answered: `alone` (the question is answered only once, without the chatbot), `before`
(alone, and later again with the chatbot: answer-first) or `with_AI`. The attention check is left out, as in the paper,
and so are questions without an answer key. Chang, Anderson, Hofman: ChatBench. ACL 2025.

`accuracy_by_arm` is of any study of its own: by each factor with several values, and by what loops vary.

All intervals account for answers that share participants and questions (intervals.py). The mean is over answers; the
paper's mean is over questions, which is equal if each question is answered equally often.

ChatBench's filter, as far as the released rows allow, and the number of answers after each step.

The steps are those of the authors' code, pre-registered for their own study: remove the attention check; remove
participants who failed one; keep only a participant's first assignment; keep one answer of each type to a question. The
released rows do not show which participants completed the study, so the rows of a filtered file are used if there is
one. A release may have such a file; for a study's own sessions, the export writes it once a participant has completed
the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, by_arm, call, each, table
from app.extensions.analysis.data_frames import PROBLEM_ANSWERS, SESSION
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


ASSIGNMENT = ("subject", "batch", "model", "condition")
COUNTED_COLUMNS = ("worker_id", *ASSIGNMENT, "answer_type", "dataset", "question_id", "acc")
# Dataset names on the dataset card that differ from those in the paper and the questions.
SAME: Mapping[str, str] = {"moral_reasoning": "moral_scenarios"}
STEPS: Mapping[str, str] = {
    "all": "answered a question",
    "without_attention_check": "without the attention check",
    "passed_attention_check": "passed every attention check",
    "first_assignment": "the first assignment only",
    "one_answer": "one answer of each type to a question",
}
KINDS: Mapping[str, str] = {"user-alone": "Answers alone", "user-AI": "Answers with the chatbot"}


def filter_steps(answers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows left after each step of the filter, by its name; rows must be in the order of answering."""
    yield "all", answers
    checks = answers["dataset"] == ATTENTION
    right = answers["acc"].astype("float64") == 1
    failed = answers.loc[checks & ~right, "worker_id"]
    answers = answers[~checks]
    yield "without_attention_check", answers
    answers = answers[~answers["worker_id"].isin(failed)]
    yield "passed_attention_check", answers
    answers = answers[_first(answers)]
    yield "first_assignment", answers
    yield "one_answer", answers.drop_duplicates(["worker_id", "question_id", "answer_type"])


def _first(answers: pd.DataFrame) -> pd.Series:
    assignment = answers.groupby(list(ASSIGNMENT), dropna=False, sort=False).ngroup()
    return assignment == assignment.groupby(answers["worker_id"]).transform("first")


def filtered(answers: pd.DataFrame) -> pd.DataFrame:
    *_, (_, kept) = filter_steps(answers)
    return kept


def counted(answers: pd.DataFrame, released: pd.DataFrame | None = None) -> pd.DataFrame:
    """The answers that the paper's results include: those with an answer key, `acc` as a number, one name per dataset.

    These are the rows of the filtered file if it has any, else those left after the filter. `acc` is 0 or 1.
    """
    kept = filtered(answers) if released is None or released.empty else released
    kept = kept[kept["acc"].notna() & (kept["dataset"] != ATTENTION)].copy()
    kept["acc"] = kept["acc"].astype("float64")
    kept["dataset"] = kept["dataset"].replace(SAME)
    return kept.fillna({"condition": "all", "model": "all models"})


def filter_table(answers: pd.DataFrame, released: pd.DataFrame | None = None) -> pd.DataFrame:
    """The rows left after each step: columns `step`, `participants`, `answers`; the last row is the filtered file's."""
    left = list(filter_steps(answers))
    if released is not None and not released.empty:
        left.append(("released", released))
    rows = [(name, some["worker_id"].nunique(), len(some)) for name, some in left]
    return pd.DataFrame(rows, columns=["step", "participants", "answers"])


@analysis
def filter_counts(answers: pd.DataFrame, released: pd.DataFrame, alone: pd.DataFrame) -> Iterator[Finding]:
    """The number of answers after each step, unless none leaves an answer out, and of those analysed by type."""
    words = {**STEPS, "released": "in the filtered file"}
    steps = [
        _count(f"chatbench.filter.{row.step}", words[row.step], row.answers, row.participants)
        for row in each(filter_table(answers, released))
        if row.answers
    ]
    if len({one.n for one in steps}) > 1:
        yield _counts("chatbench.filter", steps)
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
    if kinds:
        yield _counts("chatbench.count", kinds)


def _counts(name: str, estimates: list[Estimate]) -> Finding:
    note = "These rows do not show who completed the study; the filtered file, if there is one, considers it."
    return finding(name, estimates, axis=(0.0, float(max(one.n for one in estimates))), note=note)


def _count(name: str, label: str, number: int, participants: int) -> Estimate:
    of = f" of {participants:,} participants" if participants else ""
    sentence = f"{label[0].upper()}{label[1:]}: {number:,} answers{of}."
    return count_estimate(name, label, {"group": label}, number, participants, sentence)

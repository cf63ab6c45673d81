"""ChatBench's filter, as far as the released rows allow, and the number of answers after each step.

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

from app.extensions.analysis.base import analysis, each
from app.extensions.analysis.chatbench.accuracy import ATTENTION
from app.extensions.analysis.estimates import Estimate, Finding, count_estimate, finding

ASSIGNMENT = ("subject", "batch", "model", "condition")
COLUMNS = ("worker_id", *ASSIGNMENT, "answer_type", "dataset", "question_id", "acc")
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

"""Answers as judgements: alone and with the AI (a conversation or a fixed recommendation), and how sure people were.

They are read from the tidy table `answers` of any study of its own: the answers to problems in the steps `answer` and
`chat`. Attention checks are left out.
"""

from __future__ import annotations

import pandas as pd

from experiments.study.fields import ANSWER
from experiments.study.problem_answer import ANSWER_CONFIDENCE
from experiments.views.bonus import ATTENTION

KEY = ("participant", "session", "position", "problem")
"""What the answers to a problem in one turn of a loop have in common."""
COLUMNS = (
    *KEY, "step", "dataset", "status", "seq", "question", "value", "number", "correct", "advice", "advice_correct",
)  # fmt: skip
"""The columns of `answers` that are needed."""
ALONE, WITH_AI = "alone", "with AI"


def judgements(answers: pd.DataFrame) -> pd.DataFrame:
    """A row for each answer to a problem: KEY's columns, `kind` (ALONE or WITH_AI), `value`, `number` (NaN for
    options), `correct` (0, 1 or NaN if the right answer is unknown), `confidence` (0 to 1, or NaN), `advice`,
    `advice_correct`.

    An answer is given with the AI if it is given beside a conversation or a recommendation. Of several answers of a
    kind to one problem in one turn, the last counts.
    """
    problems = answers["problem"].notna() & answers["step"].isin(("answer", "chat")) & (answers["dataset"] != ATTENTION)
    sent = answers[problems & (answers["status"] == "submitted")].sort_values("seq", kind="stable")
    given = sent[(sent["question"] == ANSWER.name) & sent["value"].notna()]
    sure = sent.loc[sent["question"] == ANSWER_CONFIDENCE, ["session", "seq", "number"]]
    both = given.merge(sure, on=["session", "seq"], how="left", suffixes=("", "_sure"))
    helped = (both["step"] == "chat") | both["advice"].notna()
    rows = both[[*KEY, "value", "number", "advice"]].assign(
        kind=helped.map({True: WITH_AI, False: ALONE}),
        correct=both["correct"].astype("float64"),
        confidence=both["number_sure"].astype("float64") / 100,
        advice_correct=both["advice_correct"].astype("float64"),
    )
    return rows.drop_duplicates([*KEY, "kind"], keep="last").reset_index(drop=True)


def pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each problem that was answered alone and with the AI: KEY's columns, and the others with the endings
    `_alone` and `_ai`."""
    alone, helped = (rows[rows["kind"] == kind].drop(columns="kind") for kind in (ALONE, WITH_AI))
    return alone.merge(helped, on=[*KEY], suffixes=("_alone", "_ai"))

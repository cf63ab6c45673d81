"""Transitions in answer-first: how many wrong answers become correct with the chatbot, and how many correct ones wrong.

A pair is two answers of one participant to one question. The intervals account for answers that share participants and
questions (intervals.py).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.base import Tables
from app.analysis.chatbench.accuracy import ALL
from app.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI
from app.analysis.chatbench.preregistered_filter import counted_of
from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, number_of, share_of

PAIR = ["worker_id", "question_id", "model"]
KINDS = {
    "corrected": (0, 1, "wrong answers corrected with the chatbot", "got wrong alone, {} were correct"),
    "lost": (1, 0, "correct answers lost with the chatbot", "got right alone, {} were wrong"),
}
"""By name: the score alone and with the chatbot, the label, and the text of the sentence."""
CODE = (
    'transitions(counted(frame(database, study, "user_answers", origin), '
    'frame(database, study, "user_answers_filtered", origin)))'
)
METHOD = (
    "Of the questions that a participant answered wrongly (correctly) alone and then again with the chatbot, the share "
    "answered correctly (wrongly) with it. 95 % intervals are Wilson's for the effective number of independent answers "
    "by the two-way cluster jackknife (participants and questions)."
)


def pairs(answers: pd.DataFrame) -> pd.DataFrame:
    """Both answers of a participant to a question: `before` and `after`, with PAIR's columns."""
    kinds = answers["answer_type"]
    before, after = (answers.loc[kinds == kind, [*PAIR, "acc"]] for kind in (USER_ALONE, WITH_AI))
    return before.merge(after, on=PAIR, suffixes=("_before", "_after")).rename(
        columns={"acc_before": "before", "acc_after": "after"}
    )


def transitions(answers: pd.DataFrame) -> tuple[Finding, ...]:
    """The shares of wrong answers corrected and of correct answers lost, overall and by model. ChatBench, ACL 2025.

    corrected = (wrong alone, correct with the chatbot)/(wrong alone), and lost vice versa: shares from 0 to 1.
    `answers` are those that `counted` returns. Names: `chatbench.transition.corrected.<model>` and
    `chatbench.transition.lost.<model>`, the model `all_models` first.
    """
    found = tuple(_estimates(pairs(answers)))
    if not found:
        return ()
    title = "Answers corrected and lost with the chatbot"
    note = "Only answer-first, where the same participant gives both answers."
    return (
        Finding(
            "chatbench.transition", title, "answers", SHARE, (0, 1), found, METHOD, CODE, note=note, columns=("kind",)
        ),
    )


def transitions_of(tables: Tables) -> tuple[Finding, ...]:
    return transitions(counted_of(tables))


def _estimates(both: pd.DataFrame) -> Iterator[Estimate]:
    groups = {ALL: both} | {str(model): rows for model, rows in both.groupby("model", sort=True)}
    for kind, (start, end, label, said) in KINDS.items():
        for model, rows in groups.items():
            of = rows[rows["before"] == start]
            if not of.empty:
                people, questions = codes(of["worker_id"]), codes(of["question_id"])
                hits = np.asarray(of["after"] == end, dtype=np.float64)
                found = share_of(hits, people, questions)
                name = f"chatbench.transition.{kind}.{slug(model)}"
                group = EstimateGroup(
                    name, f"{model}: {label}", len(of), number_of(people), {"kind": kind, "model": model}
                )
                where = "Over all models" if model == ALL else f"With {model}"
                yield estimate(
                    group, found, f"{where}, of the answers that participants {said} with the chatbot", SHARE, "answers"
                )

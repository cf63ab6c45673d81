"""Participants' work: the table that ChatBench's authors used to check data quality, and its means.

The columns are theirs: `num_questions`, `passed_att_check` (NaN without a check), `num_correct` (questions with at
least one correct answer, including the check; it determines the bonus), `user_acc` of `user_n` answers alone and
`user_ai_acc` of `user_ai_n` answers with the chatbot (both without the check), `avg_chat_length` (messages in a
conversation, of both sides), `avg_utt_length` (characters in a participant's message) and
`prop_first_prompt_too_short` (the share of conversations whose first message has fewer than five characters).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

import orjson
import pandas as pd

from app.analysis.base import Tables
from app.analysis.chatbench.accuracy import ATTENTION
from app.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI
from app.analysis.chatbench.preregistered_filter import ANSWERS
from app.analysis.estimates import NUMBER, SHARE, Estimate, EstimateGroup, Finding, Unit, estimate
from app.analysis.intervals import codes, mean_of

TALKS = "conversations"
TALK_COLUMNS = ("worker_id", "chat_history")
SHORT = 5
"""A first message of fewer characters is too short. (ChatBench's.)"""
PERSON = frozenset({"You", "user"})
MEASURES: Mapping[str, tuple[Unit, str, tuple[float, float]]] = {
    "num_questions": (NUMBER, "questions answered", (0, float("inf"))),
    "num_correct": (NUMBER, "questions answered correctly at least once", (0, float("inf"))),
    "avg_chat_length": (NUMBER, "messages in a conversation", (0, float("inf"))),
    "avg_utt_length": (NUMBER, "characters in a participant's message", (0, float("inf"))),
    "passed_att_check": (SHARE, "passed every attention check", (0, 1)),
    "user_acc": (SHARE, "accuracy alone", (0, 1)),
    "user_ai_acc": (SHARE, "accuracy with the chatbot", (0, 1)),
    "prop_first_prompt_too_short": (SHARE, f"conversations whose first message is under {SHORT} characters", (0, 1)),
}
"""The measures with a mean in the report: unit, label and scale."""
CODE = (
    'quality_of_work(frame(database, study, "user_answers", origin), frame(database, study, "conversations", origin))'
)
METHOD = (
    "Means over all participants analysed (no filter); each participant counts once. 95 % intervals are mean ± t "
    "standard errors."
)


def worker_table(answers: pd.DataFrame, talks: pd.DataFrame) -> pd.DataFrame:
    """A row for each participant, by `worker_id`, with the columns that the module's docstring describes.

    `answers` has the columns of user_answers and `talks` those of conversations; answers to questions without an
    answer key count as answers, but neither as correct nor as wrong.
    """
    known = answers.assign(acc=answers["acc"].astype("float64"))
    people = known.groupby("worker_id", sort=False)
    check = known["dataset"] == ATTENTION
    right = known[known["acc"] == 1].groupby("worker_id")["question_id"].nunique()
    table = pd.DataFrame({"num_questions": people["question_id"].nunique()})
    checks = known[check].groupby("worker_id")["acc"]
    table["passed_att_check"] = (checks.mean() == 1).where(checks.count() > 0).astype("float64")
    table["num_correct"] = right.reindex(table.index).fillna(0).astype("int64")
    for kind, name in ((USER_ALONE, "user"), (WITH_AI, "user_ai")):
        own = known[~check & (known["answer_type"] == kind)].groupby("worker_id")["acc"]
        table[f"{name}_acc"] = own.mean()
        table[f"{name}_n"] = own.count().reindex(table.index).fillna(0).astype("int64")
    talked = pd.DataFrame(dict(_talked(talks))).T.reindex(columns=list(TALKED)).astype("float64")
    return table.join(talked)


TALKED = ("avg_chat_length", "avg_utt_length", "prop_first_prompt_too_short")


def _talked(talks: pd.DataFrame) -> Iterator[tuple[Any, pd.Series]]:
    for worker, histories in talks.groupby("worker_id", sort=False)["chat_history"]:
        yield worker, pd.Series(_lengths([messages(history) for history in histories]))


def messages(history: Any) -> list[Mapping[str, str]]:
    """A conversation's messages, from JSON or as they are; none where there is no conversation."""
    said = orjson.loads(history) if isinstance(history, str) else history
    return said if isinstance(said, list) else []


def _lengths(chats: list[list[Mapping[str, str]]]) -> dict[str, float]:
    """The measures of one participant's conversations; those without data are left out."""
    own = [[one["content"] for one in chat if one["role"] in PERSON] for chat in chats]
    texts = [text for some in own for text in some]
    first = [some[0] for some in own if some]
    found = {"avg_chat_length": fmean(map(len, chats))}
    found |= {"avg_utt_length": fmean(map(len, texts))} if texts else {}
    return found | ({"prop_first_prompt_too_short": fmean(len(text) < SHORT for text in first)} if first else {})


def quality_of_work(answers: pd.DataFrame, talks: pd.DataFrame) -> tuple[Finding, ...]:
    """The means over participants of `worker_table`. Names: `chatbench.work.<measure>`, after the columns."""
    table = worker_table(answers, talks)
    found: dict[Unit, list[Estimate]] = {}
    for name, (unit, label, scale) in MEASURES.items():
        values = table[name].dropna()
        if not values.empty:
            interval = mean_of(values.to_numpy(dtype="float64"), codes(values.index), scale=scale)
            group = EstimateGroup(f"chatbench.work.{name}", label, len(values), len(values), {"measure": name})
            said = f"The mean over participants ({label}) is {{}}"
            found.setdefault(unit, []).append(estimate(group, interval, said, unit, "participants"))
    return tuple(
        Finding(
            f"chatbench.work.{unit}s", f"How participants worked: {unit}s", "participants", unit,
            (0, 1 if unit == SHARE else max(one.high or one.value for one in some) or 1), tuple(some), METHOD, CODE,
        )
        for unit, some in found.items()
    )  # fmt: skip


def work_of(tables: Tables) -> tuple[Finding, ...]:
    return quality_of_work(tables[ANSWERS], tables[TALKS])

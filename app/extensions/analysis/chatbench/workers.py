"""Participants' work and time on steps: the table that ChatBench's authors used to check data quality, and its means.

The columns are theirs: `num_questions`, `passed_att_check` (NaN without a check), `num_correct` (questions with at
least one correct answer, including the check; it determines the bonus), `user_acc` of `user_n` answers alone and
`user_ai_acc` of `user_ai_n` answers with the chatbot (both without the check), `avg_chat_length` (messages in a
conversation, of both sides), `avg_utt_length` (characters in a participant's message) and
`prop_first_prompt_too_short` (the share of conversations whose first message has fewer than five characters).

Times on steps are the screen times of a study's own sessions, measured by the server from the event that showed a
screen to the event that left it. Times over ten minutes are left out, as in ChatBench's plots. Released files have no
times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

import orjson
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.chatbench.accuracy import ATTENTION
from app.extensions.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI
from app.extensions.analysis.data_frames import SESSION
from app.extensions.analysis.estimates import NUMBER, SHARE, Estimate, Finding, Unit, mean_estimate

TALKS = "conversations"
TALK_COLUMNS = ("worker_id", "chat_history")
# A first message of fewer characters is too short. (ChatBench's.)
SHORT = 5
PERSON = frozenset({"You", "user"})
# The measures with a mean in the report: unit, label and scale.
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
METHOD = (
    "Means over all participants analysed (no filter); each participant counts once. 95 % intervals are mean ± t "
    "standard errors."
)
# Longer times mean that the participant was away.
LONGEST_S = 600.0
TIME_COLUMNS = ("path", "seconds")
DURATIONS = (
    f"The mean number of seconds on a step, over all its screens that were left within {LONGEST_S / 60:.0f} minutes. "
    "95 % intervals are mean ± t standard errors by the cluster jackknife (participants). JSON and csv reports have "
    "the median too."
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
    own = [[one["content"] for one in chat if one["role"] in PERSON] for chat in chats]
    texts = [text for some in own for text in some]
    first = [some[0] for some in own if some]
    found = {"avg_chat_length": fmean(map(len, chats))}
    found |= {"avg_utt_length": fmean(map(len, texts))} if texts else {}
    return found | ({"prop_first_prompt_too_short": fmean(len(text) < SHORT for text in first)} if first else {})


@analysis
def quality_of_work(answers: pd.DataFrame, talks: pd.DataFrame) -> Iterator[Finding]:
    known = worker_table(answers, talks)
    found: dict[Unit, list[Estimate]] = {}
    for name, (unit, label, scale) in MEASURES.items():
        values = known[name].dropna()
        if not values.empty:
            said = f"The mean over participants ({label}) is {{}}"
            figure = (f"chatbench.work.{name}", label, {"measure": name}, said, values, values.index)
            found.setdefault(unit, []).append(mean_estimate(*figure, counts="participants", unit=unit, scale=scale))
    for unit, some in found.items():
        most = 1 if unit == SHARE else max(one.high or one.value for one in some) or 1
        known_as = (f"chatbench.work.{unit}s", f"How participants worked: {unit}s")
        yield Finding(*known_as, "participants", unit, (0, most), tuple(some), METHOD)


@analysis
def durations(times: pd.DataFrame) -> Iterator[Finding]:
    """Mean seconds on each step, with the `median` in `further`; `times` has `path` (turns of loops as one), `seconds`
    and `_session`."""
    left = times[times["seconds"].notna()]
    within = left[left["seconds"] <= LONGEST_S]
    found = []
    for path, rows in within.groupby("path", sort=False):
        name = "".join(sign if sign.isalnum() or sign in "_-" else "-" if sign == "/" else "" for sign in str(path))
        said, further = f"Participants were on {path} for {{}} s", {"median": float(rows["seconds"].median())}
        figure = (f"chatbench.duration.{name}", str(path), {"path": str(path)}, said, rows["seconds"], rows[SESSION])
        found.append(mean_estimate(*figure, counts="screens", scale=(0, LONGEST_S), further=further))
    axis = (0.0, max([*(one.high or one.value for one in found), 1.0]))
    long = len(left) - len(within)
    note = f"{long:,} times over {LONGEST_S / 60:.0f} minutes are left out." if long else ""
    title = "Seconds on each step"
    yield Finding("chatbench.duration", title, "screens", NUMBER, axis, tuple(found), DURATIONS, note=note)

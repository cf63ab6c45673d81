"""The use of the chatbot's advice in answer-first: transitions (how many wrong answers become correct with it, and how
many correct ones wrong), and reliance, from their own answer, the chatbot's (advice), and the answer with it.

The advice is what the annotator `answer` found in the conversation; conversations in which the chatbot gave no option
are left out. The measures are shares of answers:

- relative AI reliance, relative self-reliance, and both together, appropriate reliance: Schemmer et al. (IUI 2023)
- over-reliance, and under-reliance: Buçinca, Malaya, Gajos (CSCW 2021)
- agreement and switch fraction: Yin, Wortman Vaughan, Wallach (CHI 2019)
- complementary performance: accuracy against the better of both alone, Bansal et al. (CHI 2021)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.chatbench.accuracy import ALL, ANSWER_FIRST, ASSIGNMENT, with_model
from app.extensions.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI
from app.extensions.analysis.estimates import POINTS, Estimate, Finding, finding, mean_estimate, share_estimate, slug

TALKS, QUESTIONS = "conversations", "questions"
# What an answer and its conversation have in common.
KEY = ("worker_id", *ASSIGNMENT, "question_id")
CHOSEN = "selected_answer"
TALK_COLUMNS = (*KEY, "answer_letter")
QUESTION_COLUMNS = ("question_id", "answer")
# By name: the label, and the text of the sentence.
MEASURES: Mapping[str, tuple[str, str]] = {
    "relative_ai": ("relative AI reliance", "of answers that were wrong alone and met right advice, {} became right"),
    "relative_self": ("relative self-reliance", "of answers that were right alone and met wrong advice, {} stayed so"),
    "appropriate": (
        "appropriate reliance",
        "of answers where either the participant alone or the advice was right, {} were right in the end",
    ),
    "over": ("over-reliance", "of answers that met wrong advice, {} followed it"),
    "under": ("under-reliance", "of answers that met right advice, {} did not follow it"),
    "agreement": ("agreement fraction", "{} of answers were the advice"),
    "switch": ("switch fraction", "of answers that were not the advice alone, {} were changed to it"),
    "helpful": ("helpful changes", "{} of answers were wrong alone and right in the end"),
    "harmful": ("harmful changes", "{} of answers were right alone and wrong in the end"),
}
# By name: the score alone and with the chatbot, the label, and the text of the sentence.
TRANSITIONS = {
    "corrected": (0, 1, "wrong answers corrected with the chatbot", "got wrong alone, {} were correct"),
    "lost": (1, 0, "correct answers lost with the chatbot", "got right alone, {} were wrong"),
}
NOTE = "Conversations in which the chatbot gave none of the options are left out."


def advised(answers: pd.DataFrame, talks: pd.DataFrame, questions: pd.DataFrame) -> pd.DataFrame:
    """A row for each answer that met advice: KEY's columns, whether `before`, `advice` and `after` are right (0 or 1),
    and whether the answers alone (`agreed`) and with the chatbot (`followed`) are the advice.

    `answers` are those that `counted` returns, `talks` and `questions` have TALK_COLUMNS and QUESTION_COLUMNS. The
    right option is that of `questions`, or else an answer that is right.
    """
    key = [*KEY]
    kinds = answers["answer_type"]
    before, after = (answers.loc[kinds == kind, [*key, CHOSEN, "acc"]] for kind in (USER_ALONE, WITH_AI))
    advice = talks.fillna({"condition": "all", "model": ALL}).dropna(subset="answer_letter")
    advice = advice[[*TALK_COLUMNS]].drop_duplicates(key)
    both = before.merge(after, on=key, suffixes=("_before", "_after")).merge(advice, on=key)
    seen = answers[answers["acc"] == 1].drop_duplicates("question_id").set_index("question_id")[CHOSEN]
    stated = questions.drop_duplicates("question_id").set_index("question_id")["answer"]
    right = both["question_id"].map(stated.combine_first(seen))
    both = both[right.notna()]
    letter = both["answer_letter"]
    return both[key].assign(
        before=both["acc_before"],
        after=both["acc_after"],
        advice=(letter == right[both.index]).astype("float64"),
        agreed=both[f"{CHOSEN}_before"] == letter,
        followed=(both[f"{CHOSEN}_after"] == letter).astype("float64"),
    )


@analysis
def reliance(answers: pd.DataFrame, talks: pd.DataFrame, questions: pd.DataFrame) -> Iterator[Finding]:
    """The measures of the module's docstring, over all models and by model. The arguments are those of `advised`."""
    rows = advised(answers, talks, questions)
    if rows.empty:
        return
    models = {ALL: rows} | {str(model): some for model, some in rows.groupby("model", sort=True)}
    shares = (found for measure in MEASURES for found in _shares(measure, models))
    yield finding("chatbench.reliance", shares, note=NOTE, columns=("model",))
    yield finding("chatbench.complementary", (_better(model, some) for model, some in models.items()), note=NOTE)


def hits(rows: pd.DataFrame, measure: str) -> pd.Series:
    """The zeros and ones whose mean is a measure, for the answers that it is about."""
    before, advice, after = rows["before"] == 1, rows["advice"] == 1, rows["after"] == 1
    about, hit = {
        "relative_ai": (~before & advice, after),
        "relative_self": (before & ~advice, after),
        "appropriate": (before != advice, after),
        "over": (~advice, rows["followed"]),
        "under": (advice, 1 - rows["followed"]),
        "agreement": (before | True, rows["followed"]),
        "switch": (~rows["agreed"], rows["followed"]),
        "helpful": (before | True, ~before & after),
        "harmful": (before | True, before & ~after),
    }[measure]
    return hit[about].astype("float64")


def _shares(measure: str, models: Mapping[str, pd.DataFrame]) -> Iterator[Estimate]:
    label, words = MEASURES[measure]
    for model, rows in models.items():
        values = hits(rows, measure)
        if not values.empty:
            of, name = rows.loc[values.index], f"chatbench.reliance.{measure}.{slug(model)}"
            groups, said = {"measure": label, "model": model}, f"{with_model(model)}, {words}"
            figure = (name, f"{model}: {label}", groups, said, values)
            yield share_estimate(*figure, of["worker_id"], of["question_id"], counts="answers")


def _better(model: str, rows: pd.DataFrame) -> Estimate:
    alone, advice = float(rows["before"].mean()), float(rows["advice"].mean())
    best, who = ("before", "the participants alone") if alone >= advice else ("advice", "the chatbot's advice")
    said = f"{with_model(model)}, accuracy with the chatbot was {{}} above that of the better of both alone ({who})"
    further = {"accuracy_alone": alone, "accuracy_advice": advice, "accuracy": float(rows["after"].mean())}
    return mean_estimate(
        f"chatbench.complementary.{slug(model)}", model, {"model": model}, said, rows["after"] - rows[best],
        rows["worker_id"], rows["question_id"], counts="answers", unit=POINTS, scale=(-1, 1), further=further,
    )  # fmt: skip


@analysis
def transitions(answers: pd.DataFrame) -> Iterator[Finding]:
    """The shares of wrong answers corrected and of correct answers lost, overall and by model. ChatBench, ACL 2025."""
    kinds, key = answers["answer_type"], ["worker_id", "question_id", "model"]
    before, after = (answers.loc[kinds == kind, [*key, "acc"]] for kind in (USER_ALONE, WITH_AI))
    both = before.merge(after, on=key, suffixes=("_before", "_after"))
    models = {ALL: both} | {str(model): rows for model, rows in both.groupby("model", sort=True)}
    shares = []
    for kind, (start, end, label, words) in TRANSITIONS.items():
        for model, rows in models.items():
            of = rows[rows["acc_before"] == start]
            if not of.empty:
                name, groups = f"chatbench.transition.{kind}.{slug(model)}", {"kind": kind, "model": model}
                said = f"{with_model(model)}, of the answers that participants {words} with the chatbot"
                figure = (name, f"{model}: {label}", groups, said, of["acc_after"] == end)
                shares.append(share_estimate(*figure, of["worker_id"], of["question_id"], counts="answers"))
    yield finding("chatbench.transition", shares, note=ANSWER_FIRST, columns=("kind",))

"""Reliance on the chatbot in answer-first: own answer, the chatbot's (advice), and the answer with it.

The advice is what the annotator `answer` found in the conversation; conversations in which the chatbot gave no option
are left out. The measures, each a share of answers:

- relative AI reliance and relative self-reliance: Schemmer, Kuehl, Benz, Bartos, Satzger: Appropriate Reliance on AI
  Advice (IUI 2023), section 4; both together are appropriate reliance
- over-reliance: the final answer is the advice though that is wrong (Buçinca, Malaya, Gajos: To Trust or to Think,
  CSCW 2021); under-reliance: the final answer is not the advice though that is right
- agreement and switch fraction: Yin, Wortman Vaughan, Wallach: Understanding the Effect of Accuracy on Trust in Machine
  Learning Models (CHI 2019)
- complementary performance: accuracy with the chatbot against the better of people and chatbot alone (Bansal et al.:
  Does the Whole Exceed its Parts?, CHI 2021)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from app.analysis.base import Tables
from app.analysis.chatbench.accuracy import ALL
from app.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI
from app.analysis.chatbench.preregistered_filter import ASSIGNMENT, counted_of
from app.analysis.estimates import POINTS, SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, mean_of, number_of, share_of

TALKS, QUESTIONS = "conversations", "questions"
KEY = ("worker_id", *ASSIGNMENT, "question_id")
"""What an answer and its conversation have in common."""
CHOSEN = "selected_answer"
TALK_COLUMNS = (*KEY, "answer_letter")
QUESTION_COLUMNS = ("question_id", "answer")
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
"""By name: the label, and the text of the sentence."""
CODE = (
    'reliance(counted(frame(database, study, "user_answers", origin), '
    'frame(database, study, "user_answers_filtered", origin)), '
    'frame(database, study, "conversations", origin), frame(database, study, "questions", origin))'
)
METHOD = (
    "Answer-first only: a participant's own answer, the option that the chatbot gave in the conversation (annotator "
    "`answer`), and the answer with it. Relative AI reliance and relative self-reliance follow Schemmer et al. (2023), "
    "over-reliance Buçinca et al. (2021), agreement and switch fraction Yin et al. (2019). 95 % intervals are "
    "Wilson's for the effective number of independent answers by the two-way cluster jackknife (participants and "
    "questions)."
)
BETTER = (
    "Accuracy with the chatbot minus that of the better of both alone (the participants, or the chatbot's advice), on "
    "the same answers (Bansal et al. 2021). 95 % intervals are mean ± t standard errors by the two-way cluster "
    "jackknife (participants and questions); which of both is better is taken as known."
)
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


def reliance(answers: pd.DataFrame, talks: pd.DataFrame, questions: pd.DataFrame) -> tuple[Finding, ...]:
    """The measures of the module's docstring, over all models and by model; empty without advice.

    The arguments are those of `advised`. Names: `chatbench.reliance.<measure>.<model>` (shares from 0 to 1) and
    `chatbench.complementary.<model>` (a difference of shares).
    """
    rows = advised(answers, talks, questions)
    if rows.empty:
        return ()
    models = {ALL: rows} | {str(model): some for model, some in rows.groupby("model", sort=True)}
    shares = tuple(found for measure in MEASURES for found in _shares(measure, models))
    better = tuple(_better(model, some) for model, some in models.items())
    return (
        Finding(
            "chatbench.reliance", "Reliance on the chatbot's advice", "answers", SHARE, (0, 1), shares, METHOD, CODE,
            note=NOTE, columns=("model",),
        ),
        Finding(
            "chatbench.complementary", "People with the chatbot against the better of both alone", "answers", POINTS,
            (-1, 1), better, BETTER, CODE, reference=0.0, note=NOTE,
        ),
    )  # fmt: skip


def reliance_of(tables: Tables) -> tuple[Finding, ...]:
    return reliance(counted_of(tables), tables[TALKS], tables[QUESTIONS])


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
        if values.empty:
            continue
        of = rows.loc[values.index]
        people, questions = codes(of["worker_id"]), codes(of["question_id"])
        found = share_of(values.to_numpy(), people, questions)
        name = f"chatbench.reliance.{measure}.{slug(model)}"
        groups = {"measure": label, "model": model}
        group = EstimateGroup(name, f"{model}: {label}", len(of), number_of(people), groups)
        yield estimate(group, found, f"{_where(model)}, {words}", SHARE, "answers")


def _better(model: str, rows: pd.DataFrame) -> Estimate:
    alone, advice = rows["before"].mean(), rows["advice"].mean()
    best = "before" if alone >= advice else "advice"
    people = codes(rows["worker_id"])
    values = (rows["after"] - rows[best]).to_numpy(dtype="float64")
    found = mean_of(values, people, codes(rows["question_id"]), scale=(-1, 1))
    group = EstimateGroup(
        f"chatbench.complementary.{slug(model)}", model, len(rows), number_of(people), {"model": model}
    )
    who = "the participants alone" if best == "before" else "the chatbot's advice"
    said = f"{_where(model)}, accuracy with the chatbot was {{}} above that of the better of both alone ({who})"
    further = {
        "accuracy_alone": float(alone),
        "accuracy_advice": float(advice),
        "accuracy": float(rows["after"].mean()),
    }
    return estimate(group, found, said, POINTS, "answers", further=further)


def _where(model: str) -> str:
    return "Over all models" if model == ALL else f"With {model}"

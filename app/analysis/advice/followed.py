"""Reliance on fixed recommendations, and people with them against the better of both alone.

The measures are those of app/analysis/chatbench/reliance.py, with its sources, for a recommendation in place of the
option that a chatbot gave.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.advice.judgements import judgements, pairs
from app.analysis.chatbench.reliance import MEASURES, hits
from app.analysis.estimates import POINTS, SHARE, Estimate, EstimateGroup, Finding, estimate
from app.analysis.intervals import codes, mean_of, number_of, share_of

METHOD = (
    "A participant's own answer, the recommendation, and the answer with it. Relative AI reliance and relative "
    "self-reliance follow Schemmer et al. (2023), over-reliance Buçinca et al. (2021), agreement and switch fraction "
    "Yin et al. (2019). A number follows a recommendation if it equals it. 95 % intervals are Wilson's for the "
    "effective number of independent answers by the two-way cluster jackknife (participants and questions)."
)
BETTER = (
    "Accuracy with the recommendation minus that of the better of both alone (participants, or recommendations), on "
    "the same answers (Bansal et al. 2021). The 95 % interval is mean ± t standard errors by the two-way cluster "
    "jackknife (participants and questions); which of both is better is taken as known."
)
CODE = "advice_reliance(load(study, origin, database=database).answers)"


def advised_answers(answers: pd.DataFrame) -> pd.DataFrame:
    """A row for each answer beside a recommendation whose problem was answered alone before and has a right answer:
    `before`, `advice`, `after` (right or not, 0 or 1), `agreed`, `followed`, `participant`, `problem`."""
    rows = pairs(judgements(answers))
    rows = rows.dropna(subset=["correct_alone", "correct_ai", "advice_ai", "advice_correct_ai"])
    return pd.DataFrame(
        {
            "participant": rows["participant"],
            "problem": rows["problem"],
            "before": rows["correct_alone"],
            "advice": rows["advice_correct_ai"],
            "after": rows["correct_ai"],
            "agreed": _is_advice(rows, "alone"),
            "followed": _is_advice(rows, "ai").astype("float64"),
        }
    )


def _is_advice(rows: pd.DataFrame, which: str) -> pd.Series[bool]:
    """Whether an answer is the recommendation: the same option, or a number that equals it, as 25 equals 25.0."""
    number = rows[f"number_{which}"]
    equal = number == pd.to_numeric(rows["advice_ai"], errors="coerce")
    return equal.where(number.notna(), rows[f"value_{which}"] == rows["advice_ai"])


def advice_reliance(answers: pd.DataFrame) -> tuple[Finding, ...]:
    """Reliance on recommendations; empty without any.

    Names: `advice.reliance.<measure>` (shares from 0 to 1; the measures are those of `chatbench.reliance`) and
    `advice.complementary.all` (a difference of shares).
    """
    rows = advised_answers(answers)
    if rows.empty:
        return ()
    return (
        Finding(
            "advice.reliance", "Reliance on recommendations", "answers", SHARE, (0, 1), tuple(_shares(rows)), METHOD,
            CODE,
        ),
        Finding(
            "advice.complementary", "People with recommendations against the better of both alone", "answers", POINTS,
            (-1, 1), (_better(rows),), BETTER, CODE, reference=0.0,
        ),
    )  # fmt: skip


def _shares(rows: pd.DataFrame) -> Iterator[Estimate]:
    for measure, (label, words) in MEASURES.items():
        values = hits(rows, measure)
        if values.empty:
            continue
        of = rows.loc[values.index]
        people = codes(of["participant"])
        group = EstimateGroup(f"advice.reliance.{measure}", label, len(of), number_of(people), {"measure": label})
        found = share_of(values.to_numpy(), people, codes(of["problem"]))
        yield estimate(group, found, words[:1].upper() + words[1:], SHARE, "answers")


def _better(rows: pd.DataFrame) -> Estimate:
    alone, advice = float(rows["before"].mean()), float(rows["advice"].mean())
    best, who = ("before", "the participants alone") if alone >= advice else ("advice", "the recommendations")
    people = codes(rows["participant"])
    values = (rows["after"] - rows[best]).to_numpy(dtype="float64")
    found = mean_of(values, people, codes(rows["problem"]), (-1, 1))
    group = EstimateGroup("advice.complementary.all", "all", len(rows), number_of(people), {"group": "all"})
    said = f"Accuracy with the recommendation was {{}} above that of the better of both alone ({who})"
    further = {"accuracy_alone": alone, "accuracy_advice": advice, "accuracy": float(rows["after"].mean())}
    return estimate(group, found, said, POINTS, "answers", further=further)

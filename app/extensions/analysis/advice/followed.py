"""How people follow fixed recommendations: reliance, people with them against the better of both alone, and the weight
of advice.

The measures of reliance are those of chatbench/reliance.py, with its sources, for a recommendation in place of the
option that a chatbot gave. The weight of advice is how far numeric answers move from the participant's own
towards the recommendation:

    WOA = (final - initial) / (advice - initial)

Harvey and Fischer: Taking Advice (Organizational Behavior and Human Decision Processes 70, 1997), and Yaniv: Receiving
Other People's Advice (the same, 93, 2004). 0 keeps the own answer, 1 adopts the advice. It is undefined where the own
answer is the advice. Answers that move away from the advice or beyond it are below 0 or above 1; the mean is of weights
cut at 0 and 1, and that of the uncut ones is in `further`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.extensions.analysis.advice.judgements import judgements, pairs
from app.extensions.analysis.base import analysis
from app.extensions.analysis.chatbench.reliance import MEASURES, hits
from app.extensions.analysis.estimates import (
    NUMBER,
    POINTS,
    Estimate,
    Finding,
    mean_estimate,
    share_estimate,
    share_finding,
)
from app.extensions.analysis.intervals import Values

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
WEIGHT = (
    "Weight of advice is (final - initial) / (advice - initial) (Harvey and Fischer 1997; Yaniv 2004), cut at 0 and 1, "
    "without answers whose initial answer is the advice. The 95 % interval is mean ± t standard errors by the two-way "
    "cluster jackknife (participants and questions)."
)


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


@analysis
def advice_reliance(answers: pd.DataFrame) -> Iterator[Finding]:
    """Reliance on recommendations; the measures are those of `chatbench.reliance`."""
    rows = advised_answers(answers)
    if rows.empty:
        return
    yield share_finding("advice.reliance", "Reliance on recommendations", "answers", _shares(rows), METHOD)
    alone, advice = float(rows["before"].mean()), float(rows["advice"].mean())
    best, who = ("before", "the participants alone") if alone >= advice else ("advice", "the recommendations")
    said = f"Accuracy with the recommendation was {{}} above that of the better of both alone ({who})"
    further = {"accuracy_alone": alone, "accuracy_advice": advice, "accuracy": float(rows["after"].mean())}
    better = mean_estimate(
        "advice.complementary.all", "all", {"group": "all"}, said, rows["after"] - rows[best], rows["participant"],
        rows["problem"], counts="answers", unit=POINTS, scale=(-1, 1), further=further,
    )  # fmt: skip
    yield Finding(
        "advice.complementary", "People with recommendations against the better of both alone", "answers", POINTS,
        (-1, 1), (better,), BETTER, reference=0.0,
    )  # fmt: skip


def _shares(rows: pd.DataFrame) -> Iterator[Estimate]:
    for measure, (label, words) in MEASURES.items():
        values = hits(rows, measure)
        if not values.empty:
            of, said = rows.loc[values.index], words[:1].upper() + words[1:]
            known = (f"advice.reliance.{measure}", label, {"measure": label}, said, values)
            yield share_estimate(*known, of["participant"], of["problem"], counts="answers")


def weights(initial: Values, advice: Values, final: Values) -> Values:
    """The weight of advice of each answer, uncut; NaN where it is undefined."""
    apart = advice - initial
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (final - initial) / apart
    return np.where(apart == 0, np.nan, found)


@analysis
def weight_of_advice(answers: pd.DataFrame) -> Iterator[Finding]:
    """The mean weight of numeric advice, from 0 to 1.

    `further` has `uncut`, the mean of the uncut weights, `kept` and `adopted`, the shares of weights that are exactly 0
    and 1, `outside`, the share that is cut, and `undefined`, the number of answers without a weight.
    """
    rows = pairs(judgements(answers))
    advice = pd.to_numeric(rows["advice_ai"], errors="coerce")
    rows = rows.assign(advice=advice.astype("float64")).dropna(subset=["number_alone", "number_ai", "advice"])
    given = (rows[name].to_numpy(dtype="float64") for name in ("number_alone", "advice", "number_ai"))
    every = weights(*given)
    known = ~np.isnan(every)
    if not known.any():
        return
    uncut, of = every[known], rows[known]
    cut = np.clip(uncut, 0, 1)
    further = {
        "uncut": float(uncut.mean()),
        "kept": float((uncut == 0).mean()),
        "adopted": float((uncut == 1).mean()),
        "outside": float((uncut != cut).mean()),
        "undefined": float((~known).sum()),
    }
    found = mean_estimate(
        "advice.weight.all", "all", {"group": "all"}, "The mean weight of advice was {}", cut, of["participant"],
        of["problem"], counts="answers", scale=(0, 1), further=further,
    )  # fmt: skip
    equal = int(further["undefined"])
    note = f"Answers that were the advice before it was shown have no weight: {equal:,}." if equal else ""
    yield Finding("advice.weight", "Weight of advice", "answers", NUMBER, (0, 1), (found,), WEIGHT, note=note)

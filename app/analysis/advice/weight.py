"""Weight of advice: how far numeric answers move from the participant's own towards the recommendation.

    WOA = (final - initial) / (advice - initial)

Harvey and Fischer: Taking Advice (Organizational Behavior and Human Decision Processes 70, 1997), and Yaniv: Receiving
Other People's Advice (the same, 93, 2004). 0 keeps the own answer, 1 adopts the advice. It is undefined where the own
answer is the advice. Answers that move away from the advice or beyond it are below 0 or above 1; the mean is of weights
cut at 0 and 1, and that of the uncut ones is in `further`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from app.analysis.advice.judgements import judgements, pairs
from app.analysis.estimates import NUMBER, EstimateGroup, Finding, estimate
from app.analysis.intervals import Codes, Values, codes, mean_of, number_of

METHOD = (
    "Weight of advice is (final - initial) / (advice - initial) (Harvey and Fischer 1997; Yaniv 2004), cut at 0 and 1, "
    "without answers whose initial answer is the advice. The 95 % interval is mean ± t standard errors by the two-way "
    "cluster jackknife (participants and questions)."
)
CODE = "weight_of_advice(load(study, origin, database=database).answers)"


def weights(initial: Values, advice: Values, final: Values) -> Values:
    """The weight of advice of each answer, uncut; NaN where it is undefined."""
    apart = advice - initial
    with np.errstate(divide="ignore", invalid="ignore"):
        found = (final - initial) / apart
    return np.where(apart == 0, np.nan, found)


def weight_of_advice(answers: pd.DataFrame) -> tuple[Finding, ...]:
    """The mean weight of numeric advice; empty without any.

    Name: `advice.weight.all`, from 0 to 1. `further` has `uncut`, the mean of the uncut weights, `kept` and `adopted`,
    the shares of weights that are exactly 0 and 1, `outside`, the share that is cut, and `undefined`, the number of
    answers without a weight.
    """
    rows = pairs(judgements(answers))
    advice = pd.to_numeric(rows["advice_ai"], errors="coerce")
    rows = rows.assign(advice=advice.astype("float64")).dropna(subset=["number_alone", "number_ai", "advice"])
    given = (rows[name].to_numpy(dtype="float64") for name in ("number_alone", "advice", "number_ai"))
    uncut = weights(*given)
    known = ~np.isnan(uncut)
    if not known.any():
        return ()
    people, problems = _clusters(rows[known])
    cut = np.clip(uncut[known], 0, 1)
    group = EstimateGroup("advice.weight.all", "all", int(known.sum()), number_of(people), {"group": "all"})
    further = {
        "uncut": float(uncut[known].mean()),
        "kept": float((uncut[known] == 0).mean()),
        "adopted": float((uncut[known] == 1).mean()),
        "outside": float((uncut[known] != cut).mean()),
        "undefined": float((~known).sum()),
    }
    said = "The mean weight of advice was {}"
    found = estimate(group, mean_of(cut, people, problems, (0, 1)), said, NUMBER, "answers", further=further)
    equal = int(further["undefined"])
    note = f"Answers that were the advice before it was shown have no weight: {equal:,}." if equal else ""
    return (Finding("advice.weight", "Weight of advice", "answers", NUMBER, (0, 1), (found,), METHOD, CODE, note=note),)


def _clusters(rows: pd.DataFrame) -> tuple[Codes, Codes]:
    return codes(rows["participant"]), codes(rows["problem"])

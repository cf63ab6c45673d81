"""Advice and confidence, in any study of its own: the answers alone and with a recommendation or a conversation.

Judgements are read from the tidy table `answers`: the answers to problems in the steps `answer` and `chat`, without
attention checks. The measures of reliance are those of chatbench/reliance.py, for a recommendation in place of the
option that a chatbot gave. The weight of advice, (final - initial) / (advice - initial), is undefined where the own
answer is the advice.

For confidences p and right answers y (0 or 1): the Brier score is the mean of (p - y)^2, overconfidence mean p - mean
y, and the expected calibration error the mean over answers of |mean p - mean y| of their bin, with BINS bins of equal
width, closed on the right. The sources are in figures.json.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, call, table
from app.extensions.analysis.chatbench.reliance import MEASURES, hits
from app.extensions.analysis.data_frames import ALONE, WITH_AI
from app.extensions.analysis.estimates import (
    NUMBER,
    POINTS,
    Estimate,
    Finding,
    Scatter,
    ScatterPoint,
    estimate,
    finding,
    mean_estimate,
    share_estimate,
    slug,
)
from app.extensions.analysis.intervals import Codes, Values, codes, draws, middle, number_of
from experiments.study.fields import ANSWER
from experiments.study.problem_answer import ANSWER_CONFIDENCE
from experiments.views.bonus import ATTENTION

# What the answers to a problem in one turn of a loop have in common.
KEY = ("participant", "session", "position", "problem")
COLUMNS = (
    *KEY, "step", "dataset", "status", "seq", "question", "value", "number", "correct", "advice", "advice_correct",
)  # fmt: skip


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
    """A row for each problem that was answered both ways: KEY's columns, the others ending in `_alone` and `_ai`."""
    alone, helped = (rows[rows["kind"] == kind].drop(columns="kind") for kind in (ALONE, WITH_AI))
    return alone.merge(helped, on=[*KEY], suffixes=("_alone", "_ai"))


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
    """True for answers that are the recommendation: the same option, or a number that equals it, as 25 equals 25.0."""
    number = rows[f"number_{which}"]
    equal = number == pd.to_numeric(rows["advice_ai"], errors="coerce")
    return equal.where(number.notna(), rows[f"value_{which}"] == rows["advice_ai"])


@analysis
def advice_reliance(answers: pd.DataFrame) -> Iterator[Finding]:
    rows = advised_answers(answers)
    if rows.empty:
        return
    yield finding("advice.reliance", _shares(rows))
    alone, advice = float(rows["before"].mean()), float(rows["advice"].mean())
    best, who = ("before", "the participants alone") if alone >= advice else ("advice", "the recommendations")
    said = f"Accuracy with the recommendation was {{}} above that of the better of both alone ({who})"
    further = {"accuracy_alone": alone, "accuracy_advice": advice, "accuracy": float(rows["after"].mean())}
    better = mean_estimate(
        "advice.complementary.all", "all", {"group": "all"}, said, rows["after"] - rows[best], rows["participant"],
        rows["problem"], counts="answers", unit=POINTS, scale=(-1, 1), further=further,
    )  # fmt: skip
    yield finding("advice.complementary", [better])


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
    yield finding("advice.weight", [found], note=note)


BINS = 10
KINDS: Mapping[str, str] = {ALONE: "Alone", WITH_AI: "With the AI"}


def bins_of(confidence: Values) -> Codes:
    """The bin of each confidence, from 0; bins are closed on the right, and the first holds 0 as well."""
    points = np.rint(np.asarray(confidence) * 100).astype(np.int64)
    return np.maximum(0, -(-points * BINS // 100) - 1)


def calibration_error(confidence: Values, right: Values, weight: Values | None = None) -> float:
    """The expected calibration error, from 0 to 1."""
    each = np.ones(right.size) if weight is None else weight
    apart = np.bincount(bins_of(confidence), each * (confidence - right))
    return float(np.abs(apart).sum() / each.sum())


@analysis
def calibration(answers: pd.DataFrame) -> Iterator[Finding]:
    rows = judgements(answers).dropna(subset=["confidence", "correct"])
    parts = {kind: some for kind in KINDS if len(some := rows[rows["kind"] == kind])}
    if not parts:
        return
    apart = {kind: (_apart(some, ""), some) for kind, some in parts.items()}
    scores = {kind: (values**2, some) for kind, (values, some) in apart.items()}
    if len(both := pairs(rows)):
        alone, helped = _apart(both, "_alone"), _apart(both, "_ai")
        scores["change"], apart["change"] = (helped**2 - alone**2, both), (helped - alone, both)
    yield finding("advice.brier", (_mean("brier", kind, *one) for kind, one in scores.items()))
    yield finding("advice.overconfidence", (_mean("overconfidence", kind, *one) for kind, one in apart.items()))
    drawn = (_drawn(kind, some) for kind, some in parts.items())
    curve = tuple(point for kind, some in parts.items() for point in _curve(kind, some))
    scatter = Scatter("Confidence", "Share of right answers", (0, 1), curve)
    yield finding("advice.calibration", drawn, columns=("kind",), scatter=scatter)


def _apart(rows: pd.DataFrame, end: str) -> Values:
    return (rows[f"confidence{end}"] - rows[f"correct{end}"]).to_numpy(dtype="float64")


def _mean(measure: str, kind: str, values: Values, rows: pd.DataFrame) -> Estimate:
    brier, change = measure == "brier", kind == "change"
    label = "change with the AI" if change else kind
    what = "the Brier score" if brier else "confidence minus accuracy"
    said = f"With the AI, {what} changed by {{}}" if change else f"{KINDS[kind]}, {what} was {{}}"
    return mean_estimate(
        f"advice.{measure}.{slug(kind)}", label, {"kind": label}, said, values, rows["participant"], rows["problem"],
        counts="answers", unit=NUMBER if brier else POINTS, scale=(0 if brier and not change else -1, 1),
    )  # fmt: skip


def _drawn(kind: str, rows: pd.DataFrame) -> Estimate:
    confidence, right = (rows[name].to_numpy(dtype="float64") for name in ("confidence", "correct"))
    people = codes(rows["participant"])
    count = number_of(people)
    label = "expected calibration error"
    drawn = np.array([calibration_error(confidence, right, times[people].astype("float64")) for times in draws(count)])
    found = middle(calibration_error(confidence, right), drawn, count)
    known = (f"advice.calibration.error.{slug(kind)}", f"{kind}: {label}", {"measure": label, "kind": kind})
    size, said = (len(rows), count), f"{KINDS[kind]}, the {label} of confidence was {{}}"
    return estimate(*known, size, found, said, NUMBER, "answers")


def _curve(kind: str, rows: pd.DataFrame) -> Iterator[ScatterPoint]:
    """A point for each bin with answers: mean confidence and the share of right answers."""
    placed = rows.assign(bin=bins_of(rows["confidence"].to_numpy(dtype="float64")))
    for number, some in placed.groupby("bin", sort=True):
        low, high = (100 * (int(str(number)) + end) // BINS for end in (0, 1))
        means = float(some["confidence"].mean()), float(some["correct"].mean())
        yield ScatterPoint(*means, len(some), f"{kind}, confidence {low} to {high}", panel=kind)


# The name by which steps request the tidy table of answers, which is no released one.
TABLE = "answers"
_ANSWERS = table(TABLE, COLUMNS, "load(study, origin, database=database).answers")
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(advice_reliance, _ANSWERS)),
    AnalysisStep(call(weight_of_advice, _ANSWERS)),
    AnalysisStep(call(calibration, _ANSWERS)),
)

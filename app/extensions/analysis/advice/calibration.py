"""Calibration of confidence in points: a confidence of 70 says that the answer is right with probability 0.7.

For confidences p and right answers y (0 or 1), n answers:

- Brier score: mean of (p - y)^2. Brier: Verification of Forecasts Expressed in Terms of Probability (Monthly Weather
  Review 78, 1950), in its usual form for two outcomes
- its partition: Brier = reliability - resolution + uncertainty, over the groups k of answers with the same confidence:
  reliability is the mean of (p_k - y_k)^2, resolution that of (y_k - mean y)^2, uncertainty mean y * (1 - mean y).
  Murphy: A New Vector Partition of the Probability Score (Journal of Applied Meteorology 12, 1973)
- expected calibration error: the mean over answers of |mean p - mean y| of their bin, with BINS bins of equal width,
  closed on the right. Guo, Pleiss, Sun, Weinberger: On Calibration of Modern Neural Networks (ICML 2017), section 2
- overconfidence: mean p - mean y. Lichtenstein and Fischhoff: Do Those Who Know More Also Know More about How Much They
  Know? (Organizational Behavior and Human Performance 20, 1977)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from app.extensions.analysis.advice.judgements import ALONE, WITH_AI, judgements, pairs
from app.extensions.analysis.base import analysis
from app.extensions.analysis.estimates import (
    NUMBER,
    POINTS,
    Estimate,
    Finding,
    Scatter,
    ScatterPoint,
    estimate,
    mean_estimate,
    slug,
)
from app.extensions.analysis.intervals import DRAWN, Codes, Values, codes, draws, middle, number_of

BINS = 10
KINDS: Mapping[str, str] = {ALONE: "Alone", WITH_AI: "With the AI"}
"""The words for each kind of answer, at the beginning of a sentence."""
JACKKNIFE = "95 % intervals are mean ± t standard errors by the two-way cluster jackknife (participants and questions)."
SCORE = (
    "The Brier score is the mean of (confidence - right)^2, with confidence from 0 to 1: 0 is perfect, and 0.25 is "
    f"that of a confidence of 50 throughout (Brier 1950). {JACKKNIFE} The change is of problems answered both ways."
)
OVER = f"Overconfidence is mean confidence minus accuracy (Lichtenstein and Fischhoff 1977). {JACKKNIFE}"
PARTITION = (
    "Reliability, resolution and uncertainty are Murphy's (1973): Brier score = reliability - resolution + "
    "uncertainty, over answers with the same confidence; with few answers for each confidence, reliability and "
    f"resolution are too large. The calibration error is that of Guo et al. (2017) with {BINS} bins of equal width. "
    f"95 % intervals: {DRAWN}."
)


@dataclass(frozen=True, slots=True)
class BrierPartition:
    """Murphy's partition: the Brier score is `reliability - resolution + uncertainty`."""

    reliability: float
    resolution: float
    uncertainty: float


def partition(confidence: Values, right: Values, weight: Values | None = None) -> BrierPartition:
    """Murphy's partition over answers with the same confidence; `weight` is how often each answer counts."""
    each = np.ones(right.size) if weight is None else weight
    _, group = np.unique(confidence, return_inverse=True)
    size = np.bincount(group, each)
    used = size > 0
    stated, came = (np.bincount(group, each * one)[used] / size[used] for one in (confidence, right))
    total, mean = size.sum(), float(np.average(right, weights=each))
    reliability, resolution = (float(size[used] @ part / total) for part in ((stated - came) ** 2, (came - mean) ** 2))
    return BrierPartition(reliability, resolution, mean * (1 - mean))


def bins_of(confidence: Values) -> Codes:
    """The bin of each confidence, from 0; bins are closed on the right, and the first holds 0 as well."""
    points = np.rint(np.asarray(confidence) * 100).astype(np.int64)
    return np.maximum(0, -(-points * BINS // 100) - 1)


def calibration_error(confidence: Values, right: Values, weight: Values | None = None) -> float:
    """The expected calibration error, from 0 to 1."""
    each = np.ones(right.size) if weight is None else weight
    apart = np.bincount(bins_of(confidence), each * (confidence - right))
    return float(np.abs(apart).sum() / each.sum())


_DRAWN: Mapping[str, tuple[str, Callable[[Values, Values, Values | None], float]]] = {
    "error": ("expected calibration error", calibration_error),
    "reliability": ("reliability", lambda p, y, w: partition(p, y, w).reliability),
    "resolution": ("resolution", lambda p, y, w: partition(p, y, w).resolution),
    "uncertainty": ("uncertainty", lambda p, y, w: partition(p, y, w).uncertainty),
}
"""By name: the label, and the function of confidences, right answers and weights."""


@analysis
def calibration(answers: pd.DataFrame) -> Iterator[Finding]:
    """How well confidence in points fits the answers, alone and with the AI; `change` is with the AI minus alone."""
    rows = judgements(answers).dropna(subset=["confidence", "correct"])
    parts = {kind: some for kind in KINDS if len(some := rows[rows["kind"] == kind])}
    if not parts:
        return
    apart = {kind: (_apart(some, ""), some) for kind, some in parts.items()}
    scores = {kind: (values**2, some) for kind, (values, some) in apart.items()}
    if len(both := pairs(rows)):
        alone, helped = _apart(both, "_alone"), _apart(both, "_ai")
        scores["change"], apart["change"] = (helped**2 - alone**2, both), (helped - alone, both)
    yield Finding(
        "advice.brier", "Brier score of confidence", "answers", NUMBER, (-1, 1),
        tuple(_mean("brier", kind, *one) for kind, one in scores.items()), SCORE,
    )  # fmt: skip
    yield Finding(
        "advice.overconfidence", "Overconfidence", "answers", POINTS, (-1, 1),
        tuple(_mean("overconfidence", kind, *one) for kind, one in apart.items()), OVER, reference=0.0,
    )  # fmt: skip
    drawn = tuple(found for kind, some in parts.items() for found in _drawn(kind, some))
    curve = tuple(point for kind, some in parts.items() for point in _curve(kind, some))
    yield Finding(
        "advice.calibration", "Calibration of confidence", "answers", NUMBER, (0, 1), drawn, PARTITION,
        columns=("kind",), scatter=Scatter("Confidence", "Share of right answers", (0, 1), curve),
    )  # fmt: skip


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


def _drawn(kind: str, rows: pd.DataFrame) -> Iterator[Estimate]:
    confidence, right = (rows[name].to_numpy(dtype="float64") for name in ("confidence", "correct"))
    people = codes(rows["participant"])
    count = number_of(people)
    samples = [times[people].astype("float64") for times in draws(count)]
    for measure, (label, of) in _DRAWN.items():
        drawn = np.array([of(confidence, right, some) for some in samples])
        found = middle(of(confidence, right, None), drawn, count)
        name = f"advice.calibration.{measure}.{slug(kind)}"
        known = (name, f"{kind}: {label}", {"measure": label, "kind": kind}, (len(rows), count), found)
        yield estimate(*known, f"{KINDS[kind]}, the {label} of confidence was {{}}", NUMBER, "answers")


def _curve(kind: str, rows: pd.DataFrame) -> Iterator[ScatterPoint]:
    """A point for each bin with answers: mean confidence and the share of right answers."""
    placed = rows.assign(bin=bins_of(rows["confidence"].to_numpy(dtype="float64")))
    for number, some in placed.groupby("bin", sort=True):
        low, high = (100 * (int(str(number)) + end) // BINS for end in (0, 1))
        means = float(some["confidence"].mean()), float(some["correct"].mean())
        yield ScatterPoint(*means, len(some), f"{kind}, confidence {low} to {high}", panel=kind)

"""Correlations of two ratings: Pearson's, and Spearman's, which is Pearson's correlation of the ranks.

    r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 * sum (y - mean y)^2);  equal values share a rank

The interval is found on Fisher's scale, z = artanh r, by leaving out one participant at a time, as replies share
participants. Ratings have few values, so pairs are counted in tables, one for each participant.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, tanh

import numpy as np
import pandas as pd

from app.analysis.bootstrap import left_out
from app.analysis.estimates import NUMBER, Estimate, Finding, estimate
from app.analysis.intervals import Codes, Interval, Values, codes, number_of
from app.analysis.mathconverse.ratings import COLUMNS, TABLE, grouped, mathematical, turns

CORRELATED = (*COLUMNS, "solo_solve")
METHOD = (
    "{}, over rated replies. The 95 % interval is that of Fisher's z = artanh r, z ± t standard errors by leaving out "
    "one participant at a time (cluster jackknife), because replies share participants; t has one degree of freedom "
    "less than there are participants."
)
KINDS = {
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation (Pearson's of the ranks; equal ratings share a rank)",
}
WITHOUT = "Without 0: without replies of correctness 0, which contain no mathematics."


def correlation(x: Values, y: Values, people: Codes, *, ranked: bool = False) -> Interval:
    """Pearson's correlation, or Spearman's if `ranked`, with an interval by participants; NaN where one is constant.

    r = sum (x - mean x)(y - mean y)/sqrt(sum (x - mean x)^2 * sum (y - mean y)^2), no unit; the interval by Fisher's
    z = artanh r, leaving out a participant at a time (cluster jackknife; MacKinnon, Nielsen and Webb 2023).
    """
    xs, at_x = np.unique(x, return_inverse=True)
    ys, at_y = np.unique(y, return_inverse=True)
    shape = (number_of(people), xs.size, ys.size)
    each = np.zeros(shape)
    np.add.at(each, (people, at_x, at_y), 1)
    whole = each.sum(axis=0, keepdims=True)
    value, *without = _correlations(np.concatenate([whole, whole - each]), xs, ys, ranked).tolist()
    with np.errstate(divide="ignore"):
        found = left_out(float(np.arctanh(value)), np.arctanh(np.asarray(without)))
    if found.low is None or found.high is None:
        return Interval(value, why=found.why)
    return Interval(value, tanh(found.low), tanh(found.high))


def rating_correlations(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Correlations of helpfulness and correctness, and of each with the confidence to solve the problem alone.

    Names: `mathconverse.pearson.helpfulness_correctness`, `mathconverse.pearson.helpfulness_correctness_without_0`,
    `mathconverse.pearson.confidence_helpfulness`, `mathconverse.pearson.confidence_correctness`; so for `spearman`.
    """
    rated_turns = turns(interactions, ("solo_solve",))
    rated_turns["confidence"] = pd.to_numeric(rated_turns["solo_solve"], errors="coerce").astype("float64")
    code = f'rating_correlations(frame(database, study, "{TABLE}", origin))'
    found = (
        Finding(
            f"mathconverse.{kind}", f"{words.split(' (')[0]} of ratings", "ratings", NUMBER, (-1, 1),
            tuple(_estimates(rated_turns, kind)), METHOD.format(words), code, reference=0.0, note=WITHOUT,
        )
        for kind, words in KINDS.items()
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _estimates(rated_turns: pd.DataFrame, kind: str) -> Iterator[Estimate]:
    pairs = (
        ("helpfulness", "correctness", "", rated_turns),
        ("helpfulness", "correctness", "_without_0", mathematical(rated_turns)),
        ("confidence", "helpfulness", "", rated_turns),
        ("confidence", "correctness", "", rated_turns),
    )
    for x, y, end, some in pairs:
        rows = some[some[x].notna() & some[y].notna()]
        if len(rows) < 2:
            continue
        found = correlation(rows[x].to_numpy(), rows[y].to_numpy(), codes(rows["uid"]), ranked=kind == "spearman")
        if not isnan(found.value):
            but = ", without 0" if end else ""
            groups = {"x": x, "y": y} | ({"replies": "without correctness 0"} if end else {})
            group = grouped(f"mathconverse.{kind}.{x}_{y}{end}", f"{x} and {y}{but}", rows, groups)
            where = " for replies that contain mathematics" if end else ""
            said = f"{kind.capitalize()}'s correlation of {x} and {y} was {{}}{where}"
            yield estimate(group, found, said, NUMBER, "ratings")


def _correlations(tables: Values, xs: Values, ys: Values, ranked: bool) -> Values:
    """The correlation of each of several tables of pairs; NaN where one side does not vary."""
    a, b = tables.sum(axis=2), tables.sum(axis=1)
    n = a.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = (_ranks(a), _ranks(b)) if ranked else (xs[None], ys[None])
        x, y = x - (a * x).sum(axis=1, keepdims=True) / n, y - (b * y).sum(axis=1, keepdims=True) / n
        together = np.einsum("gij,gi,gj->g", tables, np.broadcast_to(x, a.shape), np.broadcast_to(y, b.shape))
        spread = (a * x * x).sum(axis=1) * (b * y * y).sum(axis=1)
        return np.where(spread > 1e-12, np.clip(together / np.sqrt(spread), -1, 1), np.nan)


def _ranks(counts: Values) -> Values:
    """The mean rank of each value, but for a constant, from how often each occurs."""
    return np.asarray(counts.cumsum(axis=1) - counts / 2)

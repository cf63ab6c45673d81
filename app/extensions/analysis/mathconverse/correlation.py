"""Relations of ratings: correlations of two ratings, and the trend of ratings over a conversation.

Spearman's correlation is Pearson's of the ranks:

    r = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 * sum (y - mean y)^2);  equal values share a rank

The interval is found on Fisher's scale, z = artanh r, by leaving out one participant at a time, as replies share
participants. Ratings have few values, so pairs are counted in tables, one for each participant.

The trend is the slope of a straight line through ratings against turns:

    slope = sum of (turn - mean turn)(rating - mean rating) / sum of (turn - mean turn)^2,  points of the scale a turn

Over all replies, it also reflects which conversations go on; within conversations, where each conversation's means are
subtracted, it does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, tanh

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, finding
from app.extensions.analysis.intervals import Codes, Interval, Values, codes, left_out, number_of
from app.extensions.analysis.mathconverse.ratings import COLUMNS, SCALES, mathematical, turns

CORRELATED = (*COLUMNS, "solo_solve")
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


@analysis
def rating_correlations(interactions: pd.DataFrame) -> Iterator[Finding]:
    """Correlations of helpfulness and correctness, and of each with the confidence to solve the problem alone."""
    rated_turns = turns(interactions, ("solo_solve",))
    rated_turns["confidence"] = pd.to_numeric(rated_turns["solo_solve"], errors="coerce").astype("float64")
    for kind in ("pearson", "spearman"):
        yield finding(f"mathconverse.{kind}", _correlated(rated_turns, kind), note=WITHOUT)


def _correlated(rated_turns: pd.DataFrame, kind: str) -> Iterator[Estimate]:
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
        people = codes(rows["uid"])
        found = correlation(rows[x].to_numpy(), rows[y].to_numpy(), people, ranked=kind == "spearman")
        if not isnan(found.value):
            label = f"{x} and {y}{', without 0' if end else ''}"
            groups = {"x": x, "y": y} | ({"replies": "without correctness 0"} if end else {})
            where = " for replies that contain mathematics" if end else ""
            said = f"{kind.capitalize()}'s correlation of {x} and {y} was {{}}{where}"
            size = (len(rows), number_of(people))
            yield estimate(f"mathconverse.{kind}.{x}_{y}{end}", label, groups, size, found, said, NUMBER, "ratings")


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


def slope(x: Values, y: Values, people: Codes) -> Interval:
    """By how much y changes with x, with an interval by participants; NaN where x does not vary."""
    x, y = x - x.mean(), y - y.mean()
    sums = np.array([np.bincount(people, weights=part) for part in (np.ones_like(x), x, y, x * x, x * y)])
    whole = sums.sum(axis=1, keepdims=True)
    value, *without = _slopes(np.hstack([whole, whole - sums])).tolist()
    return left_out(value, np.asarray(without))


@analysis
def rating_trend(interactions: pd.DataFrame) -> Iterator[Finding]:
    """Change of helpfulness and correctness per turn, over all replies and within conversations."""
    rated_turns = turns(interactions)
    slopes = []
    for scale in SCALES:
        rated = rated_turns[rated_turns[scale].notna()]
        people = codes(rated["uid"])
        own = rated.groupby("trace")[["turn", scale]].transform("mean")
        for end, where, less in (("", "over all replies", 0), ("_within", "within conversations", own)):
            pair = rated[["turn", scale]] - less
            found = slope(pair["turn"].to_numpy(), pair[scale].to_numpy(), people) if len(pair) else None
            if found is not None and not isnan(found.value):
                known = (f"mathconverse.trend.{scale}{end}", f"{scale}, {where}", {"rating": scale})
                said = f"{scale.capitalize()} changed by {{}} points (of 6) per turn {where}"
                size = (len(rated), number_of(people))
                slopes.append(estimate(*known, size, found, said, NUMBER, "ratings"))
    yield finding("mathconverse.trend", slopes)


def _slopes(sums: Values) -> Values:
    """The slopes from numbers of pairs and sums of x, y, x*x and x*y; NaN where x does not vary."""
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        return np.where(spread > 1e-9, (xy - x * y / n) / spread, np.nan)

"""How ratings change over a conversation: the slope of a straight line through ratings against turns.

    slope = sum of (turn - mean turn)(rating - mean rating) / sum of (turn - mean turn)^2,  points of the scale a turn

Over all replies, the slope also reflects which conversations go on; within conversations, where each conversation's
means are subtracted, it does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.bootstrap import left_out
from app.analysis.estimates import NUMBER, Estimate, Finding, estimate
from app.analysis.intervals import Codes, Interval, Values, codes
from app.analysis.mathconverse.ratings import SCALES, TABLE, grouped, turns

METHOD = (
    "The slope of a straight line (least squares) through ratings against turns, in points of the scale per turn: over "
    "all replies, and within conversations (turns and ratings minus the conversation's means). The 95 % interval is "
    "slope ± t standard errors, by leaving out one participant at a time (cluster jackknife); t has one degree of "
    "freedom less than there are participants."
)


def slope(x: Values, y: Values, people: Codes) -> Interval:
    """By how much y changes with x, with an interval by participants; NaN where x does not vary."""
    x, y = x - x.mean(), y - y.mean()
    sums = np.array([np.bincount(people, weights=part) for part in (np.ones_like(x), x, y, x * x, x * y)])
    whole = sums.sum(axis=1, keepdims=True)
    value, *without = _slopes(np.hstack([whole, whole - sums])).tolist()
    return left_out(value, np.asarray(without))


def rating_trend(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Change of helpfulness and correctness per turn; empty if no conversation has two rated replies.

    Names: `mathconverse.trend.helpfulness`, `mathconverse.trend.helpfulness_within`, and so for correctness.
    """
    rated_turns = turns(interactions)
    estimates = tuple(one for scale in SCALES for one in _estimates(rated_turns[rated_turns[scale].notna()], scale))
    found = Finding(
        "mathconverse.trend", "Change of ratings per turn", "ratings", NUMBER, (-1, 1), estimates, METHOD,
        f'rating_trend(frame(database, study, "{TABLE}", origin))', reference=0.0,
    )  # fmt: skip
    return (found,) if estimates else ()


def _estimates(rated: pd.DataFrame, scale: str) -> Iterator[Estimate]:
    own = rated.groupby("trace")[["turn", scale]].transform("mean")
    for end, where, less in (("", "over all replies", 0), ("_within", "within conversations", own)):
        pair = rated[["turn", scale]] - less
        if len(pair):
            found = slope(pair["turn"].to_numpy(), pair[scale].to_numpy(), codes(rated["uid"]))
            if not np.isnan(found.value):
                group = grouped(f"mathconverse.trend.{scale}{end}", f"{scale}, {where}", rated, {"rating": scale})
                said = f"{scale.capitalize()} changed by {{}} points (of 6) per turn {where}"
                yield estimate(group, found, said, NUMBER, "ratings")


def _slopes(sums: Values) -> Values:
    """The slopes from numbers of pairs and sums of x, y, x*x and x*y; NaN where x does not vary."""
    n, x, y, xx, xy = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        return np.where(spread > 1e-9, (xy - x * y / n) / spread, np.nan)

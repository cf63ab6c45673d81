"""Replies with different helpfulness and correctness: correct but unhelpful, or helpful but wrong.

CheckMate asks for "clear discrepancies" between them (questions_to_ask.txt). A reply is correct but unhelpful with
correctness 6 and helpfulness of at most 3, and helpful but wrong with helpfulness of at least 5 and correctness 1
or 2; correctness 0 means that it contains no mathematics.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.estimates import SHARE, Estimate, Finding, estimate
from app.analysis.intervals import codes, share_of
from app.analysis.mathconverse.ratings import TABLE, grouped, turns

RIGHT, UNHELPFUL, HELPFUL, WRONG = 6, 3, 5, 2
METHOD = (
    "The share of replies that are rated on both scales; correctness 0 (no mathematics) does not count as wrong. The "
    "95 % interval is Wilson's for the effective number of independent replies, because replies share participants "
    "(cluster jackknife); Student's t has one degree of freedom less than there are participants."
)


def divergence(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """The shares of replies that are correct but unhelpful, or helpful but wrong; empty if no reply is rated.

    Names: `mathconverse.divergence.right_unhelpful`, `mathconverse.divergence.helpful_wrong`; the number of replies is
    in `further["count"]`.
    """
    rated_turns = turns(interactions)
    rated = rated_turns[rated_turns["helpfulness"].notna() & rated_turns["correctness"].notna()]
    found = Finding(
        "mathconverse.divergence", "Replies with different helpfulness and correctness", "ratings", SHARE, (0, 1),
        tuple(_cells(rated)) if len(rated) else (), METHOD,
        f'divergence(frame(database, study, "{TABLE}", origin))',
    )  # fmt: skip
    return (found,) if found.estimates else ()


def _cells(rated: pd.DataFrame) -> Iterator[Estimate]:
    helpful, correct = rated["helpfulness"], rated["correctness"]
    cells = {
        "right_unhelpful": (
            f"correctness {RIGHT}, helpfulness at most {UNHELPFUL}",
            (correct == RIGHT) & (helpful <= UNHELPFUL),
        ),
        "helpful_wrong": (
            f"helpfulness at least {HELPFUL}, correctness 1 to {WRONG}",
            (helpful >= HELPFUL) & correct.between(1, WRONG),
        ),
    }
    for name, (label, hits) in cells.items():
        group = grouped(f"mathconverse.divergence.{name}", label, rated, {"cell": name})
        found = share_of(hits.to_numpy().astype(float), codes(rated["uid"]))
        said = f"{{}} of replies ({int(hits.sum()):,}) had {label}"
        yield estimate(group, found, said, SHARE, "ratings", further={"count": float(hits.sum())})

"""Where helpfulness and correctness part: right but of little help, or helpful though wrong.

CheckMate asks for "clear discrepancies" between them (questions_to_ask.txt). A reply is right but of little help with
correctness 6 and helpfulness of at most 3, and helpful though wrong with helpfulness of at least 5 and correctness 1
or 2; correctness 0 says that it holds no mathematics.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.estimates import SHARE, Estimate, Finding, estimate
from app.analysis.intervals import codes, share_of
from app.analysis.mathconverse.ratings import TABLE, grouped, turns

RIGHT, UNHELPFUL, HELPFUL, WRONG = 6, 3, 5, 2
METHOD = (
    "The share of replies that are rated on both scales; correctness 0 (no mathematics) is not wrong. The 95 % "
    "interval is Wilson's, for the number of independent replies that they are worth, as replies share participants "
    "(cluster jackknife), with Student's t of one degree of freedom less than there are participants."
)


def divergence(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """How many replies are right but of little help, or helpful though wrong; nothing where no reply is rated.

    Names: `mathconverse.divergence.right_unhelpful`, `mathconverse.divergence.helpful_wrong`; how many they are is
    in `further["count"]`.
    """
    told = turns(interactions)
    rated = told[told["helpfulness"].notna() & told["correctness"].notna()]
    found = Finding(
        "mathconverse.divergence", "Where helpfulness and correctness part", "ratings", SHARE, (0, 1),
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

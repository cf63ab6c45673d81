"""How often each rating was given, and helpfulness against correctness, reply by reply."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.base import each
from app.analysis.estimates import SHARE, Estimate, Finding, Scatter, ScatterPoint, estimate
from app.analysis.intervals import codes, share_of
from app.analysis.mathconverse.ratings import SCALE, SCALES, TABLE, grouped, turns

VALUES = range(SCALE[0], SCALE[1] + 1)
METHOD = (
    "The share of rated replies with each rating. The 95 % interval is Wilson's for the effective number of "
    "independent ratings, because replies share participants (cluster jackknife); Student's t has one degree of "
    "freedom less than there are participants."
)


def distribution(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """The share of each rating from 0 to 6, on both scales, and how often each pair of ratings was given.

    Names: `mathconverse.distribution.helpfulness.<value>`, `mathconverse.distribution.correctness.<value>`; the number
    of ratings is in `further["count"]`. Empty if no reply is rated.
    """
    rated_turns = turns(interactions)
    estimates = tuple(one for scale in SCALES for one in _shares(rated_turns[rated_turns[scale].notna()], scale))
    if not estimates:
        return ()
    both = rated_turns.dropna(subset=list(SCALES)).groupby(list(SCALES)).size().rename("n").reset_index()
    scatter = Scatter(SCALES[1], SCALES[0], (SCALE[0], SCALE[1]), tuple(_points(both)), margins=True)
    return (
        Finding(
            "mathconverse.distribution", "Helpfulness against correctness, and the distributions of both", "ratings",
            SHARE, (0, 1), estimates, METHOD, f'distribution(frame(database, study, "{TABLE}", origin))',
            note="Correctness 0 means that the reply contains no mathematics.", columns=("rating",), scatter=scatter,
        ),
    )  # fmt: skip


def _shares(rated: pd.DataFrame, scale: str) -> Iterator[Estimate]:
    for value in VALUES if len(rated) else ():
        hits = (rated[scale] == value).to_numpy().astype(float)
        name = f"mathconverse.distribution.{scale}.{value}"
        group = grouped(name, f"{scale} {value}", rated, {"value": f"{value}", "rating": scale})
        said = f"{{}} of replies ({int(hits.sum()):,}) had a {scale} of {value} (of 6)"
        found = share_of(hits, codes(rated["uid"]))
        yield estimate(group, found, said, SHARE, "ratings", further={"count": float(hits.sum())})


def _points(both: pd.DataFrame) -> Iterator[ScatterPoint]:
    for row in each(both):
        label = f"helpfulness {row.helpfulness:.0f}, correctness {row.correctness:.0f}"
        yield ScatterPoint(row.correctness, row.helpfulness, int(row.n), label)

"""How often each model beats each other model: the arena's matrix of win rates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.arena.comparisons import HALF, compared
from app.analysis.arena.votes import VOTES, WORTH
from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, number_of, share_of

METHOD = f"The share of votes between two models that the first one won. {HALF} {WORTH}"


def pairwise(votes: pd.DataFrame) -> tuple[Finding, ...]:
    """The share of votes between two models that the first won, ties counting half; empty if none were compared.

    Names: `arena.pairwise.<model>.<model>`, in alphabetical order; the second model's share is 1 minus that.
    """
    found = Finding(
        "arena.pairwise", "Win rate between two models", "votes", SHARE, (0, 1), tuple(_pairs(compared(votes))),
        METHOD, f'pairwise(frame(database, study, "{VOTES}", origin))', reference=0.5,
    )  # fmt: skip
    return (found,) if found.estimates else ()


def _pairs(met: pd.DataFrame) -> Iterator[Estimate]:
    turned = (met["one"] > met["other"]).to_numpy(dtype=bool)
    ordered = met.assign(
        one=np.where(turned, met["other"], met["one"]),
        other=np.where(turned, met["one"], met["other"]),
        won=np.where(turned, 1 - met["won"], met["won"]),
    )
    for (one, other), rows in ordered.groupby(["one", "other"], sort=True):
        people = codes(rows["participant"])
        known = (f"{one} against {other}", len(rows), number_of(people), {"model": str(one), "other": str(other)})
        group = EstimateGroup(f"arena.pairwise.{slug(one)}.{slug(other)}", *known)
        said = f"Against {other}, {one} won {{}} of votes, ties counting half"
        yield estimate(group, share_of(rows["won"].to_numpy(), people), said, SHARE, "votes")

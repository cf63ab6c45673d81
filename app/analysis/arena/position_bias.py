"""Position bias: how often the model in each position on the screen wins, compared with chance.

Models are assigned to positions at random, so each position should win equally often. Votes that showed a model twice
count too: only the position can have decided them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.arena.votes import SLOTS, TIES, VOTES, WORTH
from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate
from app.analysis.intervals import codes, number_of, share_of

PLACES = {"a": "first (left)", "b": "second", "c": "third", "d": "fourth"}
METHOD = (
    "The share of votes with a winner that the model in a position won, of the votes with a model in that position. "
    f"By chance it is 1 divided by the number of models shown. {WORTH}"
)


def positions(votes: pd.DataFrame) -> tuple[Finding, ...]:
    """The share of votes with a winner that each position won; empty if no vote has a winner.

    Names: `arena.position.<slot>`, a to d; chance is in `further["chance"]`.
    """
    decided = votes[~votes["winner"].isin(TIES)]
    sizes = decided[[f"model_{slot}" for slot in SLOTS]].notna().sum(axis=1)
    chances = (1 / sizes).unique()
    found = Finding(
        "arena.position", "Win rate by position", "votes with a winner", SHARE, (0, 1), tuple(_places(decided, sizes)),
        METHOD, f'positions(frame(database, study, "{VOTES}", origin))',
        reference=float(chances[0]) if len(chances) == 1 else None,
    )  # fmt: skip
    return (found,) if found.estimates else ()


def _places(decided: pd.DataFrame, sizes: pd.Series) -> Iterator[Estimate]:
    for slot, place in PLACES.items():
        there = decided[f"model_{slot}"].notna()
        rows = decided[there]
        if len(rows):
            people = codes(rows["participant"])
            group = EstimateGroup(f"arena.position.{slot}", place, len(rows), number_of(people), {"slot": slot})
            won = (rows["winner"] == f"model_{slot}").to_numpy().astype(float)
            chance = float((1 / sizes[there]).mean())
            said = f"The {place} position won {{}} of the votes with a winner; chance is {100 * chance:.1f} %"
            yield estimate(group, share_of(won, people), said, SHARE, "votes", further={"chance": chance})

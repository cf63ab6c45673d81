"""Which model people prefer, in the arena's votes.

A model's win rate is the share of votes that it won, of the votes that showed it and had a winner; ties are left out
and reported. It depends on the other models that were shown; Bradley-Terry strengths do not. Votes that showed a model
twice are left out. Zheng et al., NeurIPS 2023.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, number_of, share_of

VOTES = "arena_votes"
VOTE_COLUMNS = ("participant", "model_a", "model_b", "model_c", "model_d", "winner")
"""The columns that are needed."""
SLOTS = ("a", "b", "c", "d")
TIES = {"tie": "equally good", "tie (bothbad)": "none good"}
WORTH = (
    "The 95 % interval is Wilson's for the effective number of independent votes, because one participant gives "
    "several votes (cluster jackknife); Student's t has one degree of freedom less than there are participants."
)
WINS = (
    "A model's win rate is the share of votes that it won, of the votes that showed it and had a winner (no ties). "
    + WORTH
)
TIED = f"The share of all votes. {WORTH}"


def wins(votes: pd.DataFrame) -> tuple[Finding, ...]:
    """Win rates by model, and the share of ties; empty without votes.

    `votes` has the columns of arena_votes. Names: `arena.win_rate.<model>`, `arena.ties.<kind>`.
    """
    frame = votes.reset_index(drop=True)
    tied = frame["winner"].isin(TIES)
    shown = _shown(frame)
    itself = shown[shown.duplicated(["vote", "model"])]["vote"]
    decided = shown[~shown["vote"].isin(itself) & ~shown["vote"].map(tied)]
    left = f"{int(tied.sum()):,} of {len(frame):,} votes are ties."
    left += f" {itself.nunique():,} votes that showed a model twice are left out." if len(itself) else ""
    code = f'wins(frame(database, study, "{VOTES}", origin))'
    found = (
        Finding(
            "arena.win_rate", "Win rate by model", "votes with a winner", SHARE, (0, 1), tuple(_rates(decided)),
            WINS, code, reference=_chance(decided), note=left,
        ),
        Finding("arena.ties", "Ties", "votes", SHARE, (0, 1), tuple(_ties(frame)), TIED, code),
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def _shown(votes: pd.DataFrame) -> pd.DataFrame:
    """A row for each model of each vote, and whether it won."""
    slots = [
        pd.DataFrame(
            {
                "vote": votes.index,
                "participant": votes["participant"],
                "model": votes[f"model_{slot}"],
                "won": (votes["winner"] == f"model_{slot}").astype("float64"),
            }
        )
        for slot in SLOTS
    ]
    shown = pd.concat(slots, ignore_index=True)
    return shown[shown["model"].notna()]


def _chance(decided: pd.DataFrame) -> float | None:
    """How often a model would win by chance; None if the number of models differs between votes."""
    sizes = decided.groupby("vote").size().unique()
    return float(1 / sizes[0]) if len(sizes) == 1 else None


def _rates(decided: pd.DataFrame) -> Iterator[Estimate]:
    for model, rows in decided.groupby("model", sort=True):
        people = codes(rows["participant"])
        name = f"arena.win_rate.{slug(model)}"
        group = EstimateGroup(name, str(model), len(rows), number_of(people), {"model": str(model)})
        said = f"{model} won {{}} of its votes with a winner"
        yield estimate(group, share_of(rows["won"].to_numpy(), people), said, SHARE, "votes")


def _ties(votes: pd.DataFrame) -> Iterator[Estimate]:
    people = codes(votes["participant"])
    for kind, words in TIES.items() if len(votes) else ():
        group = EstimateGroup(f"arena.ties.{slug(words)}", words, len(votes), number_of(people), {"winner": kind})
        found = share_of((votes["winner"] == kind).to_numpy().astype(float), people)
        yield estimate(group, found, f"{{}} of votes were ties ({words})", SHARE, "votes")

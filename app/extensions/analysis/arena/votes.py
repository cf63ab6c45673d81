"""The arena's votes: which model people prefer, how often each beats each other, and what the position does.

A model's win rate is the share of votes that it won, of the votes that showed it and had a winner; ties are left out
and reported. It depends on the other models that were shown; Bradley-Terry strengths do not. Votes that showed a model
twice are left out. Zheng et al., NeurIPS 2023.

As pairwise comparisons, the winner beats every other model, and a tie, equally good or none good, counts as half a win
for each model, as in the arena's own ratings (Chiang et al.: Chatbot Arena. ICML 2024). Two models that both lost to a
third are not compared. A vote that showed a model twice is left out, because it compares the model with itself.

Models are assigned to positions on the screen at random, so each position should win equally often. For this, votes
that showed a model twice count too: only the position can have decided them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.estimates import Finding, share_estimate, share_finding, slug
from app.extensions.analysis.intervals import Values

VOTES = "arena_votes"
VOTE_COLUMNS = ("participant", "model_a", "model_b", "model_c", "model_d", "winner")
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
HALF = "A tie counts as half a win for each model. With more than two models, the winner beats every other one."
PAIRWISE = f"The share of votes between two models that the first one won. {HALF} {WORTH}"
PLACES = {"a": "first (left)", "b": "second", "c": "third", "d": "fourth"}
POSITIONS = (
    "The share of votes with a winner that the model in a position won, of the votes with a model in that position. "
    f"By chance it is 1 divided by the number of models shown. {WORTH}"
)


@analysis
def wins(votes: pd.DataFrame) -> Iterator[Finding]:
    """Win rates by model, and the share of ties. `votes` has the columns of arena_votes."""
    frame = votes.reset_index(drop=True)
    tied = frame["winner"].isin(TIES)
    shown = _shown(frame)
    itself = shown[shown.duplicated(["vote", "model"])]["vote"]
    decided = shown[~shown["vote"].isin(itself) & ~shown["vote"].map(tied)]
    left = f"{int(tied.sum()):,} of {len(frame):,} votes are ties."
    left += f" {itself.nunique():,} votes that showed a model twice are left out." if len(itself) else ""
    rates = (
        share_estimate(f"arena.win_rate.{slug(model)}", str(model), {"model": str(model)},
                       f"{model} won {{}} of its votes with a winner", rows["won"], rows["participant"], counts="votes")
        for model, rows in decided.groupby("model", sort=True)
    )  # fmt: skip
    sizes = decided.groupby("vote").size().unique()
    chance = float(1 / sizes[0]) if len(sizes) == 1 else None
    title, counts = "Win rate by model", "votes with a winner"
    yield share_finding("arena.win_rate", title, counts, rates, WINS, reference=chance, note=left)
    ties = (
        share_estimate(f"arena.ties.{slug(words)}", words, {"winner": kind}, f"{{}} of votes were ties ({words})",
                       frame["winner"] == kind, frame["participant"], counts="votes")
        for kind, words in TIES.items() if len(frame)
    )  # fmt: skip
    yield share_finding("arena.ties", "Ties", "votes", ties, TIED)


def _shown(votes: pd.DataFrame) -> pd.DataFrame:
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


@analysis
def pairwise(votes: pd.DataFrame) -> Iterator[Finding]:
    """The share of votes between two models that the first in the alphabet won, ties counting half; the second model's
    share is 1 minus that."""
    met = compared(votes)
    turned = (met["one"] > met["other"]).to_numpy(dtype=bool)
    ordered = met.assign(
        one=np.where(turned, met["other"], met["one"]),
        other=np.where(turned, met["one"], met["other"]),
        won=np.where(turned, 1 - met["won"], met["won"]),
    )
    shares = (
        share_estimate(f"arena.pairwise.{slug(one)}.{slug(other)}", f"{one} against {other}",
                       {"model": str(one), "other": str(other)},
                       f"Against {other}, {one} won {{}} of votes, ties counting half", rows["won"],
                       rows["participant"], counts="votes")
        for (one, other), rows in ordered.groupby(["one", "other"], sort=True)
    )  # fmt: skip
    yield share_finding("arena.pairwise", "Win rate between two models", "votes", shares, PAIRWISE, reference=0.5)


@analysis
def positions(votes: pd.DataFrame) -> Iterator[Finding]:
    """The share of votes with a winner that each position won; chance is in `further`."""
    decided = votes[~votes["winner"].isin(TIES)]
    sizes = decided[[f"model_{slot}" for slot in SLOTS]].notna().sum(axis=1)
    chances = (1 / sizes).unique()
    shares = []
    for slot, place in PLACES.items():
        there = decided[f"model_{slot}"].notna()
        rows = decided[there]
        if len(rows):
            chance = float((1 / sizes[there]).mean())
            said = f"The {place} position won {{}} of the votes with a winner; chance is {100 * chance:.1f} %"
            known = (f"arena.position.{slot}", place, {"slot": slot}, said, rows["winner"] == f"model_{slot}")
            shares.append(share_estimate(*known, rows["participant"], counts="votes", further={"chance": chance}))
    reference = float(chances[0]) if len(chances) == 1 else None
    title, counts = "Win rate by position", "votes with a winner"
    yield share_finding("arena.position", title, counts, shares, POSITIONS, reference=reference)


def compared(votes: pd.DataFrame) -> pd.DataFrame:
    """A row for each two models of a vote: `vote`, `participant`, `one`, `other`, `won` (by the one: 1, 0 or a half).

    `votes` has the columns of arena_votes.
    """
    frame = votes.reset_index(drop=True)
    tied = frame["winner"].isin(TIES)
    found = []
    for first, second in combinations(SLOTS, 2):
        one, other = frame[f"model_{first}"], frame[f"model_{second}"]
        won, lost = frame["winner"] == f"model_{first}", frame["winner"] == f"model_{second}"
        rows = pd.DataFrame(
            {
                "vote": frame.index,
                "participant": frame["participant"],
                "one": one,
                "other": other,
                "won": won + tied / 2,
            }
        )
        found.append(rows[one.notna() & other.notna() & (won | lost | tied)])
    met = pd.concat(found, ignore_index=True)
    return met[~met["vote"].isin(_itself(frame))]


def win_matrix(votes: pd.DataFrame) -> pd.DataFrame:
    """How often each model (row) beat each other model (column), ties counting half; models in alphabetical order."""
    met = compared(votes)
    names = sorted({*met["one"], *met["other"]})
    wins = pd.DataFrame(np.zeros((len(names), len(names))), index=names, columns=names)
    at = {name: place for place, name in enumerate(names)}
    one, other = met["one"].map(at).to_numpy(int), met["other"].map(at).to_numpy(int)
    counted: Values = wins.to_numpy(copy=True)
    np.add.at(counted, (one, other), met["won"])
    np.add.at(counted, (other, one), 1 - met["won"])
    return pd.DataFrame(counted, index=names, columns=names)


def as_votes(conversations: pd.DataFrame) -> pd.DataFrame:
    """The votes of `arena_conversations`, as of the arena's own release, with the columns of `arena_votes`."""
    found = conversations[["model_a", "model_b", "winner"]].assign(participant=conversations["judge"])
    return found.assign(model_c=None, model_d=None)


def _itself(votes: pd.DataFrame) -> pd.Series:
    shown = votes[[f"model_{slot}" for slot in SLOTS]].melt(ignore_index=False, value_name="model").dropna()
    shown = shown.rename_axis("vote").reset_index()
    return shown[shown.duplicated(["vote", "model"])]["vote"]

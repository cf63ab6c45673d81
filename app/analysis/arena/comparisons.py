"""The arena's votes as pairwise comparisons: the winner beats every other model; a tie is a tie between all models.

A tie, equally good or none good, counts as half a win for each model, as in the arena's own ratings (Chiang et al.:
Chatbot Arena. ICML 2024). Two models that both lost to a third are not compared. A vote that showed a model twice is
left out, because it compares the model with itself.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from app.analysis.arena.votes import SLOTS, TIES
from app.analysis.intervals import Values

HALF = "A tie counts as half a win for each model. With more than two models, the winner beats every other one."


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
    """The votes that showed a model twice."""
    shown = votes[[f"model_{slot}" for slot in SLOTS]].melt(ignore_index=False, value_name="model").dropna()
    shown = shown.rename_axis("vote").reset_index()
    return shown[shown.duplicated(["vote", "model"])]["vote"]

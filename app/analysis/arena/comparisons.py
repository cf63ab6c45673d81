"""The arena's votes as comparisons of two models: the winner beats every other one; a tie is one between all.

A tie counts half a win for each, as in the arena's own ratings (Chiang et al.: Chatbot Arena. ICML 2024); equally good
and none good alike. Between two that both lost to a third nothing is known. A vote in which a model met itself tells
nothing of it, and is left out.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from app.analysis.arena.votes import SLOTS, TIES
from app.analysis.intervals import Values

HALF = "A tie counts half a win for each. Of more than two models the winner beats every other one."


def compared(votes: pd.DataFrame) -> pd.DataFrame:
    """A row for each two models of a vote: `vote`, `participant`, `one`, `other`, `won` (by the one: 1, 0 or a half).

    `votes` has the columns of arena_votes.
    """
    told = votes.reset_index(drop=True)
    tied = told["winner"].isin(TIES)
    found = []
    for first, second in combinations(SLOTS, 2):
        one, other = told[f"model_{first}"], told[f"model_{second}"]
        won, lost = told["winner"] == f"model_{first}", told["winner"] == f"model_{second}"
        rows = pd.DataFrame(
            {
                "vote": told.index,
                "participant": told["participant"],
                "one": one,
                "other": other,
                "won": won + tied / 2,
            }
        )
        found.append(rows[one.notna() & other.notna() & (won | lost | tied)])
    met = pd.concat(found, ignore_index=True)
    return met[~met["vote"].isin(_itself(told))]


def win_matrix(votes: pd.DataFrame) -> pd.DataFrame:
    """How often each model (row) beat each other one (column), ties counting half; models in the alphabet's order."""
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


def _itself(told: pd.DataFrame) -> pd.Series:
    """The votes in which a model met itself."""
    shown = told[[f"model_{slot}" for slot in SLOTS]].melt(ignore_index=False, value_name="model").dropna()
    shown = shown.rename_axis("vote").reset_index()
    return shown[shown.duplicated(["vote", "model"])]["vote"]

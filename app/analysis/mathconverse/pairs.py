"""Preferences between two models: which one is preferred, and whether the ratings of its replies predict it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from app.analysis.estimates import SHARE, Estimate, Finding, estimate, slug
from app.analysis.intervals import Values, codes, share_of
from app.analysis.mathconverse.preference import RANK_COLUMNS, RANKS, SET, ranked
from app.analysis.mathconverse.ratings import COLUMNS, SCALES, grouped, turns

PREDICTED_COLUMNS = (*COLUMNS, *RANK_COLUMNS[1:])
WORTH = (
    "The 95 % interval is Wilson's for the effective number of independent pairs, because pairs share participants "
    "(cluster jackknife); Student's t has one degree of freedom less than there are participants."
)
PREFERRED = f"The share of sets in which the first model has the better rank; equal ranks count half. {WORTH}"
PREDICTED = (
    "Of the pairs of models in a set with different ranks, the share in which the model with the higher mean rating of "
    f"its replies has the better rank; equal means count half. Chance is 50 %. {WORTH}"
)


def preferred(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """How often each model is preferred to each other model, ties counting half; empty if no two were ranked.

    Names: `mathconverse.preferred.<model>.<model>`, the first in the alphabet first.
    """
    found = Finding(
        "mathconverse.preferred", "Preference between two models", "pairs", SHARE, (0, 1),
        tuple(_preferred(pairs(ranked(interactions)))), PREFERRED,
        f'preferred(frame(database, study, "{RANKS}", origin))', reference=0.5,
    )  # fmt: skip
    return (found,) if found.estimates else ()


def preference_predicted(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """How often the model with the higher rating is the preferred one; empty without such pairs.

    Names: `mathconverse.predicts_preference.helpfulness`, `mathconverse.predicts_preference.correctness`.
    """
    found = Finding(
        "mathconverse.predicts_preference", "Do ratings predict the preference?", "pairs", SHARE, (0, 1),
        tuple(_predicted(interactions)), PREDICTED,
        f'preference_predicted(frame(database, study, "{RANKS}", origin))', reference=0.5,
    )  # fmt: skip
    return (found,) if found.estimates else ()


def pairs(given: pd.DataFrame) -> pd.DataFrame:
    """A row for each two models of a set: their columns with `_1` and `_2`, the first in the alphabet first."""
    both = given.merge(given, on=SET, suffixes=("_1", "_2"))
    return both[both["model_1"] < both["model_2"]]


def _preferred(both: pd.DataFrame) -> Iterator[Estimate]:
    for (one, other), rows in both.groupby(["model_1", "model_2"], sort=True):
        name = f"mathconverse.preferred.{slug(one)}.{slug(other)}"
        group = grouped(name, f"{one} over {other}", rows, {"model": str(one), "other": str(other)})
        won = _better(rows["rank_2"], rows["rank_1"])
        said = f"{one} was preferred to {other} in {{}} of sets, ties counting half"
        yield estimate(group, share_of(won, codes(rows["uid"])), said, SHARE, "pairs")


def _predicted(interactions: pd.DataFrame) -> Iterator[Estimate]:
    rated_turns = turns(interactions, ("interaction_set_idx",))
    means = rated_turns.groupby([*SET, "model"])[list(SCALES)].mean().reset_index()
    both = pairs(ranked(interactions).merge(means, on=[*SET, "model"]))
    for scale in SCALES:
        known = both[both[f"{scale}_1"].notna() & both[f"{scale}_2"].notna() & (both["rank_1"] != both["rank_2"])]
        if len(known):
            higher = _better(known[f"{scale}_1"], known[f"{scale}_2"])
            hits = np.where(known["rank_1"] < known["rank_2"], higher, 1 - higher)
            group = grouped(f"mathconverse.predicts_preference.{scale}", scale, known, {"rating": scale})
            said = f"The model with the higher mean {scale} was the preferred one in {{}} of pairs with a preference"
            yield estimate(group, share_of(hits, codes(known["uid"])), said, SHARE, "pairs")


def _better(one: pd.Series, other: pd.Series) -> Values:
    """1 where the one is larger, a half where they are equal."""
    return np.asarray((one > other) + (one == other) / 2, dtype=np.float64)

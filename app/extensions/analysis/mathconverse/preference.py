"""Preferred models in MathConverse: the ranks that participants give after a set of problems, shared ranks, preferences
between two models, and whether the ratings of their replies predict them.

Collins et al.: Evaluating language models for mathematics through interactions. PNAS 2024.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.estimates import Estimate, Finding, finding, mean_estimate, share_estimate, slug
from app.extensions.analysis.intervals import Values
from app.extensions.analysis.mathconverse.ratings import COLUMNS, SCALES, turns

RANK_COLUMNS = ("uid", "interaction_set_idx", "final_prefs")
COMPLETE_COLUMNS = (*RANK_COLUMNS, "model")
PREDICTED_COLUMNS = (*COLUMNS, *RANK_COLUMNS[1:])
SET = ["uid", "interaction_set_idx"]
WHOLE = "Complete sets are those with a conversation with each ranked model."
TIES = {"some": "at least two models share a rank", "all": "all models share a rank"}


@analysis
def ranks(interactions: pd.DataFrame) -> Iterator[Finding]:
    yield from _ranks(ranked(interactions))


@analysis
def complete_ranks(interactions: pd.DataFrame) -> Iterator[Finding]:
    """Mean ranks in sets with a conversation with each ranked model; this choice can reverse an order of models."""
    yield from _ranks(ranked(interactions, complete=True), "_complete", ", complete sets", WHOLE)


def _ranks(given: pd.DataFrame, end: str = "", where: str = "", note: str = "") -> Iterator[Finding]:
    most = float(given["rank"].max()) if len(given) else 1.0
    means, best = [], []
    for model, rows in given.assign(best=are_best(given)).groupby("model", sort=True):
        label, groups = str(model), {"model": str(model)}
        said = f"{model} had a mean rank of {{}}{' in complete sets' if end else ''} (1 is the best)"
        known = (f"mathconverse.mean_rank{end}.{slug(model)}", label, groups, said, rows["rank"], rows["uid"])
        means.append(mean_estimate(*known, counts="ranks", scale=(1, most)))
        said = f"{model} was ranked best, alone or tied, in {{}} of {_sets(end)}"
        known = (f"mathconverse.best_or_tied{end}.{slug(model)}", label, groups, said, rows["best"], rows["uid"])
        best.append(share_estimate(*known, counts="ranks"))
    words, told = {"end": end, "where": where}, f"1 is the best. {note}".strip()
    yield finding("mathconverse.mean_rank{end}", means, axis=(1, max(2, most)), note=told, words=words)
    yield finding("mathconverse.best_or_tied{end}", best, note=note, words=words)


@analysis
def best_alone(interactions: pd.DataFrame) -> Iterator[Finding]:
    for end, where, note in (("", "", ""), ("_complete", ", complete sets", WHOLE)):
        given = ranked(interactions, complete=bool(end))
        best = are_best(given)
        alone = best & (best.groupby([given[name] for name in SET]).transform("sum") == 1)
        only = [
            _of_sets(f"mathconverse.strict_best{end}.{slug(model)}", str(model), {"model": str(model)},
                     f"{model} alone was ranked best in {{}} of {_sets(end)}", rows["hit"], rows)
            for model, rows in given.assign(hit=alone).groupby("model", sort=True)
        ]  # fmt: skip
        known = {"end": end, "where": where}
        yield finding("mathconverse.strict_best{end}", only, note=note, words=known)
        sizes = given.groupby(SET)["rank"].agg(["size", "nunique"]).reset_index()
        sizes = sizes[sizes["size"] > 1]
        hits = {"some": sizes["nunique"] < sizes["size"], "all": sizes["nunique"] == 1}
        shared = [
            _of_sets(f"mathconverse.ties{end}.{kind}", label, {"ties": kind}, f"In {{}} of {_sets(end)}, {label}",
                     hits[kind], sizes)
            for kind, label in TIES.items() if len(sizes)
        ]  # fmt: skip
        yield finding("mathconverse.ties{end}", shared, note=note, words=known)


def _of_sets(name: str, label: str, groups: dict[str, str], said: str, hits: pd.Series, rows: pd.DataFrame) -> Estimate:
    return share_estimate(name, label, groups, said, hits, rows["uid"], counts="sets", counted=True)


def _sets(end: str) -> str:
    return "complete sets" if end else "sets"


@analysis
def preferred(interactions: pd.DataFrame) -> Iterator[Finding]:
    """The share of comparisons in which each model is preferred to each other, in alphabetical order, ties half."""
    shares = (
        share_estimate(f"mathconverse.preferred.{slug(one)}.{slug(other)}", f"{one} over {other}",
                       {"model": str(one), "other": str(other)},
                       f"{one} was preferred to {other} in {{}} of sets, ties counting half",
                       _better(rows["rank_2"], rows["rank_1"]), rows["uid"], counts="pairs")
        for (one, other), rows in _pairs(ranked(interactions)).groupby(["model_1", "model_2"], sort=True)
    )  # fmt: skip
    yield finding("mathconverse.preferred", shares)


@analysis
def preference_predicted(interactions: pd.DataFrame) -> Iterator[Finding]:
    rated_turns = turns(interactions, ("interaction_set_idx",))
    means = rated_turns.groupby([*SET, "model"])[list(SCALES)].mean().reset_index()
    both = _pairs(ranked(interactions).merge(means, on=[*SET, "model"]))
    shares = []
    for scale in SCALES:
        known = both[both[f"{scale}_1"].notna() & both[f"{scale}_2"].notna() & (both["rank_1"] != both["rank_2"])]
        if len(known):
            higher = _better(known[f"{scale}_1"], known[f"{scale}_2"])
            hits = np.where(known["rank_1"] < known["rank_2"], higher, 1 - higher)
            name, groups = f"mathconverse.predicts_preference.{scale}", {"rating": scale}
            said = f"The model with the higher mean {scale} was the preferred one in {{}} of pairs with a preference"
            shares.append(share_estimate(name, scale, groups, said, hits, known["uid"], counts="pairs"))
    yield finding("mathconverse.predicts_preference", shares)


def ranked(interactions: pd.DataFrame, *, complete: bool = False) -> pd.DataFrame:
    """A row for each rank: `uid`, `interaction_set_idx`, `model`, `rank` (1 is the best). With `complete`, only sets
    that have a conversation with each ranked model."""
    given = interactions[interactions["final_prefs"] != "MISSING"]
    sets = given.drop_duplicates(SET)
    rows = [
        (person, number, model, float(rank))
        for person, number, cell in sets[list(RANK_COLUMNS)].itertuples(index=False)
        for model, rank in _preference(cell).items()
    ]
    found = pd.DataFrame(rows, columns=[*SET, "model", "rank"])
    if not complete:
        return found
    met = found.merge(given[[*SET, "model"]].drop_duplicates(), how="left", on=[*SET, "model"], indicator=True)
    missed = met.assign(missed=met["_merge"] != "both").groupby(SET)["missed"].transform("any")
    return found[~missed]


def are_best(given: pd.DataFrame) -> pd.Series:
    """True for ranks that are the best of their set, which are not always 1."""
    return given["rank"] == given.groupby(SET)["rank"].transform("min")


def _pairs(given: pd.DataFrame) -> pd.DataFrame:
    """A row for each two models of a set: their columns with `_1` and `_2`, the first in the alphabet first."""
    both = given.merge(given, on=SET, suffixes=("_1", "_2"))
    return both[both["model_1"] < both["model_2"]]


def _better(one: pd.Series, other: pd.Series) -> Values:
    """1 where the one is larger, a half where they are equal."""
    return np.asarray((one > other) + (one == other) / 2, dtype=np.float64)


@lru_cache(maxsize=10_000)
def _preference(cell: str) -> dict[str, int]:
    found: dict[str, int] = ast.literal_eval(cell)
    return found

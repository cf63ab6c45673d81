"""Preferred models in MathConverse: the ranks that participants give after a set of problems.

Collins et al.: Evaluating language models for mathematics through interactions. PNAS 2024.
"""

from __future__ import annotations

import ast
from functools import lru_cache

import pandas as pd

from app.analysis.estimates import NUMBER, SHARE, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import codes, mean_of, number_of, share_of

RANKS = "mathconverse_interactions"
RANK_COLUMNS = ("uid", "interaction_set_idx", "final_prefs")
"""The columns that are needed."""
COMPLETE_COLUMNS = (*RANK_COLUMNS, "model")
SET = ["uid", "interaction_set_idx"]
WHOLE = "Complete sets are those with a conversation with each ranked model."
BEST = (
    "The share of sets of problems in which no other model has a better rank. The 95 % interval is Wilson's for the "
    "effective number of independent sets, because sets share participants (cluster jackknife); Student's t has one "
    "degree of freedom less than there are participants."
)
MEAN_RANK = (
    "Rank 1 is the best; ties are allowed, and each set of problems has a rank for each of its models. The 95 % "
    "interval is mean ± t standard errors, by leaving out one participant at a time (cluster jackknife); t has one "
    "degree of freedom less than there are participants."
)


def ranks(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """The mean rank of each model, and how often it was best, alone or tied; empty without ranks.

    `interactions` has the columns of MathConverse's release. Names: `mathconverse.mean_rank.<model>`,
    `mathconverse.best_or_tied.<model>`.
    """
    return _findings(ranked(interactions), f'ranks(frame(database, study, "{RANKS}", origin))')


def complete_ranks(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean ranks in sets that have a conversation with each ranked model; this choice can reverse an order of models.

    Names: `mathconverse.mean_rank_complete.<model>`, `mathconverse.best_or_tied_complete.<model>`.
    """
    code = f'complete_ranks(frame(database, study, "{RANKS}", origin))'
    return _findings(ranked(interactions, complete=True), code, "_complete", ", complete sets", WHOLE)


def _findings(given: pd.DataFrame, code: str, end: str = "", where: str = "", note: str = "") -> tuple[Finding, ...]:
    most = float(given["rank"].max()) if len(given) else 1.0
    whole = " in complete sets" if end else ""
    means, best = [], []
    for model, rows in given.assign(best=are_best(given)).groupby("model", sort=True):
        people = codes(rows["uid"])
        known = (str(model), len(rows), number_of(people), {"model": str(model)})
        mean = mean_of(rows["rank"].to_numpy(), people, scale=(1, most))
        said = f"{model} had a mean rank of {{}}{whole} (1 is the best)"
        means.append(
            estimate(EstimateGroup(f"mathconverse.mean_rank{end}.{slug(model)}", *known), mean, said, NUMBER, "ranks")
        )
        first = share_of(rows["best"].to_numpy(dtype="float64"), people)
        said = f"{model} was ranked best, alone or tied, in {{}} of {'complete ' if end else ''}sets"
        name = f"mathconverse.best_or_tied{end}.{slug(model)}"
        best.append(estimate(EstimateGroup(name, *known), first, said, SHARE, "ranks"))
    found = (
        Finding(
            f"mathconverse.mean_rank{end}", f"Preference: mean rank by model{where}", "ranks", NUMBER,
            (1, max(2, most)), tuple(means), MEAN_RANK, code, note=f"1 is the best. {note}".strip(),
        ),
        Finding(
            f"mathconverse.best_or_tied{end}", f"Preference: ranked best, alone or tied{where}", "ranks", SHARE, (0, 1),
            tuple(best), BEST, code, note=note,
        ),
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def ranked(interactions: pd.DataFrame, *, complete: bool = False) -> pd.DataFrame:
    """A row for each rank: `uid`, `interaction_set_idx`, `model`, `rank` (1 is the best).

    With `complete`, only sets that have a conversation with each ranked model.
    """
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
    """Whether each rank is the best of its set, which is not always 1."""
    return given["rank"] == given.groupby(SET)["rank"].transform("min")


@lru_cache(maxsize=10_000)
def _preference(cell: str) -> dict[str, int]:
    """A dictionary of ranks, as Python writes it."""
    found: dict[str, int] = ast.literal_eval(cell)
    return found

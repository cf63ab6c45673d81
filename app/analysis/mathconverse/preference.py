"""Which model people prefer, in MathConverse: the ranks that they give after a set of problems.

Collins et al.: Evaluating language models for mathematics through interactions. PNAS 2024.
"""

from __future__ import annotations

import ast
from functools import lru_cache

import pandas as pd

from app.analysis.estimates import NUMBER, SHARE, Finding, Group, estimate, slug
from app.analysis.intervals import codes, mean_of, number_of, share_of

RANKS = "mathconverse_interactions"
RANK_COLUMNS = ("uid", "interaction_set_idx", "final_prefs")
"""The columns that are needed."""
BEST = (
    "The share of the sets of problems in which the model has rank 1; ties are allowed. The 95 % interval is Wilson's, "
    "for the number of independent sets that they are worth, as sets share participants (cluster jackknife), with "
    "Student's t of one degree of freedom less than there are participants."
)
MEAN_RANK = (
    "A rank of 1 is the best; ties are allowed, and each set of problems has a rank for each of its models. The 95 % "
    "interval is mean ± t standard errors, by leaving out one participant at a time (cluster jackknife), with one "
    "degree of freedom less than there are participants."
)


def ranks(interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """The mean rank of each model, and how often it was best or tied for it; nothing where nobody ranked.

    `interactions` has the columns of MathConverse's release. Names: `mathconverse.mean_rank.<model>`,
    `mathconverse.best_or_tied.<model>`.
    """
    given = ranked(interactions)
    code = f'ranks(frame(database, study, "{RANKS}", origin))'
    most = float(given["rank"].max()) if len(given) else 1.0
    means, best = [], []
    for model, rows in given.groupby("model", sort=True):
        people = codes(rows["uid"])
        known = (str(model), len(rows), number_of(people), {"model": str(model)})
        mean = mean_of(rows["rank"].to_numpy(), people, scale=(1, most))
        said = f"{model} had a mean rank of {{}} (1 is the best)"
        means.append(estimate(Group(f"mathconverse.mean_rank.{slug(model)}", *known), mean, said, NUMBER, "ranks"))
        first = share_of((rows["rank"] == 1).to_numpy().astype(float), people)
        said = f"{model} was ranked best, alone or tied, in {{}} of sets"
        best.append(estimate(Group(f"mathconverse.best_or_tied.{slug(model)}", *known), first, said, SHARE, "ranks"))
    found = (
        Finding(
            "mathconverse.mean_rank", "Preference: mean rank by model", "ranks", NUMBER, (1, max(2, most)),
            tuple(means), MEAN_RANK, code, note="1 is the best.",
        ),
        Finding(
            "mathconverse.best_or_tied", "Preference: ranked best, alone or tied", "ranks", SHARE, (0, 1), tuple(best),
            BEST, code,
        ),
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


def ranked(interactions: pd.DataFrame) -> pd.DataFrame:
    """A row for each rank that was given: `uid`, `interaction_set_idx`, `model`, `rank` (1 is the best)."""
    sets = interactions[interactions["final_prefs"] != "MISSING"].drop_duplicates(["uid", "interaction_set_idx"])
    rows = [
        (person, number, model, float(rank))
        for person, number, cell in sets[list(RANK_COLUMNS)].itertuples(index=False)
        for model, rank in _preference(cell).items()
    ]
    return pd.DataFrame(rows, columns=["uid", "interaction_set_idx", "model", "rank"])


@lru_cache(maxsize=10_000)
def _preference(cell: str) -> dict[str, int]:
    """A dictionary of ranks, as Python writes it."""
    found: dict[str, int] = ast.literal_eval(cell)
    return found

"""Which model people prefer: the arena's votes, and the ranks of MathConverse.

A model's win rate is its share of the votes that it took part in and that somebody won; ties are left out and reported.
It depends on whom the model met: Bradley-Terry's strengths do not. A vote in which a model met itself tells nothing of
it, and is left out. Zheng et al., NeurIPS 2023; Collins et al., PNAS 2024.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

import pandas as pd

from app.analysis.estimates import NUMBER, SHARE, Estimate, Finding, Group, estimate, slug
from app.analysis.intervals import codes, mean_of, number_of, share_of

VOTES = "arena_votes"
VOTE_COLUMNS = ("participant", "model_a", "model_b", "model_c", "model_d", "winner")
RANKS = "mathconverse_interactions"
RANK_COLUMNS = ("uid", "interaction_set_idx", "final_prefs")
"""The columns that are needed."""
SLOTS = ("a", "b", "c", "d")
TIES = {"tie": "equally good", "tie (bothbad)": "none good"}
WORTH = (
    "The 95 % interval is Wilson's, for the number of independent votes that they are worth, as votes share "
    "participants (cluster jackknife), with Student's t of one degree of freedom less than there are participants."
)
WINS = (
    "A model's win rate is its share of the votes with a winner among those that it took part in; ties are left out. "
    + WORTH
)
TIED = f"The share of all votes. {WORTH}"
BEST = f"The share of the sets of problems in which the model has rank 1; ties are allowed. {WORTH}"
MEAN_RANK = (
    "A rank of 1 is the best; ties are allowed, and each set of problems has a rank for each of its models. The 95 % "
    "interval is mean ± t standard errors, by leaving out one participant at a time (cluster jackknife), with one "
    "degree of freedom less than there are participants."
)


def wins(votes: pd.DataFrame) -> tuple[Finding, ...]:
    """Win rates by model, and the share of ties; nothing where nobody voted.

    `votes` has the columns of arena_votes. Names: `arena.win_rate.<model>`, `arena.ties.<kind>`.
    """
    told = votes.reset_index(drop=True)
    tied = told["winner"].isin(TIES)
    shown = _shown(told)
    itself = shown[shown.duplicated(["vote", "model"])]["vote"]
    decided = shown[~shown["vote"].isin(itself) & ~shown["vote"].map(tied)]
    left = f"{int(tied.sum()):,} of {len(told):,} votes are ties."
    left += f" {itself.nunique():,} votes in which a model met itself are left out." if len(itself) else ""
    code = f'wins(frame(database, study, "{VOTES}", origin))'
    found = (
        Finding(
            "arena.win_rate", "Win rate by model", "votes with a winner", SHARE, (0, 1), tuple(_rates(decided)),
            WINS, code, reference=_chance(decided), note=left,
        ),
        Finding("arena.ties", "Ties", "votes", SHARE, (0, 1), tuple(_ties(told)), TIED, code),
    )  # fmt: skip
    return tuple(finding for finding in found if finding.estimates)


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


def _shown(told: pd.DataFrame) -> pd.DataFrame:
    """A row for each model of each vote, and whether it won."""
    slots = [
        pd.DataFrame(
            {
                "vote": told.index,
                "participant": told["participant"],
                "model": told[f"model_{slot}"],
                "won": (told["winner"] == f"model_{slot}").astype("float64"),
            }
        )
        for slot in SLOTS
    ]
    shown = pd.concat(slots, ignore_index=True)
    return shown[shown["model"].notna()]


def _chance(decided: pd.DataFrame) -> float | None:
    """How often a model would win by chance, where every vote is between as many."""
    sizes = decided.groupby("vote").size().unique()
    return float(1 / sizes[0]) if len(sizes) == 1 else None


def _rates(decided: pd.DataFrame) -> Iterator[Estimate]:
    for model, rows in decided.groupby("model", sort=True):
        people = codes(rows["participant"])
        name = f"arena.win_rate.{slug(model)}"
        group = Group(name, str(model), len(rows), number_of(people), {"model": str(model)})
        said = f"{model} won {{}} of its votes that had a winner"
        yield estimate(group, share_of(rows["won"].to_numpy(), people), said, SHARE, "votes")


def _ties(told: pd.DataFrame) -> Iterator[Estimate]:
    people = codes(told["participant"])
    for kind, words in TIES.items() if len(told) else ():
        group = Group(f"arena.ties.{slug(words)}", words, len(told), number_of(people), {"winner": kind})
        found = share_of((told["winner"] == kind).to_numpy().astype(float), people)
        yield estimate(group, found, f"{{}} of votes were ties ({words})", SHARE, "votes")

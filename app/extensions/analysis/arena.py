"""The arena's votes: which model people prefer, how often each beats each other, and what the position does (Zheng et
al., NeurIPS 2023; Chiang et al.: Chatbot Arena. ICML 2024).

A win rate is of the votes that showed a model and had a winner. As pairwise comparisons, the winner beats every other
model, and a tie, equally good or none good, counts as half a win for each; two models that both lost to a third are not
compared. Votes that showed a model twice are left out, but from win rates by position, which models have at random.

Bradley-Terry strengths do not depend on which other models a model was compared with. Of maximum likelihood (Bradley
and Terry 1952), in log-odds:

    P(i beats j) = 1 / (1 + exp(s_j - s_i)),  sum of all s = 0,     Elo = 1000 + s * 400 / ln 10

The likelihood is concave. Newton steps are limited so that the difference between two compared models changes by at
most 1 per step; then each step increases the likelihood (Bach 2010, Electronic Journal of Statistics 4:384), and the
search finds its only maximum. A maximum exists if and only if, for every split of the models into two sets, a model
of each set beat a model of the other (Ford 1957; Hunter 2004, Annals of Statistics 32:384). Otherwise strengths are
estimated for the largest set of models that meets the condition, and are NaN for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.extensions.analysis.base import AnalysisStep, analysis, call, table
from app.extensions.analysis.estimates import NUMBER, Finding, estimate, finding, share_estimate, slug
from app.extensions.analysis.intervals import SAMPLES, SEED, Codes, Interval, Values, codes, draws, middle, number_of

VOTES = "arena_votes"
VOTE_COLUMNS = ("participant", "model_a", "model_b", "model_c", "model_d", "winner")
SLOTS = ("a", "b", "c", "d")
TIES = {"tie": "equally good", "tie (bothbad)": "none good"}
PLACES = {"a": "first (left)", "b": "second", "c": "third", "d": "fourth"}


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
    yield finding("arena.win_rate", rates, reference=chance, note=left)
    ties = (
        share_estimate(f"arena.ties.{slug(words)}", words, {"winner": kind}, f"{{}} of votes were ties ({words})",
                       frame["winner"] == kind, frame["participant"], counts="votes")
        for kind, words in TIES.items() if len(frame)
    )  # fmt: skip
    yield finding("arena.ties", ties)


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
    yield finding("arena.pairwise", shares)


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
    yield finding("arena.position", shares, reference=reference)


def compared(votes: pd.DataFrame) -> pd.DataFrame:
    """A row for each two models of a vote: `vote`, `participant`, `one`, `other`, `won` (1, 0 or a half)."""
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
    return met[~met["vote"].isin(_showing_twice(frame))]


def _showing_twice(votes: pd.DataFrame) -> pd.Series:
    shown = votes[[f"model_{slot}" for slot in SLOTS]].melt(ignore_index=False, value_name="model").dropna()
    shown = shown.rename_axis("vote").reset_index()
    return shown[shown.duplicated(["vote", "model"])]["vote"]


MEAN, POINTS = 1000.0, 400 / log(10)
STEPS = 200
# Steps shorter than this end the search; they shrink quadratically.
SMALL = 1e-10
NONE = "Strengths cannot be estimated: no two models beat each other, directly or through other models."


@dataclass(frozen=True, slots=True)
class FittedModel:
    """The models' strengths with those of the samples (a row each), NaN for models that have none."""

    models: tuple[str, ...]
    wins: Values
    values: Values
    samples: Values


def fitted(votes: pd.DataFrame, samples: int = SAMPLES, seed: int = SEED) -> FittedModel:
    met = compared(votes)
    labels = pd.Index(sorted({*met["one"], *met["other"]}))
    size = len(labels)
    one, other = labels.get_indexer(met["one"]), labels.get_indexer(met["other"])
    people = codes(met["participant"])
    won = met["won"].to_numpy(dtype="float64")
    cells = np.concatenate([one * size + other, other * size + one])
    shares, clusters = np.concatenate([won, 1 - won]), np.concatenate([people, people])
    cells, shares, clusters = cells[shares > 0], shares[shares > 0], clusters[shares > 0]

    def counted(times: Codes) -> Values:
        found = np.bincount(cells, weights=shares * times[clusters], minlength=size * size)
        return np.asarray(found.reshape(size, size), dtype=np.float64)

    count = number_of(people)
    wins = counted(np.ones(count, dtype=np.int64))
    values = strengths(wins)
    has = ~np.isnan(values)
    drawn = np.full((samples, size), np.nan)
    if has.any():
        for number, times in enumerate(draws(count, samples, seed)):
            own = counted(times)[np.ix_(has, has)]
            if joined(own).all():
                drawn[number, has] = strengths(own, values[has])
    return FittedModel(tuple(labels), wins, values, drawn)


def bradley_terry(votes: pd.DataFrame) -> tuple[Finding, ...]:
    """The strength of each model, as log-odds and on the arena's scale; the note has the models without one."""
    met, found = compared(votes), fitted(votes)
    if not found.models:
        return ()
    far = max(1.0, float(np.ceil(np.nanmax(np.abs(found.values), initial=0))))
    sides = [met[["vote", "participant", side]].rename(columns={side: "model"}) for side in ("one", "other")]
    sizes = pd.concat(sides).groupby("model")[["vote", "participant"]].nunique()
    strength, rating = (
        "{model} had a strength of {} (log-odds against a model of mean strength)",
        "{model} had a rating of {} (400 points are odds of 10 to 1, the mean is 1000)",
    )
    log_odds, elo = (0.0, 1.0, far), (MEAN, POINTS, far)
    return (
        _strengths(found, sizes, "bradley_terry", log_odds, strength),
        _strengths(found, sizes, "elo", elo, rating),
    )


def _strengths(
    fitted: FittedModel, sizes: pd.DataFrame, name: str, scale: tuple[float, float, float], said: str
) -> Finding:
    """`sizes` has, by model, the votes that compare it with another and their participants; `scale` is the mean
    strength, the size of a log-odd, and how far the axis reaches in log-odds."""
    anchor, size, far = scale
    everybody, estimates = int(sizes["participant"].max()), []
    for place in np.argsort(-fitted.values, kind="stable"):
        if not np.isnan(fitted.values[place]):
            model = fitted.models[place]
            n, people = map(int, sizes.loc[model])
            one = middle(float(fitted.values[place]), fitted.samples[:, place], everybody)
            low, high = (None if end is None else anchor + size * end for end in (one.low, one.high))
            known = (f"arena.{name}.{slug(model)}", model, {"model": model}, (n, people))
            interval = Interval(anchor + size * one.value, low, high, one.why)
            estimates.append(estimate(*known, interval, said.replace("{model}", model), NUMBER, "votes"))
    axis = (anchor - size * far, anchor + size * far)
    return finding(f"arena.{name}", estimates, axis=axis, note=_left(fitted))


def _left(model: FittedModel) -> str:
    out = np.isnan(model.values)
    if out.all():
        return NONE
    won, lost = model.wins.sum(axis=1), model.wins.sum(axis=0)
    why = np.where(
        lost == 0, "never lost", np.where(won == 0, "never won", "not connected to the others by wins and losses")
    )
    left_out = "; ".join(f"{model.models[place]} ({why[place]})" for place in np.flatnonzero(out))
    return f"Left out because their strengths are unbounded: {left_out}." if left_out else ""


def strengths(wins: Values, start: Values | None = None) -> Values:
    """The strength of each model from how often it (row) beat each other model (column); NaN for those without one."""
    found = np.full(len(wins), np.nan)
    chosen = joined(wins)
    if chosen.sum() > 1:
        own = wins[np.ix_(chosen, chosen)]
        found[chosen] = _maximum(own, np.zeros(len(own)) if start is None else start[chosen])
    return found


def joined(wins: Values) -> npt.NDArray[np.bool_]:
    """Mark the models of the largest set in which every model beat every other, directly or through others."""
    reach = (wins > 0) | np.eye(len(wins), dtype=bool)
    for _ in range(max(1, len(wins)).bit_length()):
        reach = (reach.astype(float) @ reach.astype(float)) > 0
    both = reach & reach.T
    votes = both @ (wins.sum(axis=0) + wins.sum(axis=1))  # of parts as large, that with most votes
    best = max(range(len(wins)), key=lambda model: (both[model].sum(), votes[model]), default=None)
    return np.zeros(0, dtype=bool) if best is None else both[best]


def _maximum(wins: Values, found: Values) -> Values:
    """The most likely strengths of models of which each has one; NaN should the search not end."""
    games = wins + wins.T
    np.fill_diagonal(games, 0)
    met = games > 0
    for _ in range(STEPS):
        chance = (1 + np.tanh((found[:, None] - found[None, :]) / 2)) / 2  # as above, and never too large for a number
        gain = (np.where(met, wins, 0) - games * chance).sum(axis=1)
        weight = games * chance * (1 - chance)
        step = np.linalg.solve(np.diag(weight.sum(axis=1)) - weight + weight.max(), gain)
        apart = np.abs(step[:, None] - step[None, :])[met].max()
        found = found + step / max(1.0, apart)
        if apart < SMALL:
            return np.asarray(found - found.mean())
    return np.full(len(wins), np.nan)


_VOTES = table(VOTES, VOTE_COLUMNS)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(wins, _VOTES), quick=True),
    AnalysisStep(call(bradley_terry, _VOTES)),
    AnalysisStep(call(pairwise, _VOTES)),
    AnalysisStep(call(positions, _VOTES)),
)

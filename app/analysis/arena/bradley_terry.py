"""Bradley-Terry strengths of models from the arena's votes, also on the Elo scale.

Unlike win rates, they do not depend on which other models a model was compared with.

    Elo = 1000 + s * 400 / ln 10:  400 points more are odds of 10 to 1

Intervals are a percentile bootstrap over participants, as votes share them. (Zheng et al., NeurIPS 2023; Chiang et
al.: Chatbot Arena. ICML 2024.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
import pandas as pd

from app.analysis.arena.comparisons import HALF, compared
from app.analysis.arena.strength import joined, strengths
from app.analysis.arena.votes import VOTES
from app.analysis.bootstrap import DRAWN, SAMPLES, SEED, draws, middle
from app.analysis.estimates import NUMBER, Estimate, EstimateGroup, Finding, estimate, slug
from app.analysis.intervals import Codes, Interval, Values, codes, number_of

MEAN, POINTS = 1000.0, 400 / log(10)
METHOD = (
    "Bradley-Terry strengths by maximum likelihood: the log-odds that a model beats a model of mean strength (0). "
    f"{HALF} The 95 % interval is {DRAWN}, because one participant gives several votes."
)
ELO = f"{METHOD} On the arena's scale, 400 points are odds of 10 to 1, and the mean of the models is 1000."
NONE = "Strengths cannot be estimated: no two models beat each other, directly or through other models."


@dataclass(frozen=True, slots=True)
class FittedModel:
    """The models' strengths with those of the samples (a row each), NaN for models that have none."""

    models: tuple[str, ...]
    wins: Values
    values: Values
    samples: Values


def fitted(votes: pd.DataFrame, samples: int = SAMPLES, seed: int = SEED) -> FittedModel:
    """The strengths of the models in some votes, and in samples of as many participants."""
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
    """The strength of each model, as log-odds and on the arena's scale; empty if no two models were compared.

    `votes` has the columns of arena_votes. Names: `arena.bradley_terry.<model>`, `arena.elo.<model>`. Models whose
    strength is unbounded are listed in the note; if no strength can be estimated, the note says so.
    """
    found = fitted(votes)
    if not found.models:
        return ()
    code = f'bradley_terry(frame(database, study, "{VOTES}", origin))'
    far = max(1.0, float(np.ceil(np.nanmax(np.abs(found.values), initial=0))))
    sizes = _sizes(compared(votes))
    return (
        Finding(
            "arena.bradley_terry", "Strength (Bradley-Terry)", "votes", NUMBER, (-far, far),
            tuple(_estimates(found, sizes, elo=False)), METHOD, code, reference=0.0, note=_left(found),
        ),
        Finding(
            "arena.elo", "Strength on the arena's scale", "votes", NUMBER,
            (MEAN - POINTS * far, MEAN + POINTS * far), tuple(_estimates(found, sizes, elo=True)), ELO, code,
            reference=MEAN, note=_left(found),
        ),
    )  # fmt: skip


def _sizes(met: pd.DataFrame) -> pd.DataFrame:
    """By model: the number of votes that compare it with another model, and of participants who gave them."""
    sides = [met[["vote", "participant", side]].rename(columns={side: "model"}) for side in ("one", "other")]
    return pd.concat(sides).groupby("model")[["vote", "participant"]].nunique()


def _estimates(found: FittedModel, sizes: pd.DataFrame, *, elo: bool) -> Iterator[Estimate]:
    anchor, scale = (MEAN, POINTS) if elo else (0.0, 1.0)
    everybody = int(sizes["participant"].max())
    for place in np.argsort(-found.values, kind="stable"):
        if np.isnan(found.values[place]):
            continue
        model = found.models[place]
        n, participants = map(int, sizes.loc[model])
        group = EstimateGroup(
            f"arena.{'elo' if elo else 'bradley_terry'}.{slug(model)}", model, n, participants, {"model": model}
        )
        one = middle(float(found.values[place]), found.samples[:, place], everybody)
        low, high = (None if end is None else anchor + scale * end for end in (one.low, one.high))
        said = f"{model} had a strength of {{}} (log-odds against a model of mean strength)"
        if elo:
            said = f"{model} had a rating of {{}} (400 points are odds of 10 to 1, the mean is 1000)"
        yield estimate(group, Interval(anchor + scale * one.value, low, high, one.why), said, NUMBER, "votes")


def _left(found: FittedModel) -> str:
    """Which models have no strength, and why."""
    out = np.isnan(found.values)
    if out.all():
        return NONE
    won, lost = found.wins.sum(axis=1), found.wins.sum(axis=0)
    why = np.where(
        lost == 0, "never lost", np.where(won == 0, "never won", "not connected to the others by wins and losses")
    )
    left_out = "; ".join(f"{found.models[place]} ({why[place]})" for place in np.flatnonzero(out))
    return f"Left out because their strengths are unbounded: {left_out}." if left_out else ""

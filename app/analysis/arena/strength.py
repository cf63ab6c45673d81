"""Bradley-Terry strengths (1952) by maximum likelihood, from the number of wins of each model over each other model.

    P(i beats j) = 1 / (1 + exp(s_j - s_i)),  sum of all s = 0;  in log-odds

The likelihood is concave. Newton steps are limited so that the difference between two compared models changes by at
most 1 per step; then each step increases the likelihood (Bach 2010, Electronic Journal of Statistics 4:384), and the
search finds its only maximum. A maximum exists if and only if, for every split of the models into two sets, a model of
each set beat a model of the other (Ford 1957; Hunter 2004, Annals of Statistics 32:384). Otherwise some strengths would
be infinite, such as that of a model that never lost: strengths are then estimated for the largest set of models that
meets the condition, and are NaN for the others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.analysis.intervals import Values

STEPS = 200
SMALL = 1e-10
"""Steps shorter than this end the search; they shrink quadratically."""


def strengths(wins: Values, start: Values | None = None) -> Values:
    """The strength of each model from how often it (row) beat each other model (column); NaN for those without one.

    P(i beats j) = 1/(1 + exp(s_j - s_i)), in log-odds, their mean 0, of maximum likelihood. Bradley and Terry 1952.
    """
    found = np.full(len(wins), np.nan)
    chosen = joined(wins)
    if chosen.sum() > 1:
        own = wins[np.ix_(chosen, chosen)]
        found[chosen] = _maximum(own, np.zeros(len(own)) if start is None else start[chosen])
    return found


def joined(wins: Values) -> npt.NDArray[np.bool_]:
    """Which models are in the largest set in which every model beat every other, directly or through others."""
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

"""Synergy of each model from draws of the posterior: how much more people answer right with it than alone.

    accuracy alone     A_0 = mean over people i and questions j of logistic(mu_0 + theta_i - beta_j)
    accuracy with m    A_m = mean over people i and questions j of logistic(mu_m + kappa_i - gamma_j)
    synergy of m       A_m - A_0

Each mean is over all people and all questions of the data, also those who did not meet: so models that were given to
different people and questions are compared on the same ones. Intervals are of equal tails, 95 % of the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.intervals import LEVEL, Values
from app.analysis.synergy.answers import SynergyAnswers
from app.analysis.synergy.posterior import Posterior

MOST_DRAWS = 1000
"""Draws whose means over all people and questions are taken, evenly spaced among all."""
MOST_R_HAT, FEWEST_EFFECTIVE = 1.01, 400
"""Beyond which chains have not mixed (Vehtari et al. 2021, Bayesian Analysis 16:667)."""


@dataclass(frozen=True, slots=True)
class Credible:
    """A posterior mean and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ModelSynergy:
    """The figures of a model, as shares; `observed` is the plain difference of the shares of right answers."""

    model: str
    answers: int
    accuracy: Credible
    synergy: Credible
    above_zero: float
    """The posterior probability that the synergy is above 0."""
    observed: float


@dataclass(frozen=True, slots=True)
class SynergyFigures:
    """The figures of a study, and how well the chains mixed."""

    people: int
    questions: int
    alone: int
    """Answers alone."""
    accuracy_alone: Credible
    models: tuple[ModelSynergy, ...]
    sd_own: Credible
    """The standard deviation of own ability, in logits."""
    sd_collaborative: Credible
    correlation: Credible
    """The correlation of own and collaborative ability."""
    divergences: int
    worst_r_hat: float
    fewest_effective: float

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the draws cannot be trusted; empty if they can."""
        found = []
        if self.divergences:
            found.append(f"{self.divergences:,} divergent transitions")
        if not self.worst_r_hat <= MOST_R_HAT:
            found.append(f"R-hat {self.worst_r_hat:.3f} is above {MOST_R_HAT}")
        if not self.fewest_effective >= FEWEST_EFFECTIVE:
            found.append(f"{self.fewest_effective:,.0f} effective draws are fewer than {FEWEST_EFFECTIVE}")
        return tuple(found)


def synergy_figures(answers: SynergyAnswers, posterior: Posterior) -> SynergyFigures:
    """The figures of all models, in the order of their names."""
    alone, *helped = accuracies(posterior).T
    right = [answers.correct[answers.model == place] for place in range(len(answers.models) + 1)]
    models = (
        ModelSynergy(
            name,
            right[place].size,
            credible(helped[place - 1]),
            credible(helped[place - 1] - alone),
            float(np.mean(helped[place - 1] > alone)),
            float(right[place].mean() - right[0].mean()),
        )
        for place, name in enumerate(answers.models, 1)
    )
    return SynergyFigures(
        answers.people,
        answers.questions,
        right[0].size,
        credible(alone),
        tuple(models),
        credible(posterior.sd_person[:, 0]),
        credible(posterior.sd_person[:, 1]),
        credible(posterior.correlation_person),
        posterior.divergences,
        posterior.worst_r_hat,
        posterior.fewest_effective,
    )


def accuracies(posterior: Posterior) -> Values:
    """For each of MOST_DRAWS draws the accuracy alone, then with each model, over all people and questions."""
    count = posterior.mu.shape[0]
    chosen = np.unique(np.linspace(0, count - 1, min(count, MOST_DRAWS)).astype(int))
    return np.asarray([_accuracy(posterior, draw) for draw in chosen])


def _accuracy(posterior: Posterior, draw: int) -> Sequence[float]:
    mu, ability, difficulty = posterior.mu[draw], posterior.ability[draw], posterior.difficulty[draw]
    gaps = [ability[:, column, None] - difficulty[None, :, column] for column in (0, 1)]
    return [float(np.mean(1 / (1 + np.exp(-(one + gaps[min(place, 1)]))))) for place, one in enumerate(mu)]


def credible(draws: Values) -> Credible:
    """The mean of draws, and the interval of equal tails."""
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Credible(float(draws.mean()), float(low), float(high))

"""A Bayesian item response model of answers alone and with a model, sampled by NUTS (numpyro, the extra `bayes`).

The probability that person i answers question j right is, alone and with model m,

    alone    logit p = mu_0 + theta_i - beta_j
    with m   logit p = mu_m + kappa_i - gamma_j

(Rasch 1960, with two abilities of each person and two difficulties of each question). (theta_i, kappa_i) are normal
with mean 0, standard deviations of their own and a correlation, and so are (beta_j, gamma_j): a question that is hard
alone need not be hard with a model. Priors: mu ~ N(0, 1.5), standard deviations half-normal with scale 1, correlations
LKJ(2) (Lewandowski, Kurowicka and Joe 2009). It is Parley's formulation: that own and collaborative ability are two is
the idea of Riedl and Weidmann (2025), whose equations were not available.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.analysis.intervals import Values
from app.analysis.synergy.answers import SynergyAnswers

SCALARS = ("mu", "sd_person", "sd_question", "correlation_person", "correlation_question")
"""What is diagnosed: the parameters that all answers share."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Draws, the first axis of each array; S draws, I people, J questions, M models."""

    mu: Values
    """S x (M + 1): alone, then with each model."""
    ability: Values
    """S x I x 2: theta and kappa."""
    difficulty: Values
    """S x J x 2: beta and gamma."""
    sd_person: Values
    """S x 2."""
    correlation_person: Values
    """S: the correlation of theta and kappa."""
    divergences: int
    worst_r_hat: float
    fewest_effective: float
    """The smallest effective number of draws of a parameter that all answers share."""


def sample(
    answers: SynergyAnswers,
    *,
    seed: int,
    draws: int = 1000,
    warmup: int = 1000,
    chains: int = 4,
    progress: bool = False,
) -> Posterior:
    """Draw from the posterior. The same seed gives the same draws. Raises ImportError without numpyro."""
    import numpyro  # type: ignore[import-not-found]  # not in the developers' environment
    from jax import random  # type: ignore[import-not-found]
    from numpyro import distributions as dist
    from numpyro.diagnostics import summary  # type: ignore[import-not-found]
    from numpyro.infer import MCMC, NUTS  # type: ignore[import-not-found]

    people, questions, models = answers.people, answers.questions, len(answers.models)

    def pairs(name: str, count: int) -> Any:
        """Correlated pairs with mean 0, not centred, so that chains reach small deviations too."""
        sd = numpyro.sample(f"sd_{name}", dist.HalfNormal(1.0).expand([2]).to_event(1))
        root = numpyro.sample(f"root_{name}", dist.LKJCholesky(2, concentration=2.0))
        raw = numpyro.sample(f"raw_{name}", dist.Normal(0.0, 1.0).expand([count, 2]).to_event(2))
        numpyro.deterministic(f"correlation_{name}", root[1, 0])
        return numpyro.deterministic(name, raw @ (sd[:, None] * root).T)

    def model(person: Any, question: Any, helper: Any, correct: Any) -> None:
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.5).expand([models + 1]).to_event(1))
        ability, difficulty = pairs("person", people), pairs("question", questions)
        column = (helper > 0).astype(int)
        logit = mu[helper] + ability[person, column] - difficulty[question, column]
        numpyro.sample("correct", dist.Bernoulli(logits=logit), obs=correct)

    chain = MCMC(
        NUTS(model, target_accept_prob=0.9),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=progress,
        jit_model_args=True,
    )
    data = (answers.person, answers.question, answers.model, answers.correct)
    chain.run(random.PRNGKey(seed), *data, extra_fields=("diverging",))
    found = {name: np.asarray(value, dtype=np.float64) for name, value in chain.get_samples().items()}
    told = summary({name: chain.get_samples(group_by_chain=True)[name] for name in SCALARS}, group_by_chain=True)
    return Posterior(
        mu=found["mu"],
        ability=found["person"],
        difficulty=found["question"],
        sd_person=found["sd_person"],
        correlation_person=found["correlation_person"],
        divergences=int(np.sum(chain.get_extra_fields()["diverging"])),
        worst_r_hat=float(max(np.max(one["r_hat"]) for one in told.values())),
        fewest_effective=float(min(np.min(one["n_eff"]) for one in told.values())),
    )

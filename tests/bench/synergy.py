"""How often intervals of `parley synergy` hold the true synergy: sampled by NUTS, and by variational Bayes instead.

    python -m tests.bench.synergy [--sets 200] [--engines nuts variational] [--packages FOLDER]

Answers are drawn from the model with fixed parameters; the truth is that of the people and questions drawn. NUTS needs
numpyro (the extra `bayes`): `--packages` is a folder of packages to look in as well, such as the site-packages of
`.venv-readers`. Variational Bayes is statsmodels' BinomialBayesMixedGLM with the same effects, but independent ones.
Exits with 1 where NUTS holds the truth in fewer than 91 % of data sets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]

from app.analysis.intervals import LEVEL, Values
from app.analysis.synergy.answers import SynergyAnswers
from app.analysis.synergy.figures import accuracies
from app.analysis.synergy.posterior import Posterior, sample

LEAST = 0.91
PEOPLE, QUESTIONS, EACH = 40, 16, 8
"""Half of each participant's questions are answered alone, the others with one of two models."""
MU = np.asarray([0.0, 1.2, 0.4])
PERSON, QUESTION = (1.0, 0.7, 0.6), (1.0, 0.8, 0.4)
"""Standard deviations alone and with a model, and their correlation."""
Engine = Callable[[SynergyAnswers, int], Posterior]


def pairs(chance: np.random.Generator, count: int, of: tuple[float, float, float]) -> Values:
    """Correlated normal pairs with mean 0."""
    one, two, r = of
    return chance.multivariate_normal([0, 0], [[one**2, r * one * two], [r * one * two, two**2]], count)


def drawn(chance: np.random.Generator, people: int = PEOPLE) -> tuple[SynergyAnswers, Values]:
    """Answers, and the true accuracies: alone and with each model."""
    ability, difficulty = pairs(chance, people, PERSON), pairs(chance, QUESTIONS, QUESTION)
    person = np.repeat(np.arange(people), EACH)
    question = np.concatenate([chance.permutation(QUESTIONS)[:EACH] for _ in range(people)])
    model = np.where(np.tile(np.arange(EACH), people) < EACH // 2, 0, 1 + person % 2)
    helped = (model > 0).astype(int)
    logit = MU[model] + ability[person, helped] - difficulty[question, helped]
    right = (chance.random(logit.size) < 1 / (1 + np.exp(-logit))).astype(float)
    truth = Posterior(MU[None], ability[None], difficulty[None], np.ones((1, 2)), np.ones(1), 0, 1.0, 1.0)
    return SynergyAnswers(right, person, question, model, ("one", "two")), accuracies(truth)[0]


def nuts(answers: SynergyAnswers, seed: int) -> Posterior:
    """As the command samples, with one chain."""
    return sample(answers, seed=seed, draws=600, warmup=400, chains=1)


def variational(answers: SynergyAnswers, seed: int) -> Posterior:
    """Independent normal approximations of all effects."""
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM  # type: ignore[import-untyped]

    rows, helped = np.arange(answers.correct.size), answers.model > 0
    parts, kinds = [], []
    for kind, (codes, count) in enumerate(
        ((answers.person, answers.people),) * 2 + ((answers.question, answers.questions),) * 2
    ):
        there = (helped == bool(kind % 2)).astype(float) * (1 if kind < 2 else -1)
        parts.append(csr_matrix((there, (rows, codes)), (rows.size, count)))
        kinds += [kind] * count
    fixed = np.eye(len(answers.models) + 1)[answers.model]
    fit = BinomialBayesMixedGLM(answers.correct, fixed, hstack(parts, "csr"), np.asarray(kinds), 1.0, 1.5).fit_vb()
    chance, draws = np.random.default_rng(seed), 600
    mu = chance.normal(fit.fe_mean, fit.fe_sd, (draws, fixed.shape[1]))
    effects = chance.normal(fit.vc_mean, fit.vc_sd, (draws, len(kinds)))
    of = [effects[:, np.asarray(kinds) == kind] for kind in range(4)]
    ability, difficulty = np.stack(of[:2], axis=2), np.stack(of[2:], axis=2)
    return Posterior(mu, ability, difficulty, np.ones((draws, 2)), np.zeros(draws), 0, 1.0, float(draws))


ENGINES: Mapping[str, Engine] = {"nuts": nuts, "variational": variational}


def main(words: list[str]) -> int:
    """Print the coverage and the mean width of intervals of both models' synergy."""
    given = argparse.ArgumentParser()
    given.add_argument("--sets", type=int, default=200)
    given.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    given.add_argument("--packages", default="")
    asked = given.parse_args(words)
    if asked.packages:
        sys.path.append(asked.packages)
    if "nuts" in asked.engines:
        import jax  # type: ignore[import-not-found]

        jax.config.update("jax_compilation_cache_dir", tempfile.mkdtemp())  # all data sets have the same shape
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    table = Table("engine", "data sets", "held", "mean width, points", "mean error, points", "seconds each")
    least = 1.0
    for name in asked.engines:
        begun, held, widths, errors = time.monotonic(), [], [], []
        for number in range(asked.sets):
            answers, truth = drawn(np.random.default_rng(number))
            found = accuracies(ENGINES[name](answers, number))
            gains = found[:, 1:] - found[:, :1]
            low, high = np.quantile(gains, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
            true = truth[1:] - truth[0]
            held += [*((low <= true) & (true <= high))]
            widths.append(float(np.mean(high - low)))
            errors.append(float(np.mean(gains.mean(axis=0) - true)))
            if number % 20 == 19:
                print(name, number + 1, f"{np.mean(held):.3f}", file=sys.stderr, flush=True)
        share, each = float(np.mean(held)), (time.monotonic() - begun) / asked.sets
        least = min(least, share) if name == "nuts" else least
        numbers = f"{100 * np.mean(widths):.1f}", f"{100 * np.mean(errors):+.2f}", f"{each:.1f}"
        table.add_row(name, f"{asked.sets}", f"{100 * share:.1f} %", *numbers)
    Console(width=120).print(table)
    return int(least < LEAST)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

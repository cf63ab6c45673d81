"""A mixed-effects logistic regression: the effects of answer type, model and dataset on the odds of a correct answer.

    logit P(right) = intercept + way + model + dataset + participant + question

with normal random intercepts of participants and questions. Means and variances are statsmodels' variational Bayes
(BinomialBayesMixedGLM; priors: normal, sd 2, for the fixed effects; log-normal, sd 1, for the standard deviations). It
treats all effects as independent given the data, so its own posterior sd (`sd_library`) is too small for effects that
differ between participants. The interval uses the curvature of the joint posterior at those means instead: the inverse
of the matrix

    [X'WX + 1/4    X'WZ    ]
    [Z'WX          Z'WZ + D]      W = p(1 - p),  D = 1/variance of each random intercept
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import exp
from statistics import NormalDist
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from app.errors import SettingsError
from app.extensions.analysis.chatbench.by_dataset import USER_ALONE, WITH_AI
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, slug
from app.extensions.analysis.intervals import LEVEL, Interval, Values, codes, number_of
from problems.errors import install_line

INSTALL = f"The mixed model needs a package that is not installed: {install_line('analysis')}"
# Minimum number of participants, and of questions.
FEWEST = 2
# The priors: of fixed effects, and of the logarithms of the random effects' standard deviations.
FIXED_SD, RANDOM_SD = 2.0, 1.0
SEED = 20250220
# Limits of the optimiser; the library's default takes many minutes for a thousand random effects.
ENDS = {"maxiter": 2000, "maxfun": 4000}
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)
TITLE = "Effects on the odds of a correct answer"
METHOD = (
    "Mixed-effects logistic regression of correct answers on answer type (alone; with the chatbot, by condition), "
    "model and dataset, with normal random intercepts for participants and questions: variational Bayes by "
    "statsmodels' BinomialBayesMixedGLM, with standard errors from the curvature of the joint posterior at its means. "
    "Estimates are differences in log-odds from the reference level that each label names."
)


@dataclass(frozen=True, slots=True)
class Effect:
    """A fixed effect on the logarithm of the odds, of a level of a factor against its first one."""

    factor: str
    level: str
    against: str
    value: float
    standard_error: float
    sd_library: float


@dataclass(frozen=True, slots=True)
class MixedModel:
    """A fitted model: its intercept, fixed effects, and the standard deviations of participants and questions."""

    intercept: float
    effects: tuple[Effect, ...]
    participant_sd: float
    question_sd: float


def _library() -> ModuleType:
    try:
        from statsmodels.genmod import bayes_mixed_glm  # type: ignore[import-untyped]
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error})") from None
    return bayes_mixed_glm  # type: ignore[no-any-return]


def mixed_model(answers: pd.DataFrame) -> MixedModel | None:
    """Fit the regression to the answers that `counted` returns; None if the data vary too little.

    logit P(right) = intercept + way + model + dataset + participant + question, the last two random and normal; effects
    are logarithms of odds. statsmodels' BinomialBayesMixedGLM; errors by the curvature of the joint posterior.
    Raises SettingsError where statsmodels is not installed (the extra `analysis`).
    """
    library = _library()
    answers = answers.sort_values(["worker_id", "question_id", "answer_type"])  # the fit's last digits go by the order
    factors = _factors(answers)
    people, questions = codes(answers["worker_id"]), codes(answers["question_id"])
    varies = len(answers) and answers["acc"].nunique() > 1
    if not varies or min(number_of(people), number_of(questions)) < FEWEST:
        return None
    fixed, named = _design(factors)
    random = _indicators(people, questions)
    kinds = np.repeat([0, 1], [number_of(people), number_of(questions)])
    right = answers["acc"].to_numpy(dtype="float64")
    model = library.BinomialBayesMixedGLM(right, fixed, random, kinds, vcp_p=RANDOM_SD, fe_p=FIXED_SD)
    fitted = model.fit_vb(fit_method="L-BFGS-B", minim_opts=ENDS, rng=np.random.default_rng(SEED))
    spreads = np.exp(fitted.vcp_mean)
    errors = _errors(fixed, random, spreads[kinds], fixed @ fitted.fe_mean + random @ fitted.vc_mean)
    effects = (
        Effect(*name, float(fitted.fe_mean[at]), float(errors[at]), float(fitted.fe_sd[at]))
        for at, name in enumerate(named, start=1)
    )
    return MixedModel(float(fitted.fe_mean[0]), tuple(effects), *map(float, spreads))


def _factors(answers: pd.DataFrame) -> dict[str, pd.Series]:
    """The factors by name; answering alone is one level, whatever the condition."""
    kinds = answers["answer_type"].astype(str)
    way = kinds.where(kinds != WITH_AI, WITH_AI + "." + answers["condition"].astype(str))
    return {"way": way, "model": answers["model"].astype(str), "dataset": answers["dataset"].astype(str)}


def _design(factors: Mapping[str, pd.Series]) -> tuple[Values, list[tuple[str, str, str]]]:
    """A column of ones and one for each level but the first of each factor; and factor, level, first level of each."""
    columns, named = [], []
    for factor, values in factors.items():
        first, *others = sorted(values.unique(), key=lambda level: (level != USER_ALONE, level))
        for level in others:
            columns.append((values == level).to_numpy(dtype="float64"))
            named.append((factor, level, first))
    ones = np.ones(len(next(iter(factors.values()))))
    return np.column_stack([ones, *columns]), named


def _indicators(people: Any, questions: Any) -> Any:
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    rows = np.arange(people.size)
    places = np.concatenate([people, number_of(people) + questions])
    shape = people.size, number_of(people) + number_of(questions)
    return csr_matrix((np.ones(places.size), (np.concatenate([rows, rows]), places)), shape=shape)


def _errors(fixed: Values, random: Any, spreads: Values, logit: Values) -> Values:
    weight = 1 / (2 + np.exp(logit) + np.exp(-logit))
    weighted = fixed * weight[:, None]
    own = fixed.T @ weighted + np.eye(fixed.shape[1]) / FIXED_SD**2
    cross = random.T @ weighted
    inner = (random.T @ random.multiply(weight[:, None])).toarray() + np.diag(1 / spreads**2)
    found = np.linalg.inv(own - cross.T @ np.linalg.solve(inner, cross))
    return np.asarray(np.sqrt(np.diag(found)), dtype=np.float64)


def odds(answers: pd.DataFrame) -> tuple[Finding, ...]:
    """The effects of the mixed model, in logarithms of the odds; only a note if statsmodels is not installed; empty if
    it cannot be fitted.

    `answers` are those that `counted` returns. The `odds_ratio`, `p` and the random effects' standard deviations are in
    `further`.
    """
    try:
        found = mixed_model(answers)
    except SettingsError as error:
        return (Finding("chatbench.odds", TITLE, "answers", NUMBER, (-1, 1), (), METHOD, note=f"{error}"),)
    if found is None or not found.effects:
        return ()
    estimates = tuple(_estimates(found, answers))
    most = max(1.0, *(max(abs(one.low or 0), abs(one.high or 0)) for one in estimates))
    return (Finding("chatbench.odds", TITLE, "answers", NUMBER, (-most, most), estimates, METHOD, reference=0.0),)


def _estimates(model: MixedModel, answers: pd.DataFrame) -> Iterator[Estimate]:
    people = answers["worker_id"].nunique()
    for one in model.effects:
        half = Z * one.standard_error
        way, *condition = one.level.split(".") if one.factor == "way" else (one.level,)
        name = ".".join(["chatbench.odds", one.factor, *map(slug, (way, *condition))])
        groups = {one.factor: one.level, "against": one.against}
        further = {
            "odds_ratio": exp(one.value), "standard_error": one.standard_error, "sd_library": one.sd_library,
            "p": 2 * NormalDist().cdf(-abs(one.value) / one.standard_error),
            "participant_sd": model.participant_sd, "question_sd": model.question_sd,
        }  # fmt: skip
        times = f"{further['odds_ratio']:.2f} times as large with {one.level} as with {one.against}"
        said = f"The odds of a correct answer were {times}: the log-odds differed by {{}}"
        interval = Interval(one.value, one.value - half, one.value + half)
        figure = (name, f"{one.level} against {one.against}", groups, (len(answers), people), interval)
        yield estimate(*figure, said, NUMBER, "answers", further=further)

"""What a pilot or a release says for the power of a trial: baseline, spread, intraclass correlations, drop-out.

With the residuals r of answers from the mean of their arm, the intraclass correlation of participants is

    sum over pairs of r r' of one participant and different questions / number of such pairs / mean of r^2

and that of questions the same for pairs of one question and different participants: pairwise moment estimates, with
equal weights of pairs (such estimates are compared in Biometrics 1995, 51:276). Below 0 they count as 0.

Covariates explain the share R2 of the variance of participants' mean residuals, adjusted for their number k as 1 - (1 -
R2) (G - 1)/(G - k - 1) with G participants; times that variance over mean of r^2, it is their share of the variance of
answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import pandas as pd

from app.analysis.intervals import Codes, Values, codes, number_of
from app.analysis.trial.estimator import BEFORE, CONTROL
from app.errors import TrialError

FEWEST = 10
"""The fewest participants from whom variances are estimated."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was observed; see `simulation.Assumptions`."""

    baseline: float
    sd: float
    icc_participant: float
    icc_question: float
    participants: int
    answers: int
    covariate_r2: float | None = None
    """None without covariates."""


def observe(rows: pd.DataFrame, covariates: Sequence[str] = ()) -> Observed:
    """What rows of a trial show; columns as of `estimator.difference` or `paired`, and the covariates.

    The baseline is the control's mean. Raises TrialError for too few participants, or without a control.
    """
    there = rows.dropna(subset=["value"])
    group = there["arm"] if "arm" in there else there["moment"]
    people = codes(there["participant"])
    if number_of(people) < FEWEST:
        raise TrialError(
            f"{number_of(people)} participants have a value there; variances need {FEWEST}. Give the assumptions as "
            "options: --assume baseline=..., sd, icc_participant, icc_question."
        )
    control = there["value"][group.isin([CONTROL, BEFORE])]
    if control.empty:
        raise TrialError("Nobody has a value of the control there, so there is no baseline: give --baseline.")
    means = there.groupby(group.astype(str))["value"].transform("mean")
    left = (there["value"] - means).to_numpy(float)
    variance = float(left @ left) / left.size
    if variance <= 0:
        raise TrialError("All values there are equal, so how much they vary is not known.")
    asked = codes(there["question"]) if "question" in there else None
    both = codes(people * number_of(asked) + asked) if asked is not None else None
    of_people = max(0.0, _pairs(left, people, both) / variance)
    of_questions = max(0.0, _pairs(left, asked, both) / variance) if asked is not None else 0.0
    found = Observed(float(control.mean()), sqrt(variance), of_people, of_questions, number_of(people), left.size)
    if not covariates:
        return found
    share = _explained(there.assign(left=left), covariates) / variance
    several = left.size > number_of(people)
    return replace(found, covariate_r2=min(share, of_people) if several else min(share, 1.0))


def _explained(rows: pd.DataFrame, covariates: Sequence[str]) -> float:
    """The variance of participants' mean residuals that covariates explain; raises TrialError for too few."""
    means = rows.dropna(subset=list(covariates)).groupby("participant")[["left", *covariates]].mean()
    free = len(means) - len(covariates) - 1
    if free < FEWEST:
        raise TrialError(
            f"{len(means)} participants have a value and the covariates there, too few to say what the covariates "
            "explain: give --assume covariate_r2=..."
        )
    y = (means["left"] - means["left"].mean()).to_numpy(float)
    x = (means[list(covariates)] - means[list(covariates)].mean()).to_numpy(float)
    rest = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return max(0.0, float(y @ y / (len(y) - 1) - rest @ rest / free))


def _pairs(left: Values, clusters: Codes, apart: Codes | None) -> float:
    """The mean product of pairs of a cluster, without the pairs that share `apart` too; 0 without pairs."""
    products, count = _sums(left, clusters)
    if apart is not None:
        less = _sums(left, apart)
        products, count = products - less[0], count - less[1]
    return products / count if count else 0.0


def _sums(left: Values, clusters: Codes) -> tuple[float, float]:
    """The sum of products over ordered pairs of a cluster, and how many there are."""
    sums, sizes = np.bincount(clusters, weights=left), np.bincount(clusters)
    return float(sums @ sums - left @ left), float(sizes @ sizes - left.size)

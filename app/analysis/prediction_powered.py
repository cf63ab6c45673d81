"""Prediction-powered inference: a mean from a few human labels and many labels of a model, with an interval that stays
valid however wrong the model is.

For n conversations with a human label Y and a model's label f, drawn at random, and N with a model's label alone

    estimate = mean of Y + lam * (mean of f over the N - mean of f over the n)
    lam = cov(Y, f) / ((1 + n/N) * var(f)), between 0 and 1

with the covariance over the n and the variance over all n + N (Angelopoulos, Duchi and Zrnic 2023, PPI++, arXiv
2311.01453; `ppi_mean_pointestimate` and `_calc_lam_glm` in ppi_py/ppi.py of ppi-python 0.2.3, with which a test
compares). With lam = 0 the model's labels are not used; with lam = 1 it is the estimator of Angelopoulos et al. 2023
(Science 382:669). ppi-python needs numba and scikit-learn, and takes all labels as independent.

Conversations of a participant are not independent. The variance is therefore a sum over G participants with a human
label (Liang and Zeger 1986, Biometrika 73:13; with the factor G/(G - 1)), lam held fixed:

    V = G/(G - 1) * sum over participants of (sum of (r - mean of r)/n + lam * sum of (f - mean of f)/N)^2

where r = Y - lam f, over the participant's conversations with a human label, and f is over the others. Student's t has
G - 1 degrees of freedom. Where people and the model rarely differ, few or none of the n show it, and V would be far too
small: on a scale with two ends, half a label is added for each pair of ends (Agresti and Min 2005, Statistics in
Medicine 24:729), in the interval, not in the estimate. tests/bench/prediction_powered.py measures how often intervals
hold the true mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import isfinite, sqrt

import numpy as np

from app.analysis.intervals import FEWEST, NO_SCALE, Codes, Interval, Values, codes, mean_of, number_of, student

ADDED = 0.5
"""The labels that are added for each pair of ends of the scale."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean by people and a model together, beside the means of either alone."""

    labelled: int
    """The number of conversations with a human label (n)."""
    others: int
    """The number of conversations with a model's label alone (N)."""
    participants: int
    corrected: Interval
    people: Interval
    """From the human labels alone."""
    model: Interval
    """From the model's labels alone, of all conversations. The model's own error is not in this interval."""
    weight: float
    """lam: how far the model's labels count, from 0 to 1."""
    effective: float | None
    """The number of human labels that alone would give an interval as narrow; None without an interval."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """Human labels with the model's, and the model's labels of the other conversations, each with its participant."""

    human: Values
    paired: Values
    people: Codes
    others: Values
    other_people: Codes
    scale: tuple[float, float]

    def estimate(self, weight: float) -> float:
        """The estimate with this lam."""
        shift = weight * (self.others.mean() - self.paired.mean()) if weight else 0.0
        return float(self.human.mean() + shift)

    def interval(self, weight: float) -> tuple[Interval, float]:
        """The interval with this lam, and the variance behind it."""
        low, high = self.scale
        value = min(high, max(low, self.estimate(weight)))
        labelled = number_of(codes(self.people))
        if labelled < FEWEST:
            return Interval(value, why=f"An interval needs human labels about {FEWEST} participants."), 0.0
        middle, variance = self._middle_and_variance(weight, labelled)
        if variance <= 1e-18:  # what is left of nothing by rounding
            return Interval(value, why="The labels are equal, so how much they vary is not known."), 0.0
        half = student(labelled - 1) * sqrt(variance)
        return Interval(value, max(low, middle - half), min(high, middle + half)), variance

    def _middle_and_variance(self, weight: float, labelled: int) -> tuple[float, float]:
        differences = self.human - weight * self.paired
        ends = self.scale if all(map(isfinite, self.scale)) else ()
        added = np.asarray([one - weight * other for one, other in product(ends, repeat=2)], dtype=np.float64)
        size = differences.size + ADDED * added.size
        mean = (differences.sum() + ADDED * added.sum()) / size
        count = max(number_of(self.people), number_of(self.other_people))
        sums = np.bincount(self.people, weights=(differences - mean) / size, minlength=count)
        if weight:
            rest = weight * (self.others - self.others.mean()) / self.others.size
            sums = sums + np.bincount(self.other_people, weights=rest, minlength=count)
        variance = np.sum(sums**2) + ADDED * np.sum(((added - mean) / size) ** 2)
        middle = mean + (weight * self.others.mean() if weight else 0.0)
        return float(middle), float(labelled / (labelled - 1) * variance)


def corrected_mean(
    human: Values, model: Values, participants: Codes, scale: tuple[float, float] = NO_SCALE
) -> CorrectedMean:
    """The mean of human labels over all conversations; `human` is NaN where a conversation has none.

    The conversations with a human label must be a random sample of all. Labels are numbers on `scale`: 0 and 1 for a
    share, and the share of raters where several labelled a conversation.
    """
    there = ~np.isnan(human)
    sample = _Sample(human[there], model[there], participants[there], model[~there], participants[~there], scale)
    weight = tuned_weight(sample.human, sample.paired, sample.others)
    people, alone = sample.interval(0.0)
    corrected, together = sample.interval(weight)
    return CorrectedMean(
        labelled=sample.human.size,
        others=sample.others.size,
        participants=number_of(codes(participants)),
        corrected=corrected,
        people=people,
        model=mean_of(model, participants, scale=scale),
        weight=weight,
        effective=sample.human.size * alone / together if together else None,
    )


def tuned_weight(human: Values, paired: Values, others: Values) -> float:
    """The lam of the narrowest interval; 0 where the model's labels do not help."""
    variance = float(np.var(np.concatenate([paired, others]), ddof=1)) if others.size and paired.size else 0.0
    if variance <= 0:
        return 0.0
    covariance = float(np.mean((human - human.mean()) * (paired - paired.mean())))
    return min(1.0, max(0.0, covariance / ((1 + paired.size / others.size) * variance)))

"""The mean over questions of each question's accuracy, as ChatBench's paper reports it, with its standard errors.

    p_q = the share of right ones of the n_q answers to question q,    mean = (1/Q) * sum of p_q

Questions and participants are treated as random samples: the estimated quantity is the mean over both populations. The
corrected variance is therefore the two-way cluster jackknife of this mean (intervals.py), V = V_P + V_Q - V_PQ and at
least V_Q, where V_Q is s^2(p_q)/Q. A question without remaining answers is dropped. The paper prints
sqrt((E[SE_q] + Var(p_q))/Q), with SE_q = sqrt(p_q (1 - p_q)/n_q); the law of total variance has E[SE_q^2] there, and
the observed Var(p_q) already includes the noise of p_q. The authors' code has np.std(p_q)/sqrt(Q), without Bessel's
correction. Only the corrected error accounts for participants who answer several questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from app.extensions.analysis.intervals import FEWEST, Codes, Interval, Values, codes, number_of, wilson

PRINTED = "standard_error_paper"
CODE = "standard_error_code"
TOTAL = "standard_error_total_variance"
CORRECTED = "standard_error"


@dataclass(frozen=True, slots=True)
class OverQuestions:
    """A mean over questions with its corrected interval; `further` has the standard errors and number of questions."""

    interval: Interval
    further: Mapping[str, float]


def of_people(hits: Values, people: Codes, questions: Codes) -> OverQuestions:
    """The mean over questions of zeros and ones that participants answered; at least one."""
    counts = np.bincount(questions)
    shares = np.bincount(questions, weights=hits) / counts
    mean, there, asked = float(shares.mean()), number_of(people), shares.size
    errors = published_errors(shares, counts)
    if there < FEWEST:
        return OverQuestions(Interval(mean, why=f"An interval needs {FEWEST} participants; there is {there}."), errors)
    spread = two_way(hits, people, questions)
    freedom = min(there, asked if asked > 1 else there) - 1
    return OverQuestions(wilson(mean, spread, freedom, hits.size), {**errors, CORRECTED: sqrt(spread)})


def of_models(shares: Values, counts: Values) -> OverQuestions:
    """The mean over questions of a model's accuracy, from `counts` independent answers to each question."""
    mean, asked = float(shares.mean()), shares.size
    errors = published_errors(shares, counts)
    if asked < 2:
        return OverQuestions(Interval(mean, why="An interval needs 2 questions; there is 1."), errors)
    spread = float(shares.var(ddof=1) / asked)
    interval = wilson(mean, spread, asked - 1, max(asked, int(counts.sum())))
    return OverQuestions(interval, {**errors, CORRECTED: sqrt(spread)})


def published_errors(shares: Values, counts: Values | Codes) -> dict[str, float]:
    """Standard errors that use only the questions' accuracies; none for a single question.

    Variances are divided by Q - 1, but in the authors' code by Q: numpy's `std`, also of a pandas series.
    """
    asked = shares.size
    found = {"questions": float(asked)}
    if asked < 2:
        return found
    own = shares * (1 - shares) / np.maximum(counts, 1)
    between = float(shares.var(ddof=1))
    printed, total = (sqrt((float(part.mean()) + between) / asked) for part in (np.sqrt(own), own))
    return found | {PRINTED: printed, TOTAL: total, CODE: float(shares.std()) / sqrt(asked)}


def two_way(hits: Values, people: Codes, questions: Codes) -> float:
    """The variance of the mean over questions of answers of at least two participants."""
    by_person = one_way(hits, people, questions)
    if number_of(questions) < 2:
        return by_person
    by_question = one_way(hits, questions, questions)
    both = one_way(hits, codes(people * number_of(questions) + questions), questions)
    return max(by_person + by_question - both, by_question)


def one_way(hits: Values, clusters: Codes, questions: Codes) -> float:
    """The variance of the mean over questions, by leaving out one of at least two clusters at a time."""
    asked, groups = number_of(questions), number_of(clusters)
    counts, sums = np.bincount(questions), np.bincount(questions, weights=hits)
    pairs, place = np.unique(clusters * asked + questions, return_inverse=True)
    cluster, question = np.divmod(pairs, asked)
    left = counts[question] - np.bincount(place)
    emptied = left == 0
    share = (sums[question] - np.bincount(place, weights=hits)) / np.maximum(left, 1)
    shares = sums / counts
    change = np.bincount(cluster, weights=np.where(emptied, 0.0, share) - shares[question], minlength=groups)
    remaining = asked - np.bincount(cluster, weights=emptied, minlength=groups)
    without = (shares.sum() + change) / remaining
    return float((groups - 1) / groups * np.sum((without - shares.mean()) ** 2))

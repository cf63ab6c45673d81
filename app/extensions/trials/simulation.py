"""Simulated trials of a study's design, analysed as the report analyses real ones.

An answer of participant i to question j in arm a has a latent value

    z = sqrt(r_u) u_i + sqrt(r_v) v_j + sqrt(1 - r_u - r_v) e_ij

with standard normal u, v and e.

A number is baseline + effect a + sd z; a yes or no is yes where z > Phi^-1(1 - p) for the arm's share p = baseline +
effect a (the threshold model of Dempster and Lerner 1950, Genetics 35:212). So baseline, effect and intraclass
correlations are those of the observed answers: the correlation of two yes-no answers that share a participant is
(Phi_2(c, c; r) - p^2) / (p (1 - p)) for the latent correlation r and c = Phi^-1(p), which is solved for r.

Participants arrive in a random order and are assigned in proportion to the arms' weights at each time, as Parley
assigns them. Those who drop out leave before one of their answers, each equally likely. With missing data as
`worst-case` a row is a participant's share of right answers, and 0 without any, as in the report (`TrialData.rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import exp, pi, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from app.errors import TrialError
from app.extensions.analysis.intervals import Codes, Values
from app.extensions.trials.estimator import Difference, change_of, difference_of, shown, sides
from app.extensions.trials.sequential import Monitor, monitor
from experiments.study.sections.plan import FEWEST_IN_A_GROUP, Direction, Looks, Missing

# Arms are of different participants; of different answers of each participant; or moments of the same answer.
Contrast = Literal["between", "within", "paired"]
NORMAL = NormalDist()
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
# The greatest latent correlation.
MOST = 0.99


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions about participants and questions. Raises TrialError where they are impossible."""

    baseline: float
    """The control's mean; of yes-no answers the share of yes."""
    sd: float | None = None
    """The standard deviation of all answers of an arm, if they are numbers; None if they are yes or no."""
    icc_participant: float = 0.0
    """The share of the variance of answers that is between participants."""
    icc_question: float = 0.0
    """The share that is between questions; without meaning for a single question."""
    dropout: float = 0.0
    """The share of participants who leave before their last answer."""

    def __post_init__(self) -> None:
        if self.sd is None and not 0 < self.baseline < 1:
            raise TrialError(f"The baseline of a share must be between 0 and 1, not {self.baseline:g}.")
        if self.sd is not None and not self.sd > 0:
            raise TrialError(f"The standard deviation must be more than 0, not {self.sd:g}.")
        if min(self.icc_participant, self.icc_question) < 0 or self.icc_participant + self.icc_question >= 1:
            raise TrialError("The intraclass correlations must be at least 0, and less than 1 together.")
        if not 0 <= self.dropout < 1:
            raise TrialError(f"The share of participants who drop out must be from 0 to below 1, not {self.dropout:g}.")

    @property
    def spread(self) -> float:
        return self.sd if self.sd is not None else sqrt(self.baseline * (1 - self.baseline))

    def treated(self, effect: float) -> float:
        """The treatment's mean; raises TrialError where a share would be no share."""
        mean = self.baseline + effect
        if self.sd is None and not 0 < mean < 1:
            raise TrialError(
                f"A baseline of {self.baseline:g} and an effect of {effect:g} make a share of {mean:g}. Shares are "
                "between 0 and 1: change the baseline or the effect."
            )
        return mean

    def latent(self) -> tuple[float, float]:
        if self.sd is not None:
            return self.icc_participant, self.icc_question
        found = tuple(latent_correlation(icc, self.baseline) for icc in (self.icc_participant, self.icc_question))
        if sum(found) > MOST:
            raise TrialError(
                "These intraclass correlations are too large for yes-no answers with this baseline; lower them."
            )
        return found[0], found[1]


@dataclass(frozen=True, slots=True)
class Design:
    contrast: Contrast
    direction: Direction
    alpha: float
    margin: float | None = None
    treated: float = 0.5
    """The treatment's share of the two arms."""
    compared: float = 1.0
    """The share of all participants that is in one of the two arms."""
    answers: int = 1
    """Answers of each participant; in a contrast of moments, of each moment."""
    questions: int = 1
    """Questions from which each participant gets some, with an effect each; 1 for none."""
    looks: Looks | None = None
    missing: Missing = "complete-cases"

    def people(self, participants: int) -> int:
        return round(participants * self.compared)


@dataclass(frozen=True, slots=True)
class SimulatedTrial:
    rejected: bool
    """True if the hypothesis was shown, at any look."""
    participants: int
    """The number of those compared who had begun when it stopped."""


def monitor_of(design: Design, participants: int) -> Monitor:
    """The monitor of all its trials; looks too early for a group to have enough participants come later."""
    smaller = min(design.treated, 1 - design.treated) if design.contrast == "between" else 1.0
    people, enough = design.people(participants), FEWEST_IN_A_GROUP / smaller - 1e-6
    shares = design.looks.at if design.looks is not None else (1.0,)
    at = tuple(share for share in shares if share == 1 or round(share * people) >= enough)
    return monitor(design.looks, design.alpha, sides(design.direction), at)


def simulate(
    random: np.random.Generator,
    assumptions: Assumptions,
    design: Design,
    participants: int,
    effect: float,
    monitor: Monitor,
) -> SimulatedTrial:
    """A trial of so many participants, which `monitor`, its `monitor_of`, may stop early."""
    people = design.people(participants)
    data = draw(random, assumptions, design, people, effect)
    last = SimulatedTrial(False, people)
    for look, share in enumerate(monitor.fractions):
        so_far = round(share * people)
        try:
            found = data.until(so_far).estimate(design)
        except TrialError:  # too few, or all alike: nothing can be shown yet
            continue
        if found.fewest < FEWEST_IN_A_GROUP:
            continue
        low, high = monitor.interval(found, look)
        over = shown(low, high, design.direction, design.margin)
        last = SimulatedTrial(over, so_far)
        if over:
            break
    return last


@dataclass(frozen=True, slots=True)
class SimulatedAnswers:
    """Answers in the order of arrival; of a contrast of moments, the differences."""

    value: Values
    treated: Values
    people: Codes
    questions: Codes | None
    arms: Values
    """The arm of each participant who began; without meaning for other contrasts than between."""

    def until(self, people: int) -> SimulatedAnswers:
        end = int(np.searchsorted(self.people, people))
        asked = None if self.questions is None else self.questions[:end]
        return SimulatedAnswers(self.value[:end], self.treated[:end], self.people[:end], asked, self.arms[:people])

    def estimate(self, design: Design) -> Difference:
        value, treated, person, questions = self.value, self.treated, self.people, self.questions
        if design.missing == "worst-case":
            value, treated, person, questions = *self._shares(design.contrast), None
        people = _numbered(person)
        if design.contrast == "paired":
            return change_of(value, people)
        asked = None if questions is None else _numbered(questions)
        return difference_of(value, treated, people, asked)

    def _shares(self, contrast: Contrast) -> tuple[Values, Values, Codes]:
        """The mean of each participant, 0 without an answer; of a contrast within participants, one for each arm."""
        began = self.arms.size
        if contrast == "within":
            of = 2 * self.people + self.treated.astype(np.int64)
            means = _means(self.value, of, 2 * began)
            return means, np.tile([0.0, 1.0], began), np.repeat(np.arange(began), 2)
        return _means(self.value, self.people, began), self.arms, np.arange(began)


def _means(values: Values, groups: Codes, count: int) -> Values:
    sums = np.bincount(groups, weights=values, minlength=count)
    means: Values = sums / np.maximum(1, np.bincount(groups, minlength=count))
    return means


def draw(
    random: np.random.Generator, assumptions: Assumptions, design: Design, people: int, effect: float
) -> SimulatedAnswers:
    answers = design.answers
    person = np.repeat(np.arange(people), answers)
    order = np.tile(np.arange(answers), people)
    arms = np.zeros(people)
    if design.contrast == "between":
        arms = np.diff(np.floor(np.arange(people + 1) * design.treated + random.random()))
        treated = np.repeat(arms, answers)
    else:
        treated = ((order + np.repeat(random.integers(0, 2, people), answers)) % 2).astype(float)
    asked = (np.repeat(random.integers(0, design.questions, people), answers) + order) % design.questions
    shuffled = random.permutation(design.questions)[asked]
    if assumptions.dropout:
        left = random.random(people) < assumptions.dropout
        given_answers = np.where(left, random.integers(0, answers, people), answers)
        there = order < np.repeat(given_answers, answers)
        person, treated, shuffled = person[there], treated[there], shuffled[there]
    r_u, r_v = assumptions.latent()
    r_v = r_v if design.questions > 1 else 0.0
    shared = sqrt(r_u) * random.standard_normal(people)[person]
    shared += sqrt(r_v) * random.standard_normal(design.questions)[shuffled]
    rest = sqrt(1 - r_u - r_v)

    def values(in_treatment: Values) -> Values:
        return _observed(assumptions, effect, in_treatment, shared + rest * random.standard_normal(person.size))

    if design.contrast == "paired":
        change = values(np.ones_like(treated)) - values(np.zeros_like(treated))
        return SimulatedAnswers(change, treated, person, None, arms)
    questions = shuffled if design.questions > 1 else None
    return SimulatedAnswers(values(treated), treated, person, questions, arms)


def _observed(assumptions: Assumptions, effect: float, treated: Values, latent: Values) -> Values:
    if assumptions.sd is not None:
        return assumptions.baseline + effect * treated + assumptions.sd * latent
    edges = np.where(
        treated > 0, NORMAL.inv_cdf(1 - assumptions.treated(effect)), NORMAL.inv_cdf(1 - assumptions.baseline)
    )
    return np.asarray(latent > edges, dtype=np.float64)


def _numbered(labels: Codes) -> Codes:
    """Numbers from 0 without gaps, as some participants or questions have no answers."""
    return np.asarray(np.cumsum(np.bincount(labels) > 0)[labels] - 1, dtype=np.int64)


@cache
def latent_correlation(observed: float, share: float) -> float:
    """The latent correlation with which yes-no answers of this share of yes have the observed one."""
    low, high = 0.0, MOST
    if observed >= observed_correlation(high, share):
        raise TrialError(f"An intraclass correlation of {observed:g} is too large for yes-no answers.")
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if observed_correlation(middle, share) < observed else (low, middle)
    return low


def observed_correlation(latent: float, share: float) -> float:
    """The correlation of two yes-no answers with a latent correlation: the integral of the normal density (Plackett
    1954, Biometrika 41:351), from 0 to r, over p (1 - p). With r = sin(t): Phi_2(c, c; r) - p^2 = 1/(2 pi) * integral
    of exp(-c^2 / (1 + sin t)) dt."""
    c, end = NORMAL.inv_cdf(share), np.arcsin(latent)
    inner = sum(w * exp(-(c * c) / (1 + np.sin(end / 2 * (x + 1)))) for x, w in zip(NODES, WEIGHTS, strict=True))
    return float(end / 2 * inner / (2 * pi) / (share * (1 - share)))

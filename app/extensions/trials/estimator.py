"""The difference of two arms, with an error that knows that answers of one participant are alike.

Least squares of the value on the arm, one effect of each question, and covariates. By Frisch, Waugh and Lovell (1933;
1963) the arm's coefficient is that of the arm without what questions and covariates explain of it, d~:

    b = sum(d~ y~) / sum(d~^2)        e = y~ - b d~

With one row for each participant and arms of equal size, interval and p are those of the t test. The variance is CR2,
with Satterthwaite's degrees of freedom.

Residuals are smaller than errors, the more so where few participants answer a question. CR2 (Bell and McCaffrey 2002,
Survey Methodology 28:169) takes that back. With the hat matrix H of all terms, and d~, the coefficient's variable
without what the other terms explain of it,

    V = sum over participants of (d~_g' A_g e_g)^2 / (d~'d~)^2        A_g = B_g^(-1/2)    B_g = (I - H)_gg

has no bias where answers are independent and vary equally. The degrees of freedom are those of a chi-square with its
mean and variance, for G_gh = d~_g' A_g (I - H)_gh A_h d~_h (Pustejovsky and Tipton 2018, Journal of Business and
Economic Statistics 36:672; the default of R's clubSandwich):

    df = tr(G)^2 / tr(G^2)

H is the projection onto the questions, 1 / n_q for two of the n_q answers to one, plus z z' for each orthonormal z
that is left of the other terms; d~ / |d~| is the last. So B_g is a diagonal minus outer products, in coordinates in
which the answers of a participant to a question become their sum over the root of their number, and their distances
from the mean. B_g^(-1/2) d~_g needs no matrix of a participant's answers: with J nodes t_j = (j - 1/2) pi / 2J,

    B^(-1/2) = c/J * sum over j of (c^2 sin^2 t_j + cos^2 t_j B)^-1

for c the fourth root of the smallest eigenvalue. This is the midpoint rule for 2/pi times the integral of 1 / (t^2 +
B) over t = c tan(angle); its relative error is 2 ((1 - c) / (1 + c))^2J. Each inverse is that of Sherman and
Morrison.

A difference is tested against what a plan says:

- Superiority: the null hypothesis is a difference of at most, at least or exactly `null` (0), by direction.
- Equivalence: two one-sided tests, each at alpha (TOST; Schuirmann 1987, Journal of Pharmacokinetics and
  Biopharmaceutics 15:657). It is shown where the interval of level 1 - 2 alpha lies within the margin.
- Non-inferiority: the lower of the two (Piaggio et al. 2012, JAMA 308:2594).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, log, pi, sqrt
from typing import Literal

import numpy as np
import pandas as pd

from app.errors import TrialError
from app.extensions.analysis.intervals import (
    LEVEL,
    Codes,
    Values,
    benjamini_hochberg,
    beyond,
    codes,
    holm,
    number_of,
    student_beyond,
)
from experiments.study.sections.plan import Correction, Direction

ACCURACY = 1e-13
# The smallest eigenvalue for which the quadrature is exact.
SMALLEST = 1e-6


def cluster_variance(
    d: Values, errors: Values, terms: Values, people: Codes, questions: Codes | None
) -> tuple[float, float]:
    """The variance of the coefficient of `d`, and its degrees of freedom. `d` and the orthonormal `terms` have lost
    what the questions explain, and `d` what the terms explain. Raises TrialError where there is no estimate without one
    of the participants."""
    weight = float(d @ d)
    columns = np.array([*terms, d / sqrt(weight), errors])
    columns, person, question, share = _rotated(columns, people, questions)
    sizes = np.bincount(person)
    starts = np.cumsum(sizes) - sizes
    z, errors = columns[:-1], columns[-1]
    a = _inverse_root(z, np.where(share < 1, 1 - share, 1.0), person, starts)  # z is 0 where a share is 1
    among = int(question.max()) + 1
    cells = np.bincount(person * among + question, weights=a * np.sqrt(share), minlength=starts.size * among)
    shared = np.hstack([cells.reshape(-1, among), np.add.reduceat(z * a, starts, axis=1).T])  # G = diag(own) - shared^2
    own, part = np.add.reduceat(a * a, starts), np.einsum("gk,gk->g", shared, shared)
    if np.abs(own - part - np.add.reduceat(z[-1] ** 2, starts)).max() > SMALLEST:
        raise TrialError(
            "The effect rests on one participant: without one of them it cannot be estimated, so its error is not "
            "known. More participants of both groups must answer the same questions."
        )
    products = shared.T @ shared if among < starts.size else shared @ shared.T
    squares = own @ (own - 2 * part) + np.vdot(products, products)
    scores = np.add.reduceat(a * errors, starts)
    return float(scores @ scores) / weight, float((own - part).sum() ** 2 / squares)


def _rotated(columns: Values, people: Codes, questions: Codes | None) -> tuple[Values, Codes, Codes, Values]:
    """Columns in coordinates in which the projection onto the questions is diagonal for each participant; the person
    and question of each coordinate, and that diagonal. People are in order."""
    if questions is None:
        question, share = np.zeros_like(people), np.zeros(people.size)
    else:
        asked = np.bincount(questions)
        question, share = questions, 1 / asked[questions]
        cell = people * asked.size + questions
        if np.bincount(cell).max() > 1:
            cells, at, sizes = np.unique(cell, return_inverse=True, return_counts=True)
            means = np.array([np.bincount(at, weights=column) for column in columns]) / sizes
            columns = np.hstack([means * np.sqrt(sizes), columns - means[:, at]])
            share = np.concatenate([sizes / asked[cells % asked.size], np.zeros(people.size)])
            people = np.concatenate([cells // asked.size, people])
            question = np.concatenate([cells % asked.size, questions])
    if (people[1:] >= people[:-1]).all():
        return columns, people, question, share
    order = np.argsort(people, kind="stable")
    return columns[:, order], people[order], question[order], share[order]


def _inverse_root(z: Values, left: Values, person: Codes, starts: Codes) -> Values:
    """B^(-1/2) of the last z, for each participant's B: the diagonal `left` minus all z z'."""
    taken = np.add.reduceat((z * z / left).sum(axis=0), starts)
    c = max(SMALLEST, float(left.min() * (1 - taken.max()))) ** 0.25
    nodes = ceil(log(ACCURACY) / (2 * log((1 - c) / (1 + c))))
    angles = (np.arange(nodes)[:, None] + 0.5) * pi / (2 * nodes)
    scale = np.cos(angles) ** 2
    solved = z[:, None, :] / ((c * np.sin(angles)) ** 2 + scale * left)
    for at, one in enumerate(z):
        rest = 1 - scale * np.add.reduceat(one * solved[at], starts, axis=1)
        solved[at] /= rest[:, person]
        for later in solved[at + 1 :]:
            later += solved[at] * (scale * np.add.reduceat(one * later, starts, axis=1))[:, person]
    root: Values = c / nodes * solved[-1].sum(axis=0)
    return root


TREATMENT, CONTROL = "treatment", "control"
BEFORE, AFTER = "before", "after"
# Below this share of its sum of squares, what is left of a variable is rounding.
TINY = 1e-9
# Below this share of the largest value, a standard error is rounding.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    estimate: float
    standard_error: float
    df: float
    """Degrees of freedom of Student's t."""
    n: int
    """Rows."""
    participants: Mapping[str, int]
    """Participants of each arm, or `all` of them for a difference of two moments."""
    raw: tuple[float, float] | None = None
    """The plain means of the values: treatment and control, or after and before. None if arrays were given."""

    @property
    def fewest(self) -> int:
        return min(self.participants.values())

    @property
    def p(self) -> float:
        return beyond(self.estimate / self.standard_error, self.df)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        return self.interval_of_p(1 - level)

    def interval_of_p(self, p: float) -> tuple[float, float]:
        """The interval of all differences against which the two-sided p is at least `p`."""
        half = student_beyond(self.df, p) * self.standard_error if p > 0 else inf
        return self.estimate - half, self.estimate + half


def difference(rows: pd.DataFrame, *, covariates: Sequence[str] = ()) -> Difference:
    """The difference of the arms. Columns of `rows`: `participant`, `arm` ("treatment" or "control"), `value` (a
    number), `question` if questions have effects of their own, and the covariates (numbers, or labels, of which each
    has its effect). Rows without a value or a covariate are left out. Raises TrialError where there is no estimate."""
    whole = rows.dropna(subset=["participant", "arm", "value", *covariates])
    arm = whole["arm"].astype(str).to_numpy()
    if lacking := next((one for one in (TREATMENT, CONTROL) if one not in arm), ""):
        raise TrialError(f"No participant of the arm `{lacking}` has a value, so there is no difference.")
    found = difference_of(
        whole["value"].to_numpy(float),
        (arm == TREATMENT).astype(float),
        codes(whole["participant"]),
        codes(whole["question"]) if "question" in whole else None,
        _numbers(whole, covariates),
    )
    treatment, control = (float(whole["value"][arm == one].mean()) for one in (TREATMENT, CONTROL))
    return replace(found, raw=(treatment, control))


def paired(rows: pd.DataFrame) -> Difference:
    """The change from before to after in the same participants, by the same estimator on their differences.

    Columns of `rows`: `participant`, `moment` ("before" or "after") and `value`. With a column `question`, a
    difference is that of a participant's two values for a question, otherwise that of their two means. Those with
    one moment only are left out. With one difference for each participant, it is the paired t test.
    """
    keys = ["participant", "question"] if "question" in rows else ["participant"]
    means = rows.dropna(subset=["value"]).groupby([*keys, "moment"], sort=False)["value"].mean().unstack("moment")
    both = means.reindex(columns=[BEFORE, AFTER]).dropna()
    if both.empty:
        raise TrialError(f"No {' and '.join(keys)} has a value before and one after, so there is no difference.")
    people = codes(both.index.get_level_values("participant"))
    found = change_of((both[AFTER] - both[BEFORE]).to_numpy(float), people)
    return replace(found, raw=(float(both[AFTER].mean()), float(both[BEFORE].mean())))


def difference_of(
    value: Values, treated: Values, people: Codes, questions: Codes | None = None, covariates: Values | None = None
) -> Difference:
    """`difference` from arrays of the same length: `treated` is 1 or 0, people and questions are numbers from 0, and
    covariates have a column each. Each question's means are subtracted, which is exact for one set of them. Raises
    TrialError where questions and covariates explain the arm, or too few participants are left."""
    asked = np.zeros_like(people) if questions is None else questions
    y, d, terms = _centred(value, asked), _centred(treated, asked), np.empty((0, value.size))
    if covariates is not None and covariates.shape[1]:
        terms = _basis(np.column_stack([_centred(column, asked) for column in covariates.T]))
        y, d = y - (terms @ y) @ terms, d - (terms @ d) @ terms
    if float(d @ d) <= TINY * max(float(treated @ treated), 1.0):
        raise TrialError(
            "The arms cannot be told from the questions or covariates: each has values of one arm only. Leave them "
            "out, or ask the same questions in both arms."
        )
    arms = {TREATMENT: treated, CONTROL: 1 - treated}
    counts = {one: int(np.count_nonzero(np.bincount(people, weights=there))) for one, there in arms.items()}
    return _estimated(y, d, terms, people, asked, counts, value)


def change_of(change: Values, people: Codes) -> Difference:
    """`paired` from an array of differences, after minus before."""
    counts = {"all": number_of(people)}
    return _estimated(change, np.ones_like(change), np.empty((0, change.size)), people, None, counts, change)


def upper_tail(t: float, df: float) -> float:
    both = beyond(t, df)
    return both / 2 if t > 0 else 1 - both / 2


def _estimated(
    y: Values, d: Values, terms: Values, people: Codes, questions: Codes | None,
    participants: Mapping[str, int], values: Values,
) -> Difference:  # fmt: skip
    """The coefficient of d. `y`, of `values`, and `d` have lost what questions and the orthonormal `terms` explain."""
    weight, groups = float(d @ d), number_of(people)
    coefficients = 1 + len(terms) + (number_of(questions) if questions is not None else 0)
    if groups < 3 or y.size <= coefficients:
        raise TrialError(
            f"{groups} participants with {y.size} values are too few for {coefficients} coefficients and an interval."
        )
    estimate = float(d @ y / weight)
    variance, df = cluster_variance(d, y - estimate * d, terms, people, questions)
    if (error := sqrt(variance)) <= ROUNDING * float(np.abs(values).max()):
        raise TrialError("All values of an arm are equal, so their variance is unknown and there is no interval.")
    return Difference(estimate, error, df, y.size, participants)


def _centred(values: Values, groups: Codes) -> Values:
    means: Values = np.bincount(groups, weights=values) / np.bincount(groups)
    centred: Values = values - means[groups]
    return centred


def _numbers(rows: pd.DataFrame, names: Sequence[str]) -> Values | None:
    """Covariates as columns of numbers; of labels, one column for each but the first."""
    if not names:
        return None
    parts = pd.get_dummies(rows[list(names)], drop_first=True, dtype=float)
    return np.asarray(parts, dtype=np.float64)


def _basis(columns: Values) -> Values:
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    found: Values = left[:, sizes > TINY * max(sizes[0], 1.0)].T
    return found


def p_of(difference: Difference, direction: Direction, margin: float | None = None) -> float:
    edge = (margin or 0.0) if direction in ("equivalent", "not_worse") else 0.0
    above = upper_tail((difference.estimate + edge) / difference.standard_error, difference.df)
    below = upper_tail((edge - difference.estimate) / difference.standard_error, difference.df)
    two_sided, both = min(1.0, 2 * min(above, below)), max(above, below)
    return {"different": two_sided, "less": below, "equivalent": both}.get(direction, above)


def level_of(direction: Direction, alpha: float) -> float:
    """The level of the interval that agrees with the test: 1 - alpha if it is two-sided, otherwise 1 - 2 alpha."""
    return 1 - alpha * 2 / sides(direction)


def sides(direction: Direction) -> Literal[1, 2]:
    """The sides of a direction's test; of equivalence, each of the two tests has one."""
    return 2 if direction == "different" else 1


def shown(low: float, high: float, direction: Direction, margin: float | None = None) -> bool:
    """True if an interval supports a hypothesis; the same as its test, if the interval has the test's level. It must
    lie above 0 (`greater`), below 0 (`less`), on one side of 0 (`different`), above minus the margin (`not_worse`), or
    within the margin (`equivalent`)."""
    if direction in ("equivalent", "not_worse"):
        edge = margin or 0.0
        return low > -edge and (direction == "not_worse" or high < edge)
    return (low > 0 and direction != "less") or (high < 0 and direction != "greater")


def adjusted(p_values: Sequence[float], correction: Correction) -> tuple[float, ...]:
    """The p values of a family, corrected for their number as the plan says, in the same order."""
    found = np.asarray(p_values, dtype=float)
    if correction != "none":
        found = holm(found) if correction == "holm" else benjamini_hochberg(found)
    return tuple(map(float, found))

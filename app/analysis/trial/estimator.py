"""The difference of two arms, with an error that knows that answers of one participant are alike.

Least squares of the value on the arm, one effect of each question, and covariates. By Frisch, Waugh and Lovell (1933;
1963) the arm's coefficient is that of the arm without what questions and covariates explain of it, d~:

    b = sum(d~ y~) / sum(d~^2)        e = y~ - b d~

and its variance, with a sandwich of G participants (Liang and Zeger 1986, Biometrika 73:13; CR1 of Cameron and Miller
2015, Journal of Human Resources 50:317, equation 11, as statsmodels' `cov_type="cluster"`):

    V = G/(G - 1) * (N - 1)/(N - K) * sum over participants of (sum of d~ e)^2 / (sum(d~^2))^2

for N rows and K coefficients. Student's t has G - 2 degrees of freedom: with one row for each participant and arms of
equal size, interval and p are those of the t test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
import pandas as pd

from app.analysis.intervals import LEVEL, Codes, Values, codes, number_of, student, within
from app.errors import TrialError

TREATMENT, CONTROL = "treatment", "control"
BEFORE, AFTER = "before", "after"
TINY = 1e-9
"""Below this share of its sum of squares, what is left of a variable is rounding."""
ROUNDING = 1e-12
"""Below this share of the largest value, a standard error is rounding."""


@dataclass(frozen=True, slots=True)
class Difference:
    """An estimated difference, treatment minus control or after minus before."""

    estimate: float
    standard_error: float
    df: int
    """Degrees of freedom of Student's t."""
    low: float
    high: float
    level: float
    """The confidence level of `low` and `high`."""
    p: float
    """Two-sided."""
    n: int
    """Rows."""
    participants: Mapping[str, int] = field(default_factory=dict)
    """Participants of each arm, or `all` of them for a difference of two moments; empty if arrays were given."""
    left_out: int = 0
    """Rows without a value or a covariate, which are in no other number."""

    def p_above(self, null: float = 0.0) -> float:
        """The one-sided p against "the difference is at most `null`": small where it is greater."""
        return upper_tail((self.estimate - null) / self.standard_error, self.df)

    def p_below(self, null: float = 0.0) -> float:
        """The one-sided p against "the difference is at least `null`": small where it is less."""
        return upper_tail((null - self.estimate) / self.standard_error, self.df)

    def interval(self, level: float) -> tuple[float, float]:
        """The interval of another level."""
        half = student(self.df, level) * self.standard_error
        return self.estimate - half, self.estimate + half


@dataclass(frozen=True, slots=True)
class Fit:
    """What least squares find."""

    estimate: float
    variance: float
    participants: int


def difference(rows: pd.DataFrame, *, covariates: Sequence[str] = (), level: float = LEVEL) -> Difference:
    """The difference of the arms.

    Columns of `rows`: `participant`, `arm` ("treatment" or "control"), `value` (a number), `question` if questions
    have effects of their own, and the covariates (numbers, or labels, of which each has its effect). Rows without
    a value or a covariate are left out. Raises TrialError where there is no estimate.
    """
    _expect(rows, ("participant", "arm", "value", *covariates))
    others = sorted(set(rows["arm"].dropna().astype(str)) - {TREATMENT, CONTROL})
    if others:
        raise TrialError(f'The column `arm` has {", ".join(others)}; it may have "{TREATMENT}" and "{CONTROL}".')
    whole = rows.dropna(subset=["participant", "arm", "value", *covariates])
    arm = whole["arm"].astype(str).to_numpy()
    counts = {one: int(whole["participant"][arm == one].nunique()) for one in (TREATMENT, CONTROL)}
    if not all(counts.values()):
        lacking = next(one for one, count in counts.items() if not count)
        raise TrialError(f"No participant of the arm `{lacking}` has a value, so there is no difference.")
    found = difference_of(
        whole["value"].to_numpy(float),
        (arm == TREATMENT).astype(float),
        codes(whole["participant"]),
        codes(whole["question"]) if "question" in whole else None,
        _numbers(whole, covariates),
        level=level,
    )
    return replace(found, participants=counts, left_out=len(rows) - len(whole))


def paired(rows: pd.DataFrame, *, level: float = LEVEL) -> Difference:
    """The change from before to after in the same participants, by the same estimator on their differences.

    Columns of `rows`: `participant`, `moment` ("before" or "after") and `value`. With a column `question`, a
    difference is that of a participant's two values for a question, otherwise that of their two means. Those with
    one moment only are left out. There are G - 1 degrees of freedom: with one difference for each participant, it is
    the paired t test.
    """
    _expect(rows, ("participant", "moment", "value"))
    others = sorted(set(rows["moment"].dropna().astype(str)) - {BEFORE, AFTER})
    if others:
        raise TrialError(f'The column `moment` has {", ".join(others)}; it may have "{BEFORE}" and "{AFTER}".')
    keys = ["participant", "question"] if "question" in rows else ["participant"]
    means = rows.dropna(subset=["value"]).groupby([*keys, "moment"], sort=False)["value"].mean().unstack("moment")
    both = means.reindex(columns=[BEFORE, AFTER]).dropna()
    if both.empty:
        raise TrialError(f"No {' and '.join(keys)} has a value before and one after, so there is no difference.")
    people = codes(both.index.get_level_values("participant"))
    found = change_of((both[AFTER] - both[BEFORE]).to_numpy(float), people, level=level)
    return replace(found, participants={"all": number_of(people)}, left_out=len(means) - len(both))


def difference_of(
    value: Values, treated: Values, people: Codes, questions: Codes | None = None, covariates: Values | None = None, *,
    level: float = LEVEL,
) -> Difference:  # fmt: skip
    """`difference` from arrays of the same length: `treated` is 1 or 0, people and questions are numbers from 0, and
    covariates have a column each."""
    fit = least_squares(value, treated, people, questions, covariates)
    return _of(fit, fit.participants - 2, level, value)


def change_of(change: Values, people: Codes, *, level: float = LEVEL) -> Difference:
    """`paired` from an array of differences, after minus before."""
    fit = _sandwich(change, np.ones_like(change), people, 1)
    return _of(fit, fit.participants - 1, level, change)


def least_squares(
    value: Values, treated: Values, people: Codes, questions: Codes | None = None, covariates: Values | None = None
) -> Fit:
    """The arm's coefficient and its variance, from arrays of the same length; covariates have a column each.

    Effects of questions are taken out by subtracting each question's means, which is exact for one set of them.
    Raises TrialError where questions and covariates explain the arm, or where too few participants are left.
    """
    y, d, terms = _centred(value, questions), _centred(treated, questions), 1
    terms += number_of(questions) if questions is not None else 1
    if covariates is not None and covariates.shape[1]:
        x = np.column_stack([_centred(column, questions) for column in covariates.T])
        solved, _, rank, _ = np.linalg.lstsq(x, np.column_stack([y, d]), rcond=None)
        y, d, terms = y - x @ solved[:, 0], d - x @ solved[:, 1], terms + int(rank)
    if float(d @ d) <= TINY * max(float(treated @ treated), 1.0):
        raise TrialError(
            "The arms cannot be told from the questions or covariates: each has values of one arm only. Leave them "
            "out, or ask the same questions in both arms."
        )
    return _sandwich(y, d, people, terms)


def upper_tail(t: float, df: int) -> float:
    """The probability that Student's t with `df` degrees of freedom is above `t`."""
    both = max(0.0, 1 - within(abs(t), df))
    return both / 2 if t > 0 else 1 - both / 2


def _sandwich(y: Values, d: Values, people: Codes, terms: int) -> Fit:
    """The coefficient of d with CR1's variance; y and d have lost what the other terms explain."""
    weight, groups = float(d @ d), number_of(people)
    if groups < 3 or y.size <= terms:
        raise TrialError(
            f"{groups} participants with {y.size} values are too few for {terms} coefficients and an interval."
        )
    estimate = float(d @ y / weight)
    scores = np.bincount(people, weights=d * (y - estimate * d))
    small = groups / (groups - 1) * (y.size - 1) / (y.size - terms)
    return Fit(estimate, small * float(scores @ scores) / weight**2, groups)


def _centred(values: Values, groups: Codes | None) -> Values:
    """Values minus the mean of their group, or of all."""
    if groups is None:
        return values - float(values.mean())
    means: Values = np.bincount(groups, weights=values) / np.bincount(groups)
    centred: Values = values - means[groups]
    return centred


def _numbers(rows: pd.DataFrame, names: Sequence[str]) -> Values | None:
    """Covariates as columns of numbers; of labels, one column for each but the first."""
    if not names:
        return None
    parts = pd.get_dummies(rows[list(names)], drop_first=True, dtype=float)
    return np.asarray(parts, dtype=np.float64)


def _of(fit: Fit, df: int, level: float, values: Values) -> Difference:
    error = sqrt(fit.variance)
    if error <= ROUNDING * float(np.abs(values).max()):
        raise TrialError("All values of an arm are equal, so how much they vary is not known and there is no interval.")
    half = student(df, level) * error
    p = 2 * upper_tail(abs(fit.estimate) / error, df)
    return Difference(fit.estimate, error, df, fit.estimate - half, fit.estimate + half, level, p, values.size)


def _expect(rows: pd.DataFrame, names: Sequence[str]) -> None:
    lacking = [name for name in names if name not in rows]
    if lacking:
        raise TrialError(f"The table has no column {', '.join(lacking)}; it has {', '.join(map(str, rows))}.")

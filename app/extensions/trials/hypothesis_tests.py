"""Tests of a difference against what a plan says: superiority, equivalence, non-inferiority; and corrections.

- Superiority: the null hypothesis is a difference of at most, at least or exactly `null` (0), by direction.
- Equivalence: two one-sided tests, each at alpha (TOST; Schuirmann 1987, Journal of Pharmacokinetics and
  Biopharmaceutics 15:657). It is shown where the interval of level 1 - 2 alpha lies within the margin.
- Non-inferiority: the lower of the two (Piaggio et al. 2012, JAMA 308:2594).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.errors import TrialError
from app.extensions.analysis.p_values import benjamini_hochberg, holm
from app.extensions.trials.estimator import Difference
from experiments.study.sections.plan import Correction, Direction


@dataclass(frozen=True, slots=True)
class HypothesisTest:
    p: float
    alpha: float
    low: float
    high: float
    level: float
    """The level of the interval that agrees with the test: 1 - alpha if it is two-sided, otherwise 1 - 2 alpha."""


def evaluate(
    found: Difference, direction: Direction, alpha: float = 0.05, margin: float | None = None
) -> HypothesisTest:
    if direction == "equivalent":
        return equivalence(found, margin or 0.0, alpha)
    if direction == "not_worse":
        return non_inferiority(found, margin or 0.0, alpha)
    return superiority(found, direction, alpha)


def sides(direction: Direction) -> Literal[1, 2]:
    """How many sides a direction's test has; of equivalence, each of the two tests has one."""
    return 2 if direction == "different" else 1


def shown(low: float, high: float, direction: Direction, margin: float | None = None) -> bool:
    """Whether an interval shows what a hypothesis claims; the same as its test, if the interval has the test's level.

    It must lie above 0 (`greater`), below 0 (`less`), on one side of 0 (`different`), above minus the margin
    (`not_worse`), or within the margin (`equivalent`).
    """
    if direction in ("equivalent", "not_worse"):
        edge = margin or 0.0
        return low > -edge and (direction == "not_worse" or high < edge)
    return (low > 0 and direction != "less") or (high < 0 and direction != "greater")


def superiority(
    found: Difference, direction: Direction = "different", alpha: float = 0.05, null: float = 0.0
) -> HypothesisTest:
    above, below = found.p_above(null), found.p_below(null)
    if direction == "different":
        return _result(found, min(1.0, 2 * min(above, below)), alpha, 1 - alpha)
    return _result(found, above if direction == "greater" else below, alpha, 1 - 2 * alpha)


def non_inferiority(found: Difference, margin: float, alpha: float = 0.05) -> HypothesisTest:
    """Whether the difference is above minus the margin; greater values are better."""
    _positive(margin, "The margin")
    return _result(found, found.p_above(-margin), alpha, 1 - 2 * alpha)


def equivalence(found: Difference, margin: float, alpha: float = 0.05) -> HypothesisTest:
    _positive(margin, "The margin")
    return _result(found, max(found.p_above(-margin), found.p_below(margin)), alpha, 1 - 2 * alpha)


def adjusted(p_values: Sequence[float], correction: Correction) -> tuple[float, ...]:
    """The p values of a family, corrected for their number as the plan says, in the same order."""
    found = np.asarray(p_values, dtype=float)
    if correction != "none":
        found = holm(found) if correction == "holm" else benjamini_hochberg(found)
    return tuple(map(float, found))


def _result(found: Difference, p: float, alpha: float, level: float) -> HypothesisTest:
    return HypothesisTest(p, alpha, *found.interval(level), level)


def _positive(value: float, what: str) -> None:
    if not value > 0:
        raise TrialError(f"{what} must be more than 0, not {value:g}.")

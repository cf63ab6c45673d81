"""Tests of a difference against what a plan says: superiority, equivalence, non-inferiority; and corrections.

- Superiority: the null hypothesis is a difference of at most, at least or exactly `null` (0), by direction.
- Smallest effect of interest: superiority with that effect as `null` (the minimum-effect test of Murphy and Myors
  1999, Journal of Applied Psychology 84:234).
- Equivalence: two one-sided tests, each at alpha (TOST; Schuirmann 1987, Journal of Pharmacokinetics and
  Biopharmaceutics 15:657). It is shown where the interval of level 1 - 2 alpha lies within the margin.
- Non-inferiority: the lower of the two (Piaggio et al. 2012, JAMA 308:2594).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.analysis.trial.estimator import Difference
from app.errors import TrialError
from experiments.study.sections.plan import Correction, Direction


@dataclass(frozen=True, slots=True)
class TestResult:
    """A test of a difference."""

    __test__ = False

    p: float
    alpha: float
    low: float
    high: float
    level: float
    """The level of the interval that agrees with the test: 1 - alpha if it is two-sided, otherwise 1 - 2 alpha."""

    @property
    def rejected(self) -> bool:
        """Whether the null hypothesis is rejected, without a correction for other hypotheses."""
        return self.p <= self.alpha


def evaluate(found: Difference, direction: Direction, alpha: float = 0.05, margin: float | None = None) -> TestResult:
    """The test that a plan's hypothesis asks for, by its direction."""
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
) -> TestResult:
    """Whether the difference is greater than, less than or different from `null`."""
    above, below = found.p_above(null), found.p_below(null)
    if direction == "different":
        return _result(found, min(1.0, 2 * min(above, below)), alpha, 1 - alpha)
    return _result(found, above if direction == "greater" else below, alpha, 1 - 2 * alpha)


def smallest_effect(found: Difference, effect: float, direction: Direction, alpha: float = 0.05) -> TestResult:
    """Whether the difference is greater than the smallest effect of interest, less than minus it, or either."""
    _positive(effect, "The smallest effect of interest")
    if direction == "different":
        both = 2 * min(found.p_above(effect), found.p_below(-effect))
        return _result(found, min(1.0, both), alpha, 1 - alpha)
    return superiority(found, direction, alpha, effect if direction == "greater" else -effect)


def non_inferiority(found: Difference, margin: float, alpha: float = 0.05) -> TestResult:
    """Whether the difference is above minus the margin; greater values are better."""
    _positive(margin, "The margin")
    return _result(found, found.p_above(-margin), alpha, 1 - 2 * alpha)


def equivalence(found: Difference, margin: float, alpha: float = 0.05) -> TestResult:
    """Whether the difference lies within minus and plus the margin."""
    _positive(margin, "The margin")
    return _result(found, max(found.p_above(-margin), found.p_below(margin)), alpha, 1 - 2 * alpha)


def adjusted(p_values: Sequence[float], correction: Correction) -> tuple[float, ...]:
    """The p values of a family, corrected for their number as the plan says, in the same order."""
    if correction == "none":
        return tuple(map(float, p_values))
    return holm(p_values) if correction == "holm" else benjamini_hochberg(p_values)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p values, in the same order; controls the family-wise error (Holm 1979, Scand. J. Stat. 6:65)."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _in_order(np.minimum(steps, 1.0), order)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p values, in the same order; controls the false discovery rate (1995, JRSS B 57:289)."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * p.size / np.arange(1, p.size + 1)
    return _in_order(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def _in_order(steps: npt.NDArray[np.float64], order: npt.NDArray[np.int64]) -> tuple[float, ...]:
    back = np.empty_like(steps)
    back[order] = steps
    return tuple(map(float, back))


def _result(found: Difference, p: float, alpha: float, level: float) -> TestResult:
    return TestResult(p, alpha, *found.interval(level), level)


def _positive(value: float, what: str) -> None:
    if not value > 0:
        raise TrialError(f"{what} must be more than 0, not {value:g}.")

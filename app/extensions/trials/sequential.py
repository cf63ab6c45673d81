"""Looks at results before the end: group-sequential boundaries and always-valid confidence sequences.

A boundary spends alpha over the looks (Lan and DeMets 1983, Biometrika 70:659). Statistics of the looks are those of
Brownian motion at the information fractions t_1 < ... < t_K = 1; the probability to cross at each look follows by
recursive integration (Armitage, McPherson and Rowe 1969, JRSS A 132:235; Jennison and Turnbull 2000, Group Sequential
Methods, chapter 19), here with Gauss-Legendre quadrature.

In small samples, a look compares p of Student's t with the boundary's nominal p (Jennison and Turnbull, section 3.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import e, erfc, inf, log, pi, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from app.errors import TrialError
from app.extensions.analysis.intervals import Values
from app.extensions.trials.estimator import Difference
from experiments.study.sections.plan import Looks

Spending = Literal["obrien-fleming", "pocock"]
Sides = Literal[1, 2]
NORMAL = NormalDist()
NODES, WEIGHTS = np.polynomial.legendre.leggauss(160)
# Beyond so many standard deviations is nothing that double precision sees.
FAR = 8.0
# The largest share of a look's information that the look before it is taken to have. The quadrature's nodes resolve the
# motion between looks that are so far apart; those that are nearer get stricter boundaries than they need.
NEAREST = 0.995
# The upper tail of the normal distribution.
_tail = np.vectorize(lambda z: 0.5 * erfc(z / sqrt(2)), otypes=[float])


@dataclass(frozen=True, slots=True)
class Boundaries:
    sides: Sides
    critical: tuple[float, ...]
    """Each look's z: cross at |Z| >= z, or Z >= z if there is one side. Infinite where nothing can be spent yet."""
    nominal: tuple[float, ...]
    """Each look's p: cross where p, with as many sides, is at most this."""


def boundaries(
    fractions: Sequence[float], alpha: float = 0.05, spending: Spending = "obrien-fleming", sides: Sides = 2
) -> Boundaries:
    """The boundaries at information fractions that rise from above 0 to 1."""
    apart = _apart(fractions)
    spent = tuple(spend(t, alpha, spending, sides) for t in apart)
    critical: list[float] = []
    state = _Continuation()
    for t, before, now in zip(apart, (0.0, *spent), spent, strict=False):
        z = _solve(state, t, (now - before) / sides, sides)
        critical.append(z)
        state = state.after(t, z, sides)
    nominal = tuple(0.0 if z == inf else sides * float(_tail(z)) for z in critical)
    return Boundaries(sides, tuple(critical), nominal)


def spend(t: float, alpha: float, spending: Spending, sides: Sides = 2) -> float:
    """Alpha that is spent at the information fraction t (Lan and DeMets 1983, their alpha*_1 and alpha*_2). Of each
    side's a = alpha / sides, like O'Brien and Fleming: 2 - 2 Phi(z_{a/2} / sqrt(t)); like Pocock: a log(1 + (e - 1)
    t)."""
    if t >= 1:
        return alpha
    side = alpha / sides
    if spending == "pocock":
        return sides * side * log(1 + (e - 1) * t)
    return sides * 2 * float(_tail(NORMAL.inv_cdf(1 - side / 2) / sqrt(t)))


def sequence_width(fraction: float, alpha: float = 0.05) -> float:
    """Half of a confidence sequence's width in standard errors, at a share of the planned participants.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024, Annals of Statistics
    52:2613, theorem 2.2; arXiv 2103.06476), Robbins's normal mixture (1970, Annals of Mathematical Statistics 41:1397;
    Howard et al. 2021, Annals of Statistics 49:1055, equation 14), for the t participants so far:

        estimate ± SE sqrt(2 (t r^2 + 1) / (t r^2) * log(sqrt(t r^2 + 1) / alpha))

    with r such that it is narrowest at the planned participants (the same paper, appendix B.2):
    r^2 = (-2 log alpha + log(-2 log alpha + 1)) / planned.
    """
    if not fraction > 0:
        raise TrialError("A confidence sequence begins with the first participants; there are none yet.")
    m = fraction * (-2 * log(alpha) + log(-2 * log(alpha) + 1))
    return sqrt(2 * (m + 1) / m * log(sqrt(m + 1) / alpha))


@dataclass(frozen=True, slots=True)
class Monitor:
    """The decision rule at planned looks: an interval that stays valid over all of them."""

    fractions: tuple[float, ...]
    alpha: float
    bounds: Boundaries | None
    """None for confidence sequences, which have two sides of alpha together."""

    def interval(self, difference: Difference, look: int) -> tuple[float, float]:
        """The interval at a look (from 0), for `estimator.shown`, valid whether or not the trial stops there.

        With boundaries, estimate plus and minus the boundary times the error (repeated confidence intervals: Jennison
        and Turnbull 1989, JRSS B 51:305), of level 1 - alpha, or 1 - 2 alpha of one-sided boundaries, over all looks
        together. Both kinds have Student's quantile of the same p in place of the normal one.
        """
        if self.bounds is not None:
            return difference.interval_of_p(self.bounds.nominal[look] * 2 / self.bounds.sides)
        return difference.interval_of_p(2 * float(_tail(sequence_width(self.fractions[look], self.alpha))))


def monitor(looks: Looks | None, alpha: float, sides: Sides = 2, at: tuple[float, ...] = (1.0,)) -> Monitor:
    """The monitor of looks at information fractions, the last of which is 1; by the spending of a plan's looks."""
    spending = looks.spending if looks is not None else "obrien-fleming"
    return Monitor(at, alpha, None if spending == "always-valid" else boundaries(at, alpha, spending, sides))


@dataclass(frozen=True, slots=True)
class _Continuation:
    """The density of B(t) = Z sqrt(t) of the trials that go on, at quadrature nodes; at first all are at 0."""

    t: float = 0.0
    nodes: Values = field(default_factory=lambda: np.zeros(1))
    masses: Values = field(default_factory=lambda: np.ones(1))
    """Density times the quadrature's weight."""

    def upper(self, t: float, z: float) -> float:
        """The probability to go on until t and be at or above z there."""
        return float(self.masses @ _tail((z * sqrt(t) - self.nodes) / sqrt(t - self.t)))

    def after(self, t: float, z: float, sides: Sides) -> _Continuation:
        """The trials that go on past a look at t: Z < z, and with two sides also Z > -z."""
        far = FAR * sqrt(t)
        high = min(z * sqrt(t), far)
        low = max(-z * sqrt(t), -far) if sides == 2 else -far
        nodes = (high - low) / 2 * NODES + (high + low) / 2
        step = t - self.t
        moved = nodes[:, None] - self.nodes[None, :]
        kernel = np.exp(-(moved**2) / (2 * step)) / sqrt(2 * pi * step)
        return _Continuation(t, nodes, (high - low) / 2 * WEIGHTS * (kernel @ self.masses))


def _solve(state: _Continuation, t: float, wanted: float, sides: Sides) -> float:
    if wanted <= 1e-15:
        return inf
    low, high = -FAR if sides == 1 else 0.0, FAR
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if state.upper(t, middle) > wanted else (low, middle)
    return (low + high) / 2


def _apart(fractions: Sequence[float]) -> tuple[float, ...]:
    """Fractions that rise, each at most NEAREST of the next: where two are nearer, the earlier one is moved."""
    found = [*fractions]
    for at in range(len(found) - 2, -1, -1):
        found[at] = min(found[at], NEAREST * found[at + 1])
    return tuple(found)

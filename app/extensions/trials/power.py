"""Power by simulation: the share of simulated trials that show a hypothesis, for a grid of sizes and effects.

Each point of the grid draws from a seed of its own, which follows from the seed of the run and what is simulated. So
the numbers do not depend on the number of workers or on the rest of the grid.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import ceil, sqrt
from multiprocessing import get_context
from statistics import NormalDist

import numpy as np

from app.errors import TrialError
from app.extensions.analysis.intervals import wilson
from app.extensions.trials.estimator import sides
from app.extensions.trials.simulation import Assumptions, Design, monitor_of, simulate

NORMAL = NormalDist()
# The default grid of sizes, in parts of what a normal approximation says for 80 %.
AROUND = (0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
FEWEST = 8


@dataclass(frozen=True, slots=True)
class GridPoint:
    design: Design
    assumed: Assumptions
    participants: int
    """Participants who begin, in all groups of the study."""
    effect: float
    runs: int
    seed: int

    @property
    def key(self) -> str:
        """A digest of all of it, for the seed."""
        data = asdict(self)
        data["design"]["looks"] = self.design.looks and self.design.looks.model_dump(mode="json")
        return sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class PowerPoint:
    participants: int
    effect: float
    runs: int
    shown: int
    """Simulated trials that showed the hypothesis."""
    mean_participants: float
    """The mean number of participants who had begun when the trial stopped, in all groups."""

    @property
    def power(self) -> float:
        return self.shown / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        found = wilson(self.power, self.power * (1 - self.power) / self.runs, self.runs - 1, self.runs)
        return (found.low or 0.0), (1.0 if found.high is None else found.high)


def run_point(point: GridPoint) -> PowerPoint:
    random = np.random.default_rng(np.random.SeedSequence(point.seed, spawn_key=(int(point.key, 16),)))
    judge = monitor_of(point.design, point.participants)
    ends = [
        simulate(random, point.assumed, point.design, point.participants, point.effect, judge)
        for _ in range(point.runs)
    ]
    mean = float(np.mean([end.participants for end in ends])) / point.design.compared
    return PowerPoint(point.participants, point.effect, point.runs, sum(end.rejected for end in ends), mean)


def run_grid(
    points: Sequence[GridPoint], *, workers: int = 1, progress: Callable[[PowerPoint], object] = lambda _: None
) -> tuple[PowerPoint, ...]:
    for point in points:
        point.assumed.treated(point.effect)
    found = {}
    for point, result in _results(list(dict.fromkeys(points)), workers):
        found[point] = result
        progress(result)
    return tuple(found[point] for point in points)


def _results(points: Sequence[GridPoint], workers: int) -> Iterator[tuple[GridPoint, PowerPoint]]:
    if workers == 1 or len(points) < 2:
        yield from map(_with_result, points)
        return
    with get_context("spawn").Pool(workers, _ignore_interrupt) as pool:  # which is terminated at the end, or by Ctrl-C
        yield from pool.imap_unordered(_with_result, points)


def _with_result(point: GridPoint) -> tuple[GridPoint, PowerPoint]:
    return point, run_point(point)


def _ignore_interrupt() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def null_effect(design: Design) -> float:
    """The effect at the edge of the null hypothesis, at which the type I error is greatest."""
    edge = design.margin or 0.0
    return {"equivalent": edge, "not_worse": -edge}.get(design.direction, 0.0)


def approximate_participants(design: Design, assumptions: Assumptions, effect: float, power: float = 0.8) -> int:
    """About how many participants the power needs, by the normal approximation; the grid is laid around it. With the
    variance V of one participant's contribution, n = V (z_alpha + z_power)^2 / distance^2."""
    r_u, r_v, m = assumptions.icc_participant, assumptions.icc_question, design.answers
    rest = 1 - r_u - r_v
    p = design.treated
    each = {"between": (r_u + rest / m) / (p * (1 - p)), "within": 4 * rest / m, "paired": 2 * rest / m}[
        design.contrast
    ]
    edge = design.margin or 0.0
    distance = {"equivalent": edge - abs(effect), "not_worse": edge + effect}.get(design.direction, abs(effect))
    if design.missing == "worst-case":  # the effect of those who leave before their first answer is 0
        distance *= 1 - assumptions.dropout / m
    if distance <= 0:
        raise TrialError("An effect at the edge of the null hypothesis has no power, whatever the number.")
    beyond = 1 - (1 - power) / 2 if design.direction == "equivalent" else power
    z = NORMAL.inv_cdf(1 - design.alpha / sides(design.direction)) + NORMAL.inv_cdf(beyond)
    needed = each * (z * assumptions.spread / distance) ** 2
    return max(FEWEST, ceil(needed / design.compared / (1 - assumptions.dropout)))


def sizes_around(participants: int) -> tuple[int, ...]:
    step = 10 ** max(0, len(str(participants)) - 2)
    return tuple(sorted({max(FEWEST, round(share * participants / step) * step) for share in AROUND}))


@dataclass(frozen=True, slots=True)
class ParticipantsNeeded:
    participants: int | None
    at_most: bool = False
    """True if the number is the smallest that was simulated, so that fewer may be enough."""


def participants_for(points: Sequence[PowerPoint], power: float) -> ParticipantsNeeded:
    """The number of participants for a power, between the points of one effect. Interpolated between the first point
    that reaches the power and the one before it: the normal quantile of power is about a straight line over the root of
    the number. If the smallest point reaches it, that is a bound."""
    before: PowerPoint | None = None
    for point in sorted(points, key=lambda one: one.participants):
        if point.power >= power:
            if before is None:
                return ParticipantsNeeded(point.participants, at_most=True)
            ends = [_quantile(before), _quantile(point)]
            share = (NORMAL.inv_cdf(power) - ends[0]) / (ends[1] - ends[0])
            roots = sqrt(before.participants), sqrt(point.participants)
            return ParticipantsNeeded(ceil((roots[0] + share * (roots[1] - roots[0])) ** 2))
        before = point
    return ParticipantsNeeded(None)


def _quantile(point: PowerPoint) -> float:
    """The normal quantile of a power, which is kept off 0 and 1 by half a run."""
    least = 0.5 / point.runs
    return NORMAL.inv_cdf(min(max(point.power, least), 1 - least))

"""Every measure of every group of raters, with its interval and its permutation test.

A group is compared with all other raters with a known profile on that axis. The interval is a percentile bootstrap over
conversations, with the same samples for all groups. An axis's DSI (GRASP's diversity sensitivity index) is the largest
GAI of its groups. p-values are adjusted over all tests of a measure: over all groups of all axes, or all axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.analysis.dices.agreement import SAMPLES, SEED, sampled
from app.analysis.dices.cohesion import MEASURES, measured
from app.analysis.dices.coincidence_matrix import Sums
from app.analysis.dices.permutation import adjusted, p_value
from app.analysis.dices.rater_pool import Axis, Codes, RaterPool
from app.analysis.intervals import Interval

PERMUTATIONS = 1000
DSI = "dsi"
AT_ONCE = 25_000
"""The number of counts (groups, permutations, conversations) processed at once, so that they fit the CPU cache."""
FEW = "Too few bootstrap samples have a value for an interval."


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """A measure of a group, or the DSI of an axis (no group); p is NaN if there is none."""

    measure: str
    axis: str
    group: tuple[str, ...]
    found: Interval
    p: float
    p_adjusted: float = float("nan")


def family(
    pool: RaterPool, axes: Sequence[Axis], permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[MeasureResult, ...]:
    """Measure and test all groups of the axes that are large enough; with 0 permutations there is no p."""
    if not pool.marks.size:
        return ()
    dealt = _dealt(pool, permutations, seed)
    samples = _samples(pool, seed)
    found = [outcome for axis in axes for outcome in _of_axis(pool, axis, dealt, samples)]
    return tuple(_adjusted([outcome for outcome in found if not np.isnan(outcome.found.value)]))


def sides(pool: RaterPool, axis: Axis, dealt: Codes) -> tuple[Sums, Sums]:
    """The counts (values, groups, permutations, conversations) of each large group and of all others.

    `dealt` (permutations, raters) has the number of the rater whose profile each rater gets.
    """
    counts = pool.counts(axis.members()[:, dealt].reshape(-1, dealt.shape[1]))
    each = counts.reshape(len(counts), len(axis.groups), len(dealt), pool.marks.shape[-1])
    large = each[:, axis.large()]
    return large, each.sum(axis=1, keepdims=True) - large


def own(pool: RaterPool) -> Codes:
    """The identity permutation: each rater keeps their own profile."""
    return np.arange(len(pool.profiles))[None]


def _dealt(pool: RaterPool, permutations: int, seed: int) -> Codes:
    return np.random.default_rng(seed).permuted(np.tile(own(pool), (permutations, 1)), axis=1)


def _samples(pool: RaterPool, seed: int) -> Sums:
    """How often each sample has each conversation (conversations, 1 + samples); the first has each once."""
    size = pool.marks.shape[-1]
    drawn = np.random.default_rng(seed).multinomial(size, np.full(size, 1 / size), size=SAMPLES)
    return np.vstack([np.ones(size), drawn]).T


def _of_axis(pool: RaterPool, axis: Axis, dealt: Codes, samples: Sums) -> Iterator[MeasureResult]:
    large = axis.large()
    if not large.size:
        return
    drawn, chance = _drawn(pool, axis, samples), _permuted(pool, axis, dealt)
    for measure, by_sample, by_deal in zip(MEASURES, drawn, chance, strict=True):
        for number, values, permuted in zip(large, by_sample, by_deal, strict=True):
            yield _outcome(measure, axis, axis.groups[number], values, permuted)
    gai = MEASURES.index("gai")
    yield _outcome(DSI, axis, (), _largest(drawn[gai]), _largest(chance[gai]))


def _drawn(pool: RaterPool, axis: Axis, samples: Sums) -> Sums:
    """Each measure of each large group in each sample of conversations (measures, groups, samples)."""
    groups, others = (side[:, :, 0] for side in sides(pool, axis, own(pool)))
    each = [measured(groups[:, n], others[:, n], lambda told: told @ samples) for n in range(groups.shape[1])]
    return np.stack([[one[name] for one in each] for name in MEASURES])


def _permuted(pool: RaterPool, axis: Axis, dealt: Codes) -> Sums:
    """Each measure of each large group in each permutation of profiles (measures, groups, permutations)."""
    found = np.empty((len(MEASURES), axis.large().size, len(dealt)))
    step = max(1, AT_ONCE // (len(axis.groups) * pool.marks.shape[-1]))
    for start in range(0, len(dealt), step):
        some = measured(*sides(pool, axis, dealt[start : start + step]), lambda told: told.sum(axis=-1))
        found[:, :, start : start + step] = [some[name] for name in MEASURES]
    return found


def _outcome(measure: str, axis: Axis, group: tuple[str, ...], values: Sums, permuted: Sums) -> MeasureResult:
    """The result from the observed value, the bootstrap samples and the permutations."""
    observed = float(values[0])
    return MeasureResult(measure, axis.name, group, sampled(observed, values[1:], FEW), p_value(observed, permuted))


def _largest(values: Sums) -> Sums:
    """The largest value over groups; NaN if none has a value."""
    most = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    return np.where(np.isinf(most), np.nan, most)


def _adjusted(outcomes: Sequence[MeasureResult]) -> Iterator[MeasureResult]:
    for measure in (*MEASURES, DSI):
        same = [outcome for outcome in outcomes if outcome.measure == measure]
        for outcome, p in zip(same, adjusted(np.asarray([outcome.p for outcome in same])), strict=True):
            yield replace(outcome, p_adjusted=float(p))

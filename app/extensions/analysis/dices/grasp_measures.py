"""Every measure of every group of raters, with its interval and its permutation test.

A group is compared with all other raters with a known profile on that axis. An axis's DSI (GRASP's diversity
sensitivity index) is the largest GAI of its groups. p-values are adjusted over all tests of a measure: over all groups
of all axes, or all axes. Intervals count raters and conversations:

- IRR, plurality size, negentropy and XRR by the jackknife over the group's raters, the other raters (XRR) and
  conversations (jackknife.py).
- Voting agreement likewise over conversations. A conversation's most common answer may change with one rater, so that
  the jackknife over raters fails; their variance is that of the permutations.
- GAI and DSI by the permutations, so that the interval holds 1 where the test finds nothing. Measured
  in docs/decisions/0013-intervals-of-agreement.md.

The permutation tests ask: does a group's measure differ from its value if profiles had no effect?

The profiles of all raters are permuted N times (whole profiles, so that intersections are preserved), and each measure
of each group is computed again: the values of random groups of the same size. With b of the N at least as high as the
observed one, or at least as low if these are fewer (ties count, to 1e-9),

    p = 2 (b + 1) / (N + 1), at most 1

because the observed assignment is one of the permutations (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39).
GRASP's own p is one-sided, on the observed side of the median: half of this. Undefined permuted values are left out of
N; if fewer than half are defined, there is no p. `adjusted` is Benjamini and Hochberg's (1995, JRSS B 57:289) over a
family of tests.

`interval` has the values of a ratio that the test does not reject, if the ratio of a group is that of a random group
shifted on a scale that is linear up to 1 and logarithmic above (a ratio varies more where it is larger, and may be
below 0). It holds 1 exactly if p is not below 0.05: in 95 % of cases in which groups are random, whatever their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log

import numpy as np

from app.extensions.analysis.dices.agreement import Marks
from app.extensions.analysis.dices.cohesion import IN_GROUP, MEASURES, measured
from app.extensions.analysis.dices.coincidence_matrix import Sums
from app.extensions.analysis.dices.jackknife import AT_MOST_1, jackknife, leave_each_out, without_each_rater
from app.extensions.analysis.dices.rater_pool import Axis, Codes, RaterPool
from app.extensions.analysis.intervals import SEED, Interval
from app.extensions.analysis.p_values import benjamini_hochberg

TIE = 1e-9
FEWEST_DEFINED = 0.5
"""The share of permuted values that must be defined."""
FEW = "Too few permutations have a value for an interval."


def p_value(observed: float, permuted: Sums) -> float:
    """The two-sided permutation p, from above 0 to 1; NaN if it is undefined. Phipson and Smyth 2010."""
    known = _defined_values(observed, permuted)
    beyond = min(_above(observed, known), _above(-observed, -known))
    return float(min(1.0, 2 * (beyond + 1) / (known.size + 1))) if known.size else float("nan")


def p_above(observed: float, permuted: Sums) -> float:
    """The permutation p of a value that is large by chance alone, such as a maximum: (b + 1)/(N + 1), one-sided."""
    known = _defined_values(observed, permuted)
    return (_above(observed, known) + 1) / (known.size + 1) if known.size else float("nan")


def interval(observed: float, permuted: Sums) -> Interval:
    """The 95 % interval of a ratio that is 1 in random groups: it holds 1 where `p_value` is not below 0.05."""
    known = np.sort(_defined_values(observed, permuted))
    beyond = known.size // 40  # so many of N may be beyond the observed value where p < 0.05
    if not beyond:
        return Interval(observed, why=FEW)
    low, high = _shifted(observed, known[-beyond] + TIE), _shifted(observed, known[beyond - 1] - TIE)
    return Interval(observed, low, high)


def interval_of_largest(observed: float, permuted: Sums, high: float | None) -> Interval:
    """The 95 % interval of the largest of several ratios, up to `high`, the largest upper end of theirs.

    It holds 1 where `p_above` is not below 0.05; all of its error is at the lower end, as chance alone makes the
    largest of several ratios larger than 1.
    """
    known = np.sort(_defined_values(observed, permuted))
    beyond = known.size // 20
    if not beyond or high is None:
        return Interval(observed, why=FEW)
    return Interval(observed, min(observed, _shifted(observed, known[-beyond] + TIE)), max(observed, high))


def _defined_values(observed: float, permuted: Sums) -> Sums:
    """The permuted values that are defined; none if they, or the observed value, cannot be tested."""
    known = permuted[~np.isnan(permuted)]
    return known[:0] if np.isnan(observed) or known.size < FEWEST_DEFINED * permuted.size else known


def _above(observed: float, known: Sums) -> int:
    return int((known >= observed - TIE).sum())


def _shifted(observed: float, random: float) -> float:
    """The ratio from which a random group's ratio would be shifted to the observed one."""
    place = _scale(observed) + 1 - _scale(random)
    return float(np.exp(place - 1)) if place > 1 else place


def _scale(ratio: float) -> float:
    """Linear up to 1, logarithmic above, with a slope of 1 on both sides of 1."""
    return 1 + float(np.log(ratio)) if ratio > 1 else float(ratio)


PERMUTATIONS = 1000
DSI = "dsi"
VOTING = "voting_agreement"
SCALES: Mapping[str, tuple[float, float]] = {"plurality": (0.0, 1.0), "negentropy": (0.0, log(3))}
AT_ONCE = 25_000
"""The number of counts (groups, permutations, conversations) processed at once, so that they fit the CPU cache."""


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """A measure of a group, or the DSI of an axis (no group); p is NaN if there is none."""

    measure: str
    axis: str
    group: tuple[str, ...]
    found: Interval
    p: float
    random: float
    """The median of random groups of the same size, with which p compares; NaN without permutations."""
    p_adjusted: float = float("nan")


def family(
    pool: RaterPool, axes: Sequence[Axis], permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[MeasureResult, ...]:
    """Measure and test all groups of the axes that are large enough; with 0 permutations there is no p."""
    if not pool.marks.size:
        return ()
    dealt = _dealt(pool, permutations, seed)
    found = [outcome for axis in axes for outcome in _of_axis(pool, axis, dealt)]
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


def _of_axis(pool: RaterPool, axis: Axis, dealt: Codes) -> Iterator[MeasureResult]:
    large = axis.large()
    if not large.size:
        return
    groups, others = sides(pool, axis, own(pool))
    observed = measured(groups[:, :, 0], others[:, :, 0], lambda counts: counts.sum(axis=-1))
    permuted = dict(zip(MEASURES, _permuted(pool, axis, dealt), strict=True))
    highs: list[float] = []
    for place, number in enumerate(large):
        one = partial(MeasureResult, axis=axis.name, group=axis.groups[number])
        replicates = _without(pool, axis, int(number))
        for measure in MEASURES:
            value, chance = float(observed[measure][place]), permuted[measure][place]
            found = _interval(measure, value, replicates, chance)
            yield one(measure, found=found, p=p_value(value, chance), random=_median(chance))
            highs += [found.high] if measure == "gai" and found.high is not None else []
    largest, chance = float(_largest(observed["gai"])), _largest(permuted["gai"])
    found = interval_of_largest(largest, chance, max(highs, default=None))
    yield MeasureResult(DSI, axis.name, (), found, p_above(largest, chance), _median(chance))


def _without(pool: RaterPool, axis: Axis, number: int) -> tuple[Mapping[str, Sums], ...]:
    """Each measure of a group without each of its raters, each of the others, and each conversation."""
    here, there = pool.marks[:, axis.codes == number], pool.marks[:, (axis.codes >= 0) & (axis.codes != number)]
    group, others = (marks.sum(axis=1, dtype=np.float64) for marks in (here, there))

    def less_group(rest: Sums) -> Sums:
        return _stacked(rest, np.broadcast_to(others[:, None], rest.shape))

    def less_others(rest: Sums) -> Sums:
        return _stacked(np.broadcast_to(group[:, None], rest.shape), rest)

    found = (
        without_each_rater(group, _who_rated(here), less_group),
        without_each_rater(others, _who_rated(there), less_others),
        np.stack([*measured(group, others, leave_each_out).values()]),
    )
    return tuple(dict(zip(MEASURES, way, strict=True)) for way in found)


def _who_rated(marks: Marks) -> Marks:
    return marks[:, marks.any(axis=(0, 2))]


def _stacked(group: Sums, others: Sums) -> Sums:
    return np.stack([*measured(group, others, lambda counts: counts.sum(axis=-1)).values()])


def _interval(measure: str, value: float, replicates: tuple[Mapping[str, Sums], ...], permuted: Sums) -> Interval:
    if np.isnan(value):
        return Interval(value)
    if measure == "gai":
        return interval(value, permuted)
    by_group, by_others, by_conversation = (way[measure] for way in replicates)
    if measure in IN_GROUP:
        return jackknife(value, [by_group, by_conversation], scale=SCALES.get(measure, AT_MOST_1))
    if measure == VOTING:
        if np.isnan(permuted).all():
            return Interval(value, why="Without permutations there is no interval.")
        return jackknife(value, [by_conversation], more=float(np.nanvar(permuted)))
    return jackknife(value, [by_group, by_others, by_conversation])


def _median(values: Sums) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if known.size else float("nan")


def _permuted(pool: RaterPool, axis: Axis, dealt: Codes) -> Sums:
    """Each measure of each large group in each permutation of profiles (measures, groups, permutations)."""
    found = np.empty((len(MEASURES), axis.large().size, len(dealt)))
    step = max(1, AT_ONCE // (len(axis.groups) * pool.marks.shape[-1]))
    for start in range(0, len(dealt), step):
        some = measured(*sides(pool, axis, dealt[start : start + step]), lambda counts: counts.sum(axis=-1))
        found[:, :, start : start + step] = [some[name] for name in MEASURES]
    return found


def _largest(values: Sums) -> Sums:
    """The largest value over groups; NaN if none has a value."""
    most = np.where(np.isnan(values), -np.inf, values).max(axis=0)
    return np.where(np.isinf(most), np.nan, most)


def _adjusted(outcomes: Sequence[MeasureResult]) -> Iterator[MeasureResult]:
    for measure in (*MEASURES, DSI):
        same = [outcome for outcome in outcomes if outcome.measure == measure]
        for outcome, p in zip(same, benjamini_hochberg(np.asarray([outcome.p for outcome in same])), strict=True):
            yield replace(outcome, p_adjusted=float(p))

"""Every measure of every group of raters, with its interval and its permutation test.

A group is compared with all other raters with a known profile on that axis. An axis's DSI (GRASP's diversity
sensitivity index) is the largest GAI of its groups. IRR, plurality size, negentropy and XRR have the jackknife of
agreement.py. A conversation's most common answer may change with one rater, so voting agreement has it over
conversations alone, with the variance of the permutations; GAI and DSI have intervals by the permutations, which hold 1
where the test finds nothing (docs/decisions/0013-intervals-of-agreement.md).

The profiles of all raters are permuted N times (whole profiles, so that intersections are preserved), and each measure
of each group is computed again: the values of random groups of the same size. With b of the N at least as high as the
observed one, or at least as low if these are fewer (ties count, to 1e-9),

    p = 2 (b + 1) / (N + 1), at most 1

because the observed assignment is one of the permutations (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol.
9:39). GRASP's own p is one-sided, on the observed side of the median: half of this. If fewer than half of the N are
defined, there is no p. `p_adjusted` is Benjamini and Hochberg's over all groups of all axes, or all axes.

`interval` has the values of a ratio that the test does not reject, if the ratio of a group is that of a random group
shifted on a scale that is linear up to 1 and logarithmic above (a ratio varies more where it is larger, and may be
below 0). GRASP's own figures for DICES-350 use only the 104 raters kept in the release: `kept` in names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log

import numpy as np
import pandas as pd

from app.extensions.analysis.dices.agreement import (
    AT_MOST_1,
    IN_GROUP,
    LEAST,
    MEASURES,
    Axis,
    Codes,
    Marks,
    RaterPool,
    Sums,
    axes,
    jackknife,
    leave_each_out,
    measured,
    normalised_xrr,
    pool,
    without_each_rater,
    xrr,
)
from app.extensions.analysis.estimates import NUMBER, RANDOM, Estimate, Finding, estimate, finding, slug
from app.extensions.analysis.intervals import SEED, Interval, benjamini_hochberg

TIE = 1e-9
# The share of permuted values that must be defined.
FEWEST_DEFINED = 0.5
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
    """The 95 % interval of the largest of several ratios, up to `high`, the largest upper end of theirs. It holds 1
    where `p_above` is not below 0.05; all of its error is at the lower end, as chance alone makes the largest of
    several ratios larger than 1."""
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
# The number of counts (groups, permutations, conversations) processed at once, so that they fit the CPU cache.
AT_ONCE = 25_000


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
    """The counts (values, groups, permutations, conversations) of each large group and of all others. `dealt`
    (permutations, raters) has the number of the rater whose profile each rater gets."""
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


def _adjusted(results: Sequence[MeasureResult]) -> Iterator[MeasureResult]:
    for measure in (*MEASURES, DSI):
        same = [outcome for outcome in results if outcome.measure == measure]
        for outcome, p in zip(same, benjamini_hochberg(np.asarray([outcome.p for outcome in same])), strict=True):
            yield replace(outcome, p_adjusted=float(p))


# The raters who are removed in the release (its README, "Removed raters"), by edition: 19 of 123, 12 of 173.
_REMOVED_350 = """
    297514565398139 297515609163939 297515750682315 297515617432733 297541515566649 297541515769980 297515629971478
    297059995361243 297541522412126 297540556928761 297541321453321 297540562350921 297540983991638 297060365288109
    297514543980607 297515729806999 297541271027233 296709611112092 296709543131761
"""
_REMOVED_990 = """
    296768824962581 296740172100277 296729424498056 296835612486158 297212198239077 296740254381555 296740049152799
    297212002905763 296740761150184 296708974347177 296770194464643 296768399729683
"""
REMOVED: Mapping[str, frozenset[str]] = {
    "dices-350": frozenset(_REMOVED_350.split()), "dices-990": frozenset(_REMOVED_990.split())
}  # fmt: skip
COLUMN = "Q_overall"
SAID: Mapping[str, str] = {
    "irr": "agreed among themselves with an IRR of {}",
    "plurality": "had a mean plurality size of {}",
    "negentropy": "had a mean negentropy of {} nats",
    "xrr": "agreed with all others with an XRR of {}",
    "voting_agreement": "voted like all others with an alpha of {}",
    "gai": "had a GAI of {}",
    DSI: "had groups with a GAI of up to {}",
}


@dataclass(frozen=True, slots=True)
class GroupCounts:
    raters: int
    ratings: int
    group: Sums
    others: Sums


def groups(
    ratings: pd.DataFrame, edition: str, permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[Finding, ...]:
    """The GRASP family of `Q_overall` by rater group; `further` has `p`, `p_adjusted` and `random_groups`.

    p is two-sided and compares with the median of random groups of the same size, `random_groups`; an interval of GAI
    or DSI holds 1 exactly where its p is not below 0.05. Groups of fewer than 2 raters, or with fewer than 2 others,
    are left out and named in the note.
    """
    return _findings(ratings, edition, "dices", permutations, seed)


def kept_groups(
    ratings: pd.DataFrame, edition: str, permutations: int = PERMUTATIONS, seed: int = SEED
) -> tuple[Finding, ...]:
    """The measures without raters who are removed in the release, as `dices.kept....`; empty if there are none."""
    if not ratings["rater_id"].isin(REMOVED[edition]).any():
        return ()
    return _findings(ratings[~ratings["rater_id"].isin(REMOVED[edition])], edition, "dices.kept", permutations, seed)


def _findings(ratings: pd.DataFrame, edition: str, prefix: str, permutations: int, seed: int) -> tuple[Finding, ...]:
    raters = pool(ratings, COLUMN)
    known = axes(raters)
    outcomes = family(raters, known, permutations, seed)
    sizes = {key: size for axis in known for key, size in _sizes(raters, axis)}
    raters_label = edition if prefix == "dices" else f"{edition}, raters kept by the release"
    words = {
        "edition": raters_label,
        "permuted": f"{permutations:,} random permutations of the raters' profiles (seed {seed})",
    }
    found = (
        finding(
            f"dices.{measure}", _estimates(outcomes, measure, sizes, (prefix, said)), name=f"{prefix}.{measure}",
            note=_left_out(known, outcomes, measure), words=words,
        )
        for measure, said in SAID.items()
    )  # fmt: skip
    return tuple(one for one in found if one.estimates)


def _sizes(pool: RaterPool, axis: Axis) -> Iterator[tuple[tuple[str, tuple[str, ...]], GroupCounts]]:
    one, others = (side[:, :, 0] for side in sides(pool, axis, own(pool)))
    sizes = axis.sizes()
    for place, number in enumerate(axis.large()):
        counts = one[:, place]
        yield (
            (axis.name, axis.groups[number]),
            GroupCounts(int(sizes[number]), int(counts.sum()), counts.T, others[:, place].T),
        )
    every = pool.counts((axis.codes >= 0)[None])[:, 0]
    yield (axis.name, ()), GroupCounts(int(sizes.sum()), int(every.sum()), every.T, every.T)


def _estimates(
    results: Sequence[MeasureResult],
    measure: str,
    counts: Mapping[tuple[str, tuple[str, ...]], GroupCounts],
    words: tuple[str, str],
) -> Iterator[Estimate]:
    prefix, said = words
    for outcome in results:
        if outcome.measure != measure:
            continue
        size = counts[outcome.axis, outcome.group]
        group_label = ", ".join(outcome.group)
        name = f"{prefix}.{measure}.{outcome.axis}" + (f".{slug('_x_'.join(outcome.group))}" if outcome.group else "")
        columns = {"axis": outcome.axis, **({"group": group_label} if group_label else {})}
        who = f"Raters who are {group_label}" if group_label else f"By {outcome.axis.replace('_x_', ' and ')}, raters"
        figure = (name, group_label or outcome.axis, columns, (size.ratings, size.raters), outcome.found)
        yield estimate(*figure, f"{who} {said}", NUMBER, "ratings", further=_further(outcome, size))


def _further(result: MeasureResult, counts: GroupCounts) -> Mapping[str, float]:
    columns = {"p": result.p, "p_adjusted": result.p_adjusted, RANDOM: result.random}
    if result.measure == "xrr":
        columns["normalised"] = normalised_xrr(counts.group, counts.others)
        columns["interval"] = xrr(counts.group, counts.others, "interval")
        columns["conversations"] = float(((counts.group.sum(axis=1) > 0) & (counts.others.sum(axis=1) > 0)).sum())
    return {name: value for name, value in columns.items() if not np.isnan(value)}


def _left_out(axes: Sequence[Axis], results: Sequence[MeasureResult], measure: str) -> str:
    """Name the groups without an estimate, and the reasons; empty for the DSI, because the GAI lists its groups."""
    there = {(outcome.axis, outcome.group) for outcome in results if outcome.measure == measure}
    small: list[str] = []
    none: list[str] = []
    for axis in axes if measure != DSI else ():
        large = set(axis.large().tolist())
        for number, group in enumerate(axis.groups):
            if (axis.name, group) not in there:
                (none if number in large else small).append(", ".join(group))
    said = [f"Left out (fewer than {LEAST} raters, or fewer than {LEAST} others): {'; '.join(small)}."] if small else []
    said += [f"Left out (no value): {'; '.join(none)}."] if none else []
    return " ".join(said)

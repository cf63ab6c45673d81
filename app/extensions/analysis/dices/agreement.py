"""Reliabilities of DICES's ratings, from coincidences of ratings within a group of raters and between two groups.

Counts are arrays (values, ..., conversations): how many raters gave each value. Results per conversation keep these
last axes, so that many groups, or many samples of conversations, are summed at once. Conversations with too few
ratings add nothing.

Alpha is 1 - d_o/d_e (Krippendorff: Content Analysis, 4th ed. 2018, chapter 12): d_o is the disagreement within
conversations, d_e the disagreement expected by chance, both from the coincidences of values; each pair of ratings of
a conversation with m ratings counts 1/(m - 1). Cross-replication reliability, xRR, is the analogue between two pools
of raters (Wong, Paritosh, Aroyo: Cross-replication reliability. ACL 2021), over conversations that both rated, R_i
and S_i times:

    d_o = sum_i (R_i + S_i)/(R_i S_i) sum_r sum_s D(x_ri, y_si) / (R + S)
    d_e = sum_i sum_j sum_r sum_s D(x_ri, y_sj) / (R S)             which needs only how often each value occurs

The jackknife over raters and conversations has for each way of clustering (the raters of a group, the raters of
another group, conversations) one cluster of G left out at a time; the variances of the ways are added, and Student's
t has one degree of freedom less than the smallest G:

    V = sum over ways of (G - 1)/G * sum over g of (value without g - their mean)^2,    value ± t * sqrt(V)

What varies with single ratings is counted twice, which makes the interval a little too wide for few raters; why raters
are not bootstrapped: docs/decisions/0013-intervals-of-agreement.md. Jackknife of alpha: Hughes 2022 (arXiv
2210.13265); two ways: Cameron, Gelbach and Miller 2011 (JBES 29:238).

GRASP's measures (Prabhakaran et al., NAACL 2024; arXiv 2311.05074) within a group: IRR is alpha; plurality size the
mean over conversations of the share of the most common answer; negentropy the mean of ln n - H in nats, n being the
number of values and H the entropy of the answers. With all other raters: XRR is xRR; voting agreement is the alpha
between the most common answers of both sides, of equally common ones the first in the order No, Unsure, Yes. GAI =
IRR/XRR. GRASP's cross-negentropy is left out: its formula is not published.

A rater's profile (gender, race, ...) is read from the first row that has it. An axis is one column of the profile, or
several, whose combinations are then its groups. A rater with a missing value is in none of an axis's groups and does
not count among the others either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, finding
from app.extensions.analysis.intervals import FEWEST, Interval, student
from experiments.plural import count

# The distance of two values: 0 or 1 (nominal); squared number of ratings between them (ordinal); squared difference of
# their places (interval).
Metric = Literal["nominal", "ordinal", "interval"]
Sums: TypeAlias = npt.NDArray[np.float64]


def pairs(counts: Sums) -> Sums:
    """For each conversation: its pairs of ratings by their two values (values, values, ...), weighted 1/(m - 1)."""
    sizes = counts.sum(axis=0)
    weights = np.divide(1.0, sizes - 1, out=np.zeros_like(sizes), where=sizes > 1)
    found = np.empty((len(counts), *counts.shape))
    for one, given in enumerate(counts):
        weighted = given * weights
        for other, also in enumerate(counts):
            np.multiply(weighted, also - 1 if one == other else also, out=found[one, other])
    return found


def alphas(coincidences: Sums, metric: Metric = "nominal") -> Sums:
    """The alpha of each of several tables of coincidences; NaN if no two ratings differ."""
    totals = coincidences.sum(axis=1)
    apart = _squared_distances(totals, metric)
    size = totals.sum(axis=0)
    observed = (coincidences * apart).sum(axis=(0, 1))
    expected = (totals[:, None] * totals[None] * apart).sum(axis=(0, 1))
    return _agreed((size - 1) * observed, expected)


def crossings(one: Sums, other: Sums) -> Sums:
    """For each conversation that both rated: pairs of one rating each, weighted (R_i + S_i)/(R_i S_i); then the counts.
    An array (values, values + 2, ...): the pairs by their two values, and in the last two columns both counts."""
    here, there = one.sum(axis=0), other.sum(axis=0)
    both = (here > 0) & (there > 0)
    weights = np.divide(here + there, here * there, out=np.zeros_like(here), where=both)
    values = len(one)
    found = np.empty((values, values + 2, *here.shape))
    for value, given in enumerate(one):
        weighted = given * weights
        for opposite, also in enumerate(other):
            np.multiply(weighted, also, out=found[value, opposite])
        np.multiply(given, both, out=found[value, values])
        np.multiply(other[value], both, out=found[value, values + 1])
    return found


def crossed(sums: Sums, metric: Metric = "nominal") -> Sums:
    """The xRR of summed crossings; NaN if the pools share no conversation, or no two of their ratings differ."""
    values = len(sums)
    table, here, there = sums[:, :values], sums[:, values], sums[:, values + 1]
    apart = _squared_distances(here + there, metric)
    raters, others = here.sum(axis=0), there.sum(axis=0)
    observed = (table * apart).sum(axis=(0, 1))
    expected = (here[:, None] * there[None] * apart).sum(axis=(0, 1))
    return _agreed(observed * raters * others, expected * (raters + others))


def _agreed(observed: Sums, expected: Sums) -> Sums:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan), dtype=np.float64)


def _squared_distances(totals: Sums, metric: Metric) -> Sums:
    values = len(totals)
    if metric == "ordinal":
        place = totals.cumsum(axis=0) - totals / 2  # the ratings up to the middle of each value
        return np.asarray((place[:, None] - place[None]) ** 2, dtype=np.float64)
    places = np.arange(values)
    steps = np.abs(places[:, None] - places).astype(np.float64)
    squared = steps**2 if metric == "interval" else np.minimum(steps, 1)
    return np.asarray(squared.reshape(values, values, *(1 for _ in totals.shape[1:])), dtype=np.float64)


# The scale of alpha and xRR.
AT_MOST_1 = -inf, 1.0
# The number of counts (raters, conversations) processed at once, so that they fit the CPU cache.
AT_ONCE = 100_000


def without_each_rater(counts: Sums, marks: npt.NDArray[np.floating], statistic: Callable[[Sums], Sums]) -> Sums:
    """The statistic (..., raters) of counts (values, conversations) without each rater's marks in turn. `marks`
    (values, raters, conversations) is what each rater contributed to the counts; `statistic` is given counts (values,
    some raters, conversations)."""
    step = max(1, AT_ONCE // max(1, counts.shape[-1]))
    starts = range(0, marks.shape[1], step)
    return np.concatenate([statistic(counts[:, None] - marks[:, start : start + step]) for start in starts], axis=-1)


def leave_each_out(sums: Sums) -> Sums:
    """The sums over conversations, the last axis, without each of them in turn."""
    return np.asarray(sums.sum(axis=-1, keepdims=True) - sums)


def variance(without: Sums) -> float:
    return float((without.size - 1) / without.size * np.sum((without - without.mean()) ** 2))


def jackknife(
    value: float, replicates: Sequence[Sums], more: float = 0.0, *, scale: tuple[float, float] = AT_MOST_1
) -> Interval:
    """The interval of a value from its values without each cluster, for each way of clustering. It is cut at the ends
    of the scale. `more` is a variance that is known otherwise, which is added."""
    fewest = min(way.size for way in replicates)
    if fewest < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} raters and {FEWEST} conversations.")
    if not all(np.isfinite(way).all() for way in replicates):
        return Interval(value, why="It depends on a single rater or conversation, without which it is undefined.")
    spread = sum(map(variance, replicates)) + more
    if spread <= 1e-18:  # what is left of nothing by rounding
        return Interval(value, why="It is the same without any one rater or conversation, so its variance is unknown.")
    half = student(fewest - 1) * sqrt(spread)
    return Interval(value, max(scale[0], value - half), min(scale[1], value + half))


def of_mean(marks: npt.NDArray[np.floating], each: Callable[[Sums], Sums], scale: tuple[float, float]) -> Interval:
    """The mean over conversations of a function of their counts, with its interval over raters and conversations.
    `each` gives, of counts (values, ..., conversations), a value for each conversation, and whether it counts (2, ...,
    conversations)."""
    counts = marks.sum(axis=1, dtype=np.float64)
    values = each(counts)
    replicates = [
        _mean(leave_each_out(values)),
        without_each_rater(counts, marks, lambda rest: _mean(each(rest).sum(axis=-1))),
    ]
    return jackknife(float(_mean(values.sum(axis=-1))), replicates, scale=scale)


IN_GROUP = ("irr", "plurality", "negentropy")
CROSS_GROUP = ("xrr", "voting_agreement")
MEASURES = (*IN_GROUP, *CROSS_GROUP, "gai")
# Sums over conversations, the last axis: each counted once, or as often as a sample drew it.
Weigh = Callable[[Sums], Sums]


def measured(group: Sums, others: Sums, weigh: Weigh) -> Mapping[str, Sums]:
    """All measures of groups and their complements, from counts (values, ..., conversations); NaN where undefined."""
    irr, xrr = alphas(weigh(pairs(group))), crossed(weigh(crossings(group, others)))
    return {
        "irr": irr,
        "plurality": _mean(weigh(peaks(group))),
        "negentropy": _mean(weigh(order(group))),
        "xrr": xrr,
        "voting_agreement": alphas(_both_ways(weigh(votes(group, others)))),
        "gai": _ratio(irr, xrr),
    }


def peaks(counts: Sums) -> Sums:
    """For each conversation: the share of its most common answer, and whether it has answers."""
    sizes = counts.sum(axis=0)
    return np.stack([np.divide(counts.max(axis=0), sizes, out=np.zeros_like(sizes), where=sizes > 0), sizes > 0])


def order(counts: Sums) -> Sums:
    """For each conversation: its negentropy, ln n - H = ln n + (sum c ln c - m ln m)/m, and whether it has answers."""
    sizes = counts.sum(axis=0)
    whole = np.arange(sizes.max(initial=0) + 1)
    weighed = whole * np.log(np.maximum(whole, 1))
    entropy = weighed[sizes.astype(np.intp)] - weighed[counts.astype(np.intp)].sum(axis=0)
    rated = sizes > 0
    return np.stack([np.log(len(counts)) * rated - np.divide(entropy, np.maximum(sizes, 1)), rated])


def votes(one: Sums, other: Sums) -> Sums:
    """For each conversation that both rated: the most common answer of each (values, values, ...)."""
    here, there = _chosen(one), _chosen(other)
    return np.asarray(here[:, None] & there[None], dtype=np.float64)


def plurality(counts: npt.ArrayLike) -> float:
    """The mean over conversations of (the count of the most common answer)/m, from 1/n to 1. GRASP, NAACL 2024."""
    return float(_mean(_once(peaks(_planes(counts)))))


def negentropy(counts: npt.ArrayLike) -> float:
    """The mean over conversations of ln n - H in nats: 0 if answers are evenly spread, ln n if all are equal."""
    return float(_mean(_once(order(_planes(counts)))))


def xrr(one: npt.ArrayLike, other: npt.ArrayLike, metric: Metric = "nominal") -> float:
    """Cross-replication reliability of two pools, from counts of the same conversations in the same order; at most 1,
    NaN where they share none."""
    return float(crossed(_once(crossings(_planes(one), _planes(other))), metric))


def normalised_xrr(one: npt.ArrayLike, other: npt.ArrayLike, metric: Metric = "nominal") -> float:
    """xRR / sqrt(IRR of one * IRR of the other); 1 means as close as within each pool; NaN if an IRR is not above 0."""
    reliable = [float(alphas(_once(pairs(_planes(counts))), metric)) for counts in (one, other)]
    return xrr(one, other, metric) / float(np.sqrt(np.prod(reliable))) if min(reliable) > 0 else float("nan")


def voting_agreement(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """The nominal alpha between two pools' most common answers; of equally common ones, the first counts."""
    return float(alphas(_both_ways(_once(votes(_planes(one), _planes(other))))))


def gai(group: npt.ArrayLike, others: npt.ArrayLike) -> float:
    """GRASP's group association index, GAI = IRR/XRR; NaN where XRR is not above 0. GRASP, NAACL 2024."""
    return float(_ratio(alphas(_once(pairs(_planes(group)))), np.asarray(xrr(group, others))))


def _chosen(counts: Sums) -> npt.NDArray[np.bool_]:
    most = counts.max(axis=0)
    free = most > 0
    found = np.empty(counts.shape, dtype=np.bool_)
    for value, given in enumerate(counts):
        np.logical_and(given == most, free, out=found[value])
        free &= ~found[value]
    return found


def _planes(counts: npt.ArrayLike) -> Sums:
    return np.asarray(counts, dtype=np.float64).T


def _once(sums: Sums) -> Sums:
    return np.asarray(sums.sum(axis=-1))


def _both_ways(table: Sums) -> Sums:
    return table + table.swapaxes(0, 1)


def _mean(sums: Sums) -> Sums:
    return _ratio(sums[0], sums[1])


def _ratio(above: Sums, below: Sums) -> Sums:
    found = np.full(np.shape(above), np.nan)
    return np.asarray(np.divide(above, below, out=found, where=below > 0), dtype=np.float64)


# How many raters gave each value (columns) to each conversation (rows).
Counts: TypeAlias = npt.NDArray[np.int64]
# How often each rater gave each value to each conversation (values, raters, conversations).
Marks: TypeAlias = npt.NDArray[np.float32]
ORDER = ("No", "Unsure", "Yes")
TITLES = {"nominal": "nominal", "ordinal": "ordinal", "yes": "Yes against the rest"}


def counts_of(items: npt.ArrayLike, values: npt.ArrayLike, order: tuple[str, ...] = ORDER) -> Counts:
    """The number of ratings of each value for each item; values not in `order` are left out."""
    place = pd.Index(order).get_indexer(pd.Index(np.asarray(values, dtype=object)))
    known = place >= 0
    item = pd.factorize(np.asarray(items, dtype=object)[known])[0]
    size = int(item.max(initial=-1)) + 1
    flat = np.bincount(item * len(order) + place[known], minlength=size * len(order))
    return flat.reshape(size, len(order)).astype(np.int64)


def alpha(counts: Counts, metric: Metric = "nominal") -> float:
    """Krippendorff's alpha = 1 - d_o/d_e, at most 1; NaN where all ratings are equal or none can be paired."""
    return float(alphas(pairs(counts.T.astype(np.float64)).sum(axis=-1), metric))


def marks_of(
    items: npt.ArrayLike, raters: npt.ArrayLike, values: npt.ArrayLike, order: tuple[str, ...] = ORDER
) -> tuple[Marks, pd.Index, pd.Index]:
    """The number of times each rater gave each value to each item, with the ids of raters and items, both sorted.
    Values not in `order` are left out, and so are raters and items without any other."""
    place = pd.Index(order).get_indexer(pd.Index(np.asarray(values, dtype=object)))
    known = place >= 0
    rater, people = pd.factorize(np.asarray(raters, dtype=object)[known].astype(str), sort=True)
    item, names = pd.factorize(np.asarray(items, dtype=object)[known].astype(str), sort=True)
    shape = (len(order), len(people), len(names))
    flat = np.bincount(np.ravel_multi_index((place[known], rater, item), shape), minlength=int(np.prod(shape)))
    return flat.reshape(shape).astype(np.float32), pd.Index(people), pd.Index(names)


def alpha_interval(marks: Marks, metric: Metric, *, raters_vary: bool = True) -> Interval:
    """Alpha with its interval over raters and conversations, or over conversations alone if the raters are given. NaN
    where fewer than two conversations have two ratings: of one, alpha is 0 whatever was rated."""
    several = marks.sum(axis=(0, 1)) > 1
    paired = marks[:, :, several]
    counts = paired.sum(axis=1, dtype=np.float64)
    tables = pairs(counts)
    value = float(alphas(tables.sum(axis=-1), metric)) if counts.shape[-1] > 1 else math.nan
    if counts.shape[-1] < FEWEST:
        return Interval(value, why=f"An interval needs {FEWEST} conversations that several people rated.")
    replicates = [alphas(leave_each_out(tables), metric)]
    if raters_vary:
        each = paired[:, paired.any(axis=(0, 2))]
        if each.shape[1] <= FEWEST:
            return Interval(value, why=f"An interval needs more than {FEWEST} raters.")
        replicates.append(without_each_rater(counts, each, lambda rest: alphas(pairs(rest).sum(axis=-1), metric)))
    return jackknife(value, replicates)


def agreement(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str) -> tuple[Finding, ...]:
    """Nominal and ordinal alpha of columns (`Q_overall`, ...) of a DICES table; a note has those without an alpha."""
    return _findings(ratings, columns, edition, ("nominal", "ordinal"))


def dichotomy(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str) -> tuple[Finding, ...]:
    return _findings(ratings, columns, edition, ("yes",))


def counted(ratings: pd.DataFrame, column: str, method: str = "nominal") -> Counts:
    """The counts of a column of a DICES table by conversation: of No, Unsure and Yes; by `yes`, of the rest and Yes."""
    counts = counts_of(ratings["item_id"], ratings[column])
    return np.stack([counts[:, 0] + counts[:, 1], counts[:, 2]], axis=1) if method == "yes" else counts


def marked(ratings: pd.DataFrame, column: str, method: str = "nominal") -> Marks:
    """The marks of a column of a DICES table by rater and conversation, of the same values as in `counted`."""
    marks, _, _ = marks_of(ratings["item_id"], ratings["rater_id"], ratings[column])
    return np.stack([marks[0] + marks[1], marks[2]]) if method == "yes" else marks


def _findings(
    ratings: pd.DataFrame, columns: tuple[str, ...], edition: str, methods: tuple[str, ...]
) -> tuple[Finding, ...]:
    found = [
        finding(
            f"dices.alpha_{method}",
            _estimates(ratings, columns, edition, method),
            note=_without(ratings, columns, method),
            words={"edition": edition},
        )
        for method in methods
    ]
    return tuple(one for one in found if one.estimates or one.note)


def _without(ratings: pd.DataFrame, columns: tuple[str, ...], method: str) -> str:
    alone: list[str] = []
    equal: list[str] = []
    for column in columns:
        counts = counted(ratings, column, method)
        paired = np.count_nonzero(counts.sum(axis=1) > 1)
        if counts.size and (paired < 2 or np.isnan(alpha(counts))):
            (equal if paired > 1 else alone).append(column)
    said = [f"All ratings are equal, so there is no alpha: {', '.join(equal)}."] if equal else []
    said += [f"Alpha needs two conversations with two ratings: {', '.join(alone)}."] if alone else []
    return " ".join(said)


def _estimates(ratings: pd.DataFrame, columns: tuple[str, ...], edition: str, method: str) -> Iterator[Estimate]:
    for column in columns:
        given = ratings[ratings[column].isin(ORDER)]
        counts = counted(given, column, method)
        found = alpha_interval(marked(given, column, method), "ordinal" if method == "ordinal" else "nominal")
        if np.isnan(found.value):
            continue
        groups = {"column": column, "edition": edition, "conversations": f"{len(counts)}"}
        over = count(len(counts), "conversation")
        said = f"Raters agreed on {column} with an alpha ({TITLES[method]}) of {{}} over {over}"
        size = (len(given), given["rater_id"].nunique())
        yield estimate(f"dices.alpha_{method}.{column}", column, groups, size, found, said, NUMBER, "ratings")


Codes = npt.NDArray[np.int64]
# The columns of a rater's profile; DICES-350 has no locale.
PROFILE = ("rater_gender", "rater_race", "rater_age", "rater_education", "rater_locale")
CROSSED = (("rater_race", "rater_gender"), ("rater_race", "rater_age"), ("rater_gender", "rater_age"))
# Minimum number of raters in a group, and of others.
LEAST = 2


@dataclass(frozen=True, slots=True)
class RaterPool:
    """Raters, in the order of their ids."""

    marks: Marks
    profiles: pd.DataFrame
    """A row for each rater, by id: the columns of PROFILE that the table has; None if not known."""

    def counts(self, members: npt.ArrayLike) -> Sums:
        """The counts (values, groups, conversations) of groups, from their members (groups, raters): 1 or 0. Exact:
        float32 holds every whole number up to 2^24."""
        return np.asarray(np.matmul(np.asarray(members, dtype=np.float32), self.marks), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Axis:
    name: str
    """`race`, `race_x_gender`."""
    groups: tuple[tuple[str, ...], ...]
    """The values that make each group."""
    codes: Codes
    """The group of each rater; -1 where it is not known."""

    def members(self) -> Marks:
        return np.asarray(np.arange(len(self.groups))[:, None] == self.codes, dtype=np.float32)

    def sizes(self) -> Codes:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups))

    def large(self) -> Codes:
        sizes = self.sizes()
        return np.flatnonzero((sizes >= LEAST) & (sizes.sum() - sizes >= LEAST))


def pool(ratings: pd.DataFrame, column: str = "Q_overall") -> RaterPool:
    """The raters of a DICES table and their answers in a column; rows without an answer are left out."""
    given = ratings[ratings[column].isin(ORDER)]
    marks, ids, _ = marks_of(given["item_id"], given["rater_id"], given[column])
    return RaterPool(marks, profiles_of(given, given["rater_id"].astype(str)).reindex(ids).rename_axis("rater_id"))


def profiles_of(ratings: pd.DataFrame, raters: pd.Series) -> pd.DataFrame:
    """A row for each rater: the columns of the profile, from the first row that has them; None if not known."""
    columns = ratings[[name for name in PROFILE if name in ratings]].astype(object)
    return columns.where(columns.notna() & (columns != ""), None).groupby(raters).first()


def axis(pool: RaterPool, columns: Sequence[str]) -> Axis:
    """The groups by one column of the profile, or by several combined."""
    profiles = pool.profiles[list(columns)]
    known = profiles.notna().all(axis=1).to_numpy()
    values = list(map(tuple, profiles.to_numpy()))
    groups = sorted({value for value, there in zip(values, known, strict=True) if there})
    place = {group: number for number, group in enumerate(groups)}
    codes = np.asarray([place.get(value, -1) for value in values], dtype=np.int64)
    return Axis("_x_".join(name.removeprefix("rater_") for name in columns), tuple(groups), codes)


def axes(pool: RaterPool, crossed: Sequence[Sequence[str]] = CROSSED) -> tuple[Axis, ...]:
    wanted = [*((name,) for name in PROFILE), *crossed]
    found = (axis(pool, columns) for columns in wanted if set(columns) <= {*pool.profiles.columns})
    return tuple(one for one in found if one.groups)

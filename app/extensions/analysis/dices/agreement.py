"""Krippendorff's alpha of DICES's ratings: how far raters agree beyond chance, however many rated each conversation.

    alpha = 1 - d_o/d_e     (cohesion.py; DICES: Aroyo et al. 2023)

A conversation with one rating has no pairs. Nominal: two values differ or not. Ordinal (No < Unsure < Yes): the
distance of two values is the number of ratings between them. Yes against the rest: No and Unsure are one value.

The interval counts raters as well as conversations: a jackknife over both (cohesion.py).

A pool stores raters with their answers so that counts of any groups are one matrix product. A rater's profile
(gender, race, ...) is read from the first row that has it. An axis is one column of the profile, or several: then the
combinations of their values are the groups of an intersection. A rater with a missing value is in none of the axis's
groups and does not count among the others either."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.extensions.analysis.dices.cohesion import (
    Metric,
    Sums,
    alphas,
    jackknife,
    leave_each_out,
    pairs,
    without_each_rater,
)
from app.extensions.analysis.estimates import NUMBER, Estimate, Finding, estimate, finding
from app.extensions.analysis.intervals import FEWEST, Interval
from storage.datasets.describe.markdown import count

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
    """Krippendorff's alpha = 1 - d_o/d_e, at most 1; NaN where all ratings are equal or none can be paired.

    d_o is the disagreement within items, each pair of ratings of an item with m of them counting 1/(m - 1), and d_e
    that of all pairs of ratings; two values disagree by 1 (nominal), or by the square of how many ratings lie between
    them (ordinal), or of how many places they are apart (interval). No unit. Krippendorff: Content Analysis, 2018.
    """
    return float(alphas(pairs(counts.T.astype(np.float64)).sum(axis=-1), metric))


def marks_of(
    items: npt.ArrayLike, raters: npt.ArrayLike, values: npt.ArrayLike, order: tuple[str, ...] = ORDER
) -> tuple[Marks, pd.Index, pd.Index]:
    """The number of times each rater gave each value to each item, with the ids of raters and items, both sorted.

    Values not in `order` are left out, and so are raters and items without any other.
    """
    place = pd.Index(order).get_indexer(pd.Index(np.asarray(values, dtype=object)))
    known = place >= 0
    rater, people = pd.factorize(np.asarray(raters, dtype=object)[known].astype(str), sort=True)
    item, names = pd.factorize(np.asarray(items, dtype=object)[known].astype(str), sort=True)
    shape = (len(order), len(people), len(names))
    flat = np.bincount(np.ravel_multi_index((place[known], rater, item), shape), minlength=int(np.prod(shape)))
    return flat.reshape(shape).astype(np.float32), pd.Index(people), pd.Index(names)


def alpha_interval(marks: Marks, metric: Metric, *, raters_vary: bool = True) -> Interval:
    """Alpha with its interval over raters and conversations, or over conversations alone if the raters are given.

    NaN where fewer than two conversations have two ratings: of one, alpha is 0 whatever was rated.
    """
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
    """Alpha of `Yes` against the rest (No and Unsure alike)."""
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
        """The counts (values, groups, conversations) of groups, from their members (groups, raters): 1 or 0.

        Exact: float32 holds every whole number up to 2^24.
        """
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
        """The members of each group (groups, raters)."""
        return np.asarray(np.arange(len(self.groups))[:, None] == self.codes, dtype=np.float32)

    def sizes(self) -> Codes:
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.groups))

    def large(self) -> Codes:
        """The groups with enough raters and enough others."""
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
    """Every column of the profile that anybody filled in, and the intersections."""
    wanted = [*((name,) for name in PROFILE), *crossed]
    found = (axis(pool, columns) for columns in wanted if set(columns) <= {*pool.profiles.columns})
    return tuple(one for one in found if one.groups)

"""The raters of a DICES table with their answers, stored so that counts of any groups are one matrix product.

A rater's profile (gender, race, ...) is read from the first row that has it. An axis is one column of the profile, or
several: then the combinations of their values are the groups of an intersection. A rater with a missing value is in
none of the axis's groups and does not count among the others either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from app.extensions.analysis.dices.agreement import ORDER, Marks, marks_of
from app.extensions.analysis.dices.coincidence_matrix import Sums

Codes = npt.NDArray[np.int64]
PROFILE = ("rater_gender", "rater_race", "rater_age", "rater_education", "rater_locale")
"""The columns of a rater's profile; DICES-350 has no locale."""
CROSSED = (("rater_race", "rater_gender"), ("rater_race", "rater_age"), ("rater_gender", "rater_age"))
"""The intersections that are analysed."""
LEAST = 2
"""Minimum number of raters in a group, and of others."""


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

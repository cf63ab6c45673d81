"""Rows of a frame by condition, for analyses that read events: all of them, then those of each value of each factor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

MOST_VALUES = 12
"""A factor with more values (such as batches of questions) has no figures by condition."""


@dataclass(frozen=True, slots=True)
class ComparedArm:
    """A condition as an estimate names it; `value` is the factor with its value, empty for all conditions together."""

    label: str
    groups: Mapping[str, str]
    value: tuple[str, ...] = ()


def by_arm(rows: pd.DataFrame) -> Iterator[tuple[ComparedArm, pd.DataFrame]]:
    """The rows by their column `arms`, a mapping of factors to values. Factors without a second value have no arms."""
    factors = compared_factors(rows)
    yield ComparedArm("all", dict.fromkeys(factors, "all") or {"group": "all"}), rows
    for factor, values in factors.items():
        for value in values:
            own = [arms.get(factor) == value for arms in rows["arms"]]
            yield ComparedArm(f"{factor}: {value}", {factor: value}, (factor, value)), rows[own]


def compared_factors(rows: pd.DataFrame) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for arms in rows["arms"]:
        for factor, value in arms.items():
            found.setdefault(factor, {}).setdefault(value)
    return {factor: tuple(values) for factor, values in found.items() if 1 < len(values) <= MOST_VALUES}

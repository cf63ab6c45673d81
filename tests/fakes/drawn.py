"""Which cases of a test with many parameters a short run takes: each value of each parameter at least once."""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def each_value_once(cases: Sequence[tuple[T, Mapping[str, Hashable]]], chance: random.Random) -> list[T]:
    """Some of the cases, in their order, drawn until every value of every parameter is among them."""
    missing = {item for _, values in cases for item in values.items()}
    taken: set[int] = set()
    for number in chance.sample(range(len(cases)), len(cases)):
        new = missing & set(cases[number][1].items())
        if new:
            missing -= new
            taken.add(number)
    return [case for number, (case, _) in enumerate(cases) if number in taken]

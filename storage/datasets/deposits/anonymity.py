"""k-anonymity: how many people share each combination of demographic values, and which combinations few share.

Source: Samarati and Sweeney 1998, "Protecting privacy when disclosing information: k-anonymity and its enforcement
through generalization and suppression", SRI-CSL-98-04. A blank value is a value like others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

THRESHOLD = 5
"""The smallest number of people who may share a combination, by default. Cells below 5 are what most rules for
statistical disclosure control suppress."""
MOST_TOGETHER = 3
"""Combinations of up to so many columns are searched for small cells, besides all columns together."""

Person = Sequence[str]


@dataclass(frozen=True, slots=True)
class SmallCells:
    """Columns, and their combinations of values that fewer than k people share: how many, with how many people in all,
    and how many in the smallest. `examples` are some of them, for whoever has the data; no record keeps them."""

    columns: tuple[str, ...]
    cells: int
    people: int
    smallest: int
    examples: tuple[str, ...] = ()


def k_anonymity(people: Sequence[Person]) -> int:
    """The k of these people: how many share the rarest combination of all values; 0 if there is nobody."""
    return min(Counter(map(tuple, people)).values(), default=0)


def small_cells(columns: Sequence[str], people: Sequence[Person], k: int = THRESHOLD) -> list[SmallCells]:
    """The combinations of columns with small cells, the smallest combinations first. One that contains another is not
    given, because it has small cells in any case, except for all columns together."""
    found: list[SmallCells] = []
    for places in _combinations(len(columns)):
        names = tuple(columns[place] for place in places)
        if len(names) < len(columns) and any(set(one.columns) < set(names) for one in found):
            continue
        counts = Counter(tuple(person[place] for place in places) for person in people)
        rare = sorted((number, values) for values, number in counts.items() if number < k)
        if rare:
            total = sum(number for number, _ in rare)
            found.append(SmallCells(names, len(rare), total, rare[0][0], tuple(_examples(names, rare))))
    return found


def _combinations(number: int) -> Iterator[tuple[int, ...]]:
    for together in range(1, min(MOST_TOGETHER, number) + 1):
        yield from combinations(range(number), together)
    if number > MOST_TOGETHER:
        yield tuple(range(number))


def _examples(names: Sequence[str], rare: Sequence[tuple[int, Sequence[str]]]) -> Iterator[str]:
    for number, values in rare[:3]:
        said = ", ".join(f"{name}={value or '(blank)'}" for name, value in zip(names, values, strict=True))
        yield f"{said}: {number}"

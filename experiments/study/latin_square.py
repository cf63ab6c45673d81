"""Latin squares: orders in which each item is equally often at each position, and equally often after each other item.

The rows of a square are assigned like a factor, `<loop>_order`, balanced over the other factors and over participants
who have completed the study or are taking part. The squares are those of Williams (1949): for an even number n of items
n rows; for an odd number 2n, of which the second half are the first half reversed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from experiments.study.cells import matching, values_of
from experiments.study.schema import Loop, Node
from experiments.study.texts import names
from problems.problem import Problem

T = TypeVar("T")
LATIN = "latin_square"
MOST_ROWS = 26


def square(size: int) -> tuple[tuple[int, ...], ...]:
    """The rows of a Williams square, as indices of items from 0."""
    first = [0]
    for step in range(1, size):
        first.append((first[-1] + (step if step % 2 else -step)) % size)
    rows = [tuple((number + shift) % size for number in first) for shift in range(size)]
    return (*rows, *(row[::-1] for row in rows)) if size % 2 and size > 1 else tuple(rows)


def apply_order(items: Sequence[T], row: str) -> list[T]:
    """The items in the order of a row. `row` is its number from 1; beyond the last row it wraps around."""
    rows = square(len(items))
    return [items[number] for number in rows[(int(row) - 1) % len(rows)]]


def of_items(loop: Loop) -> str:
    """The name of the factor for the order of a loop's turns."""
    return f"{loop.each}_order"


def of_companions(loop: Loop, name: str) -> str:
    """The name of the factor for the order of the values in a loop's `vary`."""
    return f"{loop.each}_{name}_order"


def order_factors(nodes: Sequence[Node], problems: Mapping[str, Sequence[Problem]]) -> dict[str, tuple[str, ...]]:
    """The row numbers of Latin squares by name; of too large a one, an error, as many as fit into memory."""
    rows = {name: len(square(min(size, MOST_ROWS))) for name, size in _sizes(nodes, problems)}
    return {name: tuple(str(number + 1) for number in range(count)) for name, count in rows.items()}


def size_of(loop: Loop, problems: Mapping[str, Sequence[Problem]]) -> int | None:
    """The number of turns of a loop; None if it differs between participants."""
    wish = loop.take or loop.up_to
    if wish or any(list(names(value)) for value in loop.where.values()):
        return wish
    pool = problems.get(loop.pool, ())
    return len(values_of(pool, loop.tag, loop.where) if loop.tag else matching(pool, loop.where))


def _sizes(nodes: Sequence[Node], problems: Mapping[str, Sequence[Problem]]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, Loop):
            if node.order == LATIN:
                yield of_items(node), size_of(node, problems) or 0
            if node.vary_order == LATIN:
                yield from ((of_companions(node, name), len(items)) for name, items in node.vary.items())
        yield from _sizes(getattr(node, "flow", ()), problems)

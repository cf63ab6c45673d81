"""Latin squares: orders in which each thing stands equally often at each place, and follows each other equally often.

A square's rows are given out as a factor is, `<loop>_order`, balanced over the other factors by who has completed the
study or takes part. Rows are those of Williams (1949): with an even number n of things n rows, with an odd number 2n,
of which the second half are the first ones backwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from experiments.study.cells import matching, values_of
from experiments.study.schema import Loop, Node
from experiments.study.template import names
from problems.problem import Problem

T = TypeVar("T")
LATIN = "latin_square"


def square(size: int) -> tuple[tuple[int, ...], ...]:
    """The rows of a Williams square, as numbers of things from 0."""
    first = [0]
    for step in range(1, size):
        first.append((first[-1] + (step if step % 2 else -step)) % size)
    rows = [tuple((number + shift) % size for number in first) for shift in range(size)]
    return (*rows, *(row[::-1] for row in rows)) if size % 2 and size > 1 else tuple(rows)


def apply_order(things: Sequence[T], row: str) -> list[T]:
    """The things in the order of a row, whose number is counted from 1; a row too many begins again."""
    rows = square(len(things))
    return [things[number] for number in rows[(int(row) - 1) % len(rows)]]


def of_items(node: Loop) -> str:
    """The factor that says in which order a loop's turns come."""
    return f"{node.each}_order"


def of_companions(node: Loop, name: str) -> str:
    """The factor that says in which order what stands beside them comes."""
    return f"{node.each}_{name}_order"


def order_factors(nodes: Sequence[Node], pools: Mapping[str, Sequence[Problem]]) -> dict[str, tuple[str, ...]]:
    """The factors that a study has because of its squares: the numbers of their rows."""
    return {name: tuple(str(n + 1) for n in range(len(square(size)))) for name, size in _sizes(nodes, pools)}


def size_of(node: Loop, pools: Mapping[str, Sequence[Problem]]) -> int | None:
    """How many turns a loop has for everybody; None where that differs."""
    wish = node.take or node.up_to
    if wish or any(list(names(value)) for value in node.where.values()):
        return wish
    pool = pools.get(node.pool, ())
    return len(values_of(pool, node.tag, node.where) if node.tag else matching(pool, node.where))


def _sizes(nodes: Sequence[Node], pools: Mapping[str, Sequence[Problem]]) -> Iterator[tuple[str, int]]:
    for node in nodes:
        if isinstance(node, Loop):
            if node.order == LATIN:
                yield of_items(node), size_of(node, pools) or 0
            if node.vary_order == LATIN:
                yield from ((of_companions(node, name), len(things)) for name, things in node.vary.items())
        yield from _sizes(getattr(node, "flow", ()), pools)

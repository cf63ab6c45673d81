"""Balanced assignment: cells, factors and pairs stay close to their targets, whoever drops out, and tell nothing of
each other; what is full is never given, and each assignment can be derived again from its own fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import Refused
from experiments.session.assignment import assignment_fact, balanced
from experiments.study.cells import Cell, cells
from experiments.study.schema import Factor
from tests.fakes.driven import small
from tests.fakes.examples import examples

Factors = Mapping[str, Factor]
Assigner = Callable[[Sequence[Cell], Sequence[int], str], int]
VALUES = "abcd"
ROUNDING = 1e-6
# By chance alone 2,000 draws exceed it in 2.5 % of all pairs of two values; balanced ones are far below.
CRAMER = 0.05


def by_rule(free_cells: Sequence[Cell], number: Sequence[int], seed: str) -> int:
    counts = [(cell.values, n) for cell, n in zip(free_cells, number, strict=True) if n]
    return free_cells.index(balanced(free_cells, counts, seed))


def arrivals(free_cells: Sequence[Cell], count: int, seed: str, assign: Assigner = by_rule) -> Sequence[list[int]]:
    number, seen = [0] * len(free_cells), []
    for arrival in range(count):
        number[assign(free_cells, number, f"{seed}:{arrival}")] += 1
        seen.append(list(number))
    return seen


def off(free_cells: Sequence[Cell], number: Sequence[int], names: Sequence[str]) -> float:
    """By how much the values of these factors, taken together, are off their targets at most."""
    total, sums = sum(number), Counter[tuple[str, ...]]()
    for cell, n in zip(free_cells, number, strict=True):
        sums[tuple(cell.values[name] for name in names)] += n - cell.weight * total  # type: ignore[assignment]
    return max(map(abs, sums.values()))


def pairs_of(factors: Factors) -> list[tuple[str, ...]]:
    return [*combinations(factors, 1), *combinations(factors, 2)]


@st.composite
def designs(draw: st.DrawFn, *, weighted: bool, most: int = 3) -> Factors:
    found: dict[str, Factor] = {}
    for name in "xyzw"[: draw(st.integers(1, most))]:
        values = VALUES[: draw(st.integers(2, 4))]
        weight = st.one_of(st.integers(1, 10), st.floats(0.05, 10)) if weighted else st.just(1)
        found[name] = {value: float(draw(weight)) for value in values}
    return found


@given(designs(weighted=False), st.text(max_size=4))
@examples(6)
def test_equal_cells_are_filled_evenly_round_by_round(factors: Factors, seed: str) -> None:
    free = cells(factors, {})
    for number in arrivals(free, 60, seed):
        assert max(number) - min(number) <= 1
        assert off(free, number, list(factors)) < 1
        assert all(off(free, number, names) <= 2 for names in pairs_of(factors))


@given(designs(weighted=True, most=4), st.text(max_size=4))
@examples(6)
def test_weighted_cells_stay_strictly_within_one_of_their_targets(factors: Factors, seed: str) -> None:
    free = cells(factors, {})
    for number in arrivals(free, 60, seed):
        assert off(free, number, list(factors)) < 1 + ROUNDING
        # nothing proves a bound for pairs: the worst of some hundred random designs is 2.4
        assert all(off(free, number, names) <= 3 for names in pairs_of(factors))


# Designs in which whoever looks only at who is behind now brings a cell more than one behind later.
HARD: Sequence[tuple[Sequence[float], ...]] = (
    ((8.48, 1, 3, 3), (1, 3)),
    ((3, 5, 3, 5), (10, 3), (3, 5, 1), (10, 1)),
    ((10, 2, 3, 5), (1, 10, 3), (5, 8.83, 2, 10), (1, 3, 10, 1)),
    ((5, 1, 5, 5), (2, 5), (2, 5, 1), (7.85, 10, 1)),
)


def hard(weights: Sequence[Sequence[float]]) -> Sequence[Cell]:
    return cells({f: dict(zip(VALUES, each, strict=False)) for f, each in zip("xyzw", weights, strict=False)}, {})


@pytest.mark.parametrize("weights", HARD)
def test_designs_that_ask_for_foresight_are_within_one_too(weights: Sequence[Sequence[float]]) -> None:
    free = hard(weights)
    assert max(off(free, number, list(free[0].values)) for number in arrivals(free, 100, "s")) < 1 + ROUNDING


@given(designs(weighted=False), st.lists(st.integers(0, 6), min_size=64, max_size=64), st.text(max_size=4))
@examples(20)
def test_holes_that_drop_outs_have_torn_are_filled_first(factors: Factors, held: list[int], seed: str) -> None:
    free = cells(factors, {})
    number = held[: len(free)]
    for arrival in range(max(number) * len(free) - sum(number)):
        chosen = by_rule(free, number, f"{seed}:{arrival}")
        assert number[chosen] == min(number)
        number[chosen] += 1
    assert len(set(number)) == 1


counted = st.dictionaries(st.tuples(st.sampled_from("ab"), st.sampled_from("abc")), st.integers(1, 9))
caps = st.lists(
    st.builds(
        lambda x, y, most: {"where": {**({"x": x} if x else {}), **({"y": y} if y else {})}, "most": most},
        st.sampled_from(["", "a", "b"]),
        st.sampled_from(["", "a", "b", "c"]),
        st.integers(0, 30),
    ),
    max_size=3,
)
TWO = small(factors={"x": ["a", "b"], "y": {"a": 2, "b": 1, "c": 1, "never": 0}})


def counts_of(held: Mapping[tuple[str, str], int]) -> list[list[Any]]:
    return [[{"x": x, "y": y}, number] for (x, y), number in held.items()]


@given(counted, caps, st.text(max_size=4))
def test_what_is_full_or_switched_off_is_never_given(
    held: dict[tuple[str, str], int], caps: list[dict[str, Any]], seed: str
) -> None:
    def full(values: Mapping[str, str]) -> bool:
        over = [cap for cap in caps if cap["where"].items() <= values.items()]
        has = [sum(n for of, n in counts_of(held) if cap["where"].items() <= of.items()) for cap in over]
        return any(number >= cap["most"] for number, cap in zip(has, over, strict=True))

    every = [cell.values for cell in cells(TWO.file.factors, {})]
    assert len(every) == 6
    known = {"counts": counts_of(held), "caps": caps}
    if all(full(values) for values in every):
        with pytest.raises(Refused, match="All places"):
            assignment_fact(TWO, seed, known)
        return
    got = assignment_fact(TWO, seed, known)["factors"]
    assert got in every
    assert not full(got)


@given(counted, caps, st.text(max_size=4))
def test_an_assignment_can_be_derived_again_from_its_own_fact(
    held: dict[tuple[str, str], int], caps: list[dict[str, Any]], seed: str
) -> None:
    try:
        fact = assignment_fact(TWO, seed, {"counts": counts_of(held), "caps": caps})
    except Refused:
        return
    assert assignment_fact(TWO, seed, fact) == fact
    again = assignment_fact(TWO, seed, {"counts": list(reversed(counts_of(held))), "caps": caps})
    assert again["factors"] == fact["factors"], "in whatever order cells are counted"


def cramers_v(pairs: Sequence[tuple[str, str]]) -> float:
    """How far two factors tell of each other: 0 not at all, 1 wholly."""
    n, both = len(pairs), Counter(pairs)
    one, other = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chi2 = sum((both[a, b] - one[a] * other[b] / n) ** 2 / (one[a] * other[b] / n) for a in one for b in other)
    return float((chi2 / n / (min(len(one), len(other)) - 1)) ** 0.5)


def most_related(assign: Assigner, factors: Factors) -> float:
    """The greatest of Cramér's V of all pairs of factors, over 2,000 assignments one after another."""
    free, number, got = cells(factors, {}), [0] * len(cells(factors, {})), []
    for arrival in range(2_000):
        chosen = assign(free, number, str(arrival))
        number[chosen] += 1
        got.append(free[chosen].values)
    return max(cramers_v([(one[a], one[b]) for one in got]) for a, b in combinations(factors, 2))


INDEPENDENT: Sequence[Factors] = (
    {"x": ("a", "b"), "y": ("a", "b", "c"), "z": ("a", "b")},
    {"x": {"a": 3.0, "b": 1.0}, "y": {"a": 1.0, "b": 2.0, "c": 1.5}},
)


@pytest.mark.parametrize("factors", INDEPENDENT)
def test_factors_tell_nothing_of_each_other(factors: Factors) -> None:
    assert most_related(by_rule, factors) < CRAMER

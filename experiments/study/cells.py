"""The cells of a study: the combinations of its factors' values, each with its share of the participants.

A cell is open while no quota that covers it is reached. Participants count if they have completed the study or are
taking part. The caller passes the counts; they may be of cells of other versions of the study.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Literal

from experiments.errors import NoSuchCell, suggestion
from experiments.study.schema import Factor, FromTag, weights
from experiments.study.sections.recruitment import Quota
from experiments.study.texts import fill, names
from problems.problem import Problem

Pools = Mapping[str, Sequence[Problem]]
# Pairs of factor values and the number of participants with them; cells without participants may be missing.
Counts = Sequence[tuple[Mapping[str, str], int]]
# The most cells of a study. It is limited because each arrival checks every cell.
MOST_CELLS = 2_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of factor values, and its weight while all cells are open; the weights of all cells add up to 1."""

    values: Mapping[str, str]
    weight: float

    def within(self, where: Mapping[str, str]) -> bool:
        return matches(self.values, where)


def cells(factors: Mapping[str, Factor], pools: Pools) -> tuple[Cell, ...]:
    """All cells that can be assigned, in the order of the factors; a single empty one if there are no factors."""
    found = [Cell({}, 1.0)]
    for name, factor in factors.items():
        found = [
            Cell({**cell.values, name: value}, cell.weight * share)
            for cell in found
            for value, share in _shares(factor, pools, cell.values).items()
        ]
    return tuple(found)


def outside_cell(factors: Mapping[str, Factor], pools: Pools, most: int = MOST_CELLS) -> str | None:
    """The first with which the number of cells exceeds `most`, of which no more are built; None without one."""
    found: list[Mapping[str, str]] = [{}]
    for name, factor in factors.items():
        drawn = ({**got, name: value} for got in found for value in _shares(factor, pools, got))
        found = list(islice(drawn, most + 1))
        if len(found) > most:
            return name
    return None


def options_of(factor: Factor, pools: Pools, got: Mapping[str, str]) -> dict[str, float]:
    """The values that a factor can have, with their weights, given the values `got` of the factors above it."""
    if not isinstance(factor, FromTag):
        return weights(factor)
    pool, _, tag = factor.one_of.partition(".")
    wanted = {key: fill(value, lambda name: got.get(name, "")) for key, value in factor.where.items()}
    return dict.fromkeys(values_of(pools[pool], tag, wanted), 1.0)


def _shares(factor: Factor, pools: Pools, got: Mapping[str, str]) -> dict[str, float]:
    options = {value: weight for value, weight in options_of(factor, pools, got).items() if weight > 0}
    return {value: weight / sum(options.values()) for value, weight in options.items()}


def open_cells(all_cells: Iterable[Cell], counts: Counts, quotas: Iterable[Quota]) -> tuple[Cell, ...]:
    reached = [cap.where for cap in quotas if sum(n for values, n in counts if matches(values, cap.where)) >= cap.max]
    return tuple(cell for cell in all_cells if not any(cell.within(where) for where in reached))


@dataclass(frozen=True, slots=True)
class CellStatus:
    """`planned` is its share of new participants among open cells, `wanted` how many the quotas want to complete it
    (None without a quota). `shut` is the reason if it is closed; `planned` is then None."""

    values: Mapping[str, str]
    complete: int
    live: int
    planned: float | None
    wanted: float | None
    shut: Literal["", "off", "full"] = ""


def cell_statuses(cell_counts: Sequence[tuple[Cell, int, int]], quotas: Sequence[Quota]) -> tuple[CellStatus, ...]:
    """The cells against their quotas; `cell_counts` has each with its numbers of completed and running sessions."""
    counts = [(cell.values, done + live) for cell, done, live in cell_counts]
    every = [cell for cell, _, _ in cell_counts]
    free = open_cells(every, counts, quotas)
    whole = sum(cell.weight for cell in free) or 1.0
    opened = {id(cell) for cell in free}
    return tuple(
        CellStatus(cell.values, done, live, cell.weight / whole, wanted)
        if id(cell) in opened
        else CellStatus(cell.values, done, live, None, wanted, _shut(cell, quotas))
        for (cell, done, live), wanted in zip(cell_counts, wanted_in(every, quotas), strict=True)
    )


def wanted_overall(quotas: Iterable[Quota]) -> int | None:
    """The number of participants wanted in all; None where no quota gives it."""
    return min((cap.max for cap in quotas if not cap.where), default=None)


def wanted_in(cells: Sequence[Cell], quotas: Sequence[Quota]) -> tuple[float | None, ...]:
    """The numbers in the order of the cells; None where no quota gives it. A quota is shared out by weights; what a
    cell cannot take of the one for all, because a quota of its own is smaller, goes to the others."""
    parts = [(cap, sum(cell.weight for cell in cells if cell.within(cap.where))) for cap in quotas if cap.where]
    own = [
        min((cap.max * cell.weight / whole for cap, whole in parts if whole and cell.within(cap.where)), default=inf)
        for cell in cells
    ]
    overall = wanted_overall(quotas)
    shares: dict[int, float] = dict(enumerate(own)) if overall is None else {}
    rest = float(overall or 0)
    while len(shares) < len(cells):
        left = [n for n in range(len(cells)) if n not in shares]
        whole = sum(cells[n].weight for n in left)
        fair = {n: rest * cells[n].weight / whole if whole else 0.0 for n in left}
        full = {n: own[n] for n in left if own[n] < fair[n]}
        shares |= full or fair
        rest -= sum(full.values())
    return tuple(None if shares[n] == inf else shares[n] for n in range(len(cells)))


def _shut(cell: Cell, quotas: Sequence[Quota]) -> Literal["off", "full"]:
    return "off" if any(held.max == 0 and matches(cell.values, held.where) for held in quotas) else "full"


def factor_values(factor: object, problems: Mapping[str, Sequence[Problem]]) -> tuple[str, ...]:
    if not isinstance(factor, FromTag):
        return tuple(weights(factor))  # type: ignore[arg-type]
    pool, _, tag = factor.one_of.partition(".")
    return drawn_values(problems.get(pool, ()), tag, factor.where)


def drawn_values(problems: Sequence[Problem], tag: str | None, where: Mapping[str, str]) -> tuple[str, ...]:
    """The values that can be drawn from a pool: those of a tag, or without a tag the ids of the problems."""
    fixed = {name: value for name, value in where.items() if not list(names(value))}
    return tuple(values_of(problems, tag, fixed) if tag else (item.id for item in matching(problems, fixed)))


def parse_values(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Factors with a value each, written as `condition=answer-first`; raises NoSuchCell for anything else."""
    found: dict[tuple[str, str], None] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise NoSuchCell(f"{text!r} is not a factor with a value; write it as condition=answer-first")
        found[name, value] = None
    return tuple(found)


def parse_cell(texts: Iterable[str], factors: Mapping[str, Factor], pools: Pools) -> dict[str, str]:
    """Factors of a study with one value each, written as for `parse_values`; raises NoSuchCell if no cell has them."""
    found: dict[str, str] = {}
    for name, value in parse_values(texts):
        if name not in factors:
            raise NoSuchCell(f"{name}={value}: there is no such factor{suggestion(name, factors)}")
        if name in found:
            raise NoSuchCell(f"{name}={value}: a participant has one value of {name}; {found[name]} was given as well.")
        values = {cell.values[name] for cell in cells(factors, pools)}
        if value not in values:
            raise NoSuchCell(f"{name}={value}: {name} has no such value{suggestion(value, values)}")
        found[name] = value
    return found


def matches(values: Mapping[str, str], where: Mapping[str, str]) -> bool:
    return all(values.get(name) == value for name, value in where.items())


def matching(problems: Sequence[Problem], wanted: Mapping[str, str]) -> list[Problem]:
    return [item for item in problems if matches(item.tags, wanted)] if wanted else list(problems)


def values_of(problems: Sequence[Problem], tag: str, wanted: Mapping[str, str]) -> list[str]:
    """The distinct values of a tag among the matching problems, in the pool's order."""
    return list(dict.fromkeys(item.tags[tag] for item in matching(problems, wanted) if tag in item.tags))

"""Assigns a participant to a cell, a combination of factor values: the open cell that is furthest behind its share.

The counts are of participants who have completed the study or are taking part, not of arrivals. No cell may get a whole
participant ahead of its share or behind it (the upper and lower quota of Balinski & Young 1975); the cells that this
allows are found by deadlines, as in Baruah et al. 1996. Of these the cell is chosen whose factors and pairs of factors
are furthest behind; the participant's seed breaks ties. So cells stay within one of their targets, margins close to
theirs, and factors independent. Places of drop-outs are filled first. The event records the counts, so that every
assignment can be recomputed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from heapq import heapify, heapreplace
from itertools import combinations
from math import ceil
from typing import Any

from experiments.errors import Refused, StudyError, ValidationIssue
from experiments.events import Data
from experiments.session.seeded_random import pick
from experiments.study.cells import Cell, Counts, Pools, cells, open_cells, options_of
from experiments.study.schema import Factor
from experiments.study.sections.recruitment import Quota
from experiments.study.study import Study

BALANCED = "balanced@2"
EPSILON = 1e-9
# How many future arrivals are considered. A cell with a later deadline waits, which weakens no bound. Without this
# limit, weights of one in a million would block the server.
AHEAD = 2_000
FULL = "All places in this study are taken at the moment."


def assignment_fact(study: Study, seed: str, known: Data) -> dict[str, Any]:
    """The data of `assigned`: the factors, and the counts and quotas that decided. `known` has `counts` (participants
    in each cell) and `caps` (quotas); without counts factors are random. Raises Refused if no cell is open."""
    if "counts" not in known:
        return {"factors": drawn_factors(study.factors, study.pools, seed)}
    counts = [(dict(values), int(number)) for values, number in known["counts"]]
    quotas = [Quota.from_data(cap) for cap in known.get("caps", ())]
    free = open_cells_or_refuse(study, counts, quotas)
    return {
        "factors": dict(balanced(free, counts, seed).values),
        "counts": [[values, number] for values, number in counts if number],
        "caps": [cap.as_data() for cap in quotas],
        "method": BALANCED,
    }


def open_cells_or_refuse(study: Study, counts: Counts, quotas: Sequence[Quota]) -> tuple[Cell, ...]:
    free = open_cells(cells(study.factors, study.pools), counts, quotas)
    if not free:
        raise Refused("full", FULL)
    return free


def balanced(free_cells: Sequence[Cell], counts: Counts, seed: str) -> Cell:
    """The cell that the next participant is assigned to (see the module's docstring)."""
    number = _numbers(free_cells, counts)
    total, whole = sum(number) + 1, sum(cell.weight for cell in free_cells)
    share = [cell.weight / whole for cell in free_cells]
    behind = [p * total - n for p, n in zip(share, number, strict=True)]
    first = max(behind)
    if first >= 1 - EPSILON:
        best = [i for i, due in enumerate(behind) if due >= first - EPSILON]
    else:
        due_by = {i: _deadline(share[i], number[i]) for i, due in enumerate(behind) if due > EPSILON}
        last = max(_last(share, number, total), min(due_by.values()))
        best = [i for i, deadline in due_by.items() if deadline <= last]
    margins = _margins(free_cells, behind)
    return free_cells[min(best, key=lambda i: (-round(margins[i], 6), _chance(free_cells[i], seed)))]


def _deadline(share: float, number: int) -> int:
    """The number of the arrival by which a cell must get its next participant, so as not to be a whole one behind."""
    return ceil((number + 1) / max(share, EPSILON) - EPSILON)


def _last(share: Sequence[float], number: Sequence[int], total: int) -> int:
    """The latest deadline that a cell may have to get the arrival `total`, so that all others can still be met: the
    first by which more participants are needed than arrive, and at most `total` + AHEAD."""
    waiting = [(_deadline(p, n), p, n) for p, n in zip(share, number, strict=True)]
    latest, needed = min(max(waiting)[0], total + AHEAD), 0
    heapify(waiting)
    while (at := waiting[0][0]) < latest:
        while waiting[0][0] == at:
            _, p, n = waiting[0]
            heapreplace(waiting, (_deadline(p, n + 1), p, n + 1))
            needed += 1
        if needed > at - total:
            return at
    return latest


def _numbers(free_cells: Sequence[Cell], counts: Counts) -> list[int]:
    """Counts from other versions of the study may have further factors, which are ignored."""
    names = list(free_cells[0].values)
    found: Counter[tuple[str | None, ...]] = Counter()
    for values, number in counts:
        found[tuple(values.get(name) for name in names)] += number
    return [found[tuple(cell.values.values())] for cell in free_cells]


def _margins(free_cells: Sequence[Cell], behind: Sequence[float]) -> list[float]:
    """For each cell, how far its factor values and pairs of them are behind, summed over all cells that share them."""
    names = list(free_cells[0].values)
    groups = [(name,) for name in names] + list(combinations(names, 2))
    sums: dict[tuple[tuple[str, ...], tuple[str, ...]], float] = {}
    keys = [[(group, tuple(cell.values[name] for name in group)) for group in groups] for cell in free_cells]
    for own, due in zip(keys, behind, strict=True):
        for key in own:
            sums[key] = sums.get(key, 0.0) + due
    return [sum(sums[key] for key in own) for own in keys]


def _chance(cell: Cell, seed: str) -> bytes:
    return sha256(f"{seed}:cell:{list(cell.values.values())}".encode()).digest()


def drawn_factors(factors: Mapping[str, Factor], pools: Pools, seed: str) -> dict[str, str]:
    """The values, drawn in the order of declaration. Raises StudyError if a factor has no value left."""
    got: dict[str, str] = {}
    for name, factor in factors.items():
        options = options_of(factor, pools, got)
        if not any(options.values()):
            raise StudyError("factors", [ValidationIssue(f"factors.{name}", f"no value is left to draw for {got}")])
        got[name] = pick(options, seed, f"factor:{name}")
    return got

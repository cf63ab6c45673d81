"""Draws the problems (or groups of problems) of a loop for a participant, the values that vary with them, and the order
of what a step shows.

A draw depends on the seed and the path, so equal seeds give equal sessions. It is recorded and never repeated. A loop
with a target also depends on how often all participants have drawn each problem; the caller passes those counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from experiments.errors import StudyError, ValidationIssue
from experiments.events import Data
from experiments.session.seeded_random import shuffled, spread
from experiments.study.cells import matching, values_of
from experiments.study.latin_square import LATIN, apply_order, of_companions, of_items
from experiments.study.location import Location
from experiments.study.schema import Loop
from experiments.study.step import Step
from problems.problem import Problem


def draw_fact(location: Location, taken: Mapping[str, int]) -> dict[str, Any]:
    """The data of `drawn`; raises StudyError if the pool is too small. `taken` (draws by everybody) is for targets."""
    node = location.node
    assert isinstance(node, Loop)  # noqa: S101
    wanted = {tag: location.fill_stored(value) for tag, value in node.where.items()}
    chosen, seen = _items(location, node, wanted, taken)
    wish = node.take or 1
    if len(chosen) < wish:
        words = f"needs {wish} of {node.of} where {wanted or 'anything'}; {len(chosen)} are left"
        raise StudyError(location.study.name, [ValidationIssue(location.path, words)])
    items: list[dict[str, str]] = [{node.each: item} for item in chosen]
    for name, companions in node.vary.items():
        order: Sequence[str] = shuffled(companions, location.state.seed, f"{location.path}:{name}")
        if node.vary_order == LATIN:
            order = apply_order(companions, location.state.factors[of_companions(node, name)])
        for number, item in enumerate(items):
            item[name] = order[number % len(order)]
    return {"of": node.of, "items": items, **({"taken": seen} if node.target else {})}


def order_fact(location: Location) -> Data:
    """The data of the event `ordered` for this place; empty if nothing is shown in random order there."""
    step = location.node
    return step.orders(location, partial(_shuffled, location)) if isinstance(step, Step) else {}


def _shuffled(location: Location, items: Sequence[str], label: str) -> Sequence[str]:
    return shuffled(items, location.state.seed, label)


def _items(
    location: Location, loop: Loop, wanted: Mapping[str, str], taken: Mapping[str, int]
) -> tuple[list[str], dict[str, int]]:
    """The drawn items, and the counts of the problems that could have been drawn, without counts of 0."""
    seed, used = location.state.seed, _used(location, loop.of)
    if not loop.of:
        return [str(number + 1) for number in range(loop.take or 1)], {}
    pool = location.study.pools[loop.pool]
    if loop.tag is not None:
        values = [value for value in values_of(pool, loop.tag, wanted) if value not in used]
        return _in_order(location, loop, _chosen(values, loop, seed, location.path)), {}
    fitting = [item for item in matching(pool, wanted) if item.id not in used]
    if loop.target:
        seen = {item.id: taken[item.id] for item in fitting if taken.get(item.id)}
        return _fewest(fitting, loop, seed, location.path, taken), seen
    return _in_order(location, loop, _spread(fitting, loop, seed, location.path)), {}


def _in_order(location: Location, loop: Loop, chosen: Sequence[str]) -> list[str]:
    """The chosen items; in the order of the participant's row if the loop uses a Latin square."""
    if loop.order != LATIN:
        return list(chosen)
    pool = location.study.pools[loop.pool]
    names = values_of(pool, loop.tag, {}) if loop.tag else [item.id for item in pool]
    return apply_order(sorted(chosen, key=names.index), location.state.factors[of_items(loop)])


def _used(location: Location, of: str) -> set[str]:
    draws = [draw for draw in location.state.draws.values() if draw.of == of]
    return {value for draw in draws for item in draw.items for value in list(item.values())[:1]}


def _chosen(values: Sequence[str], loop: Loop, seed: str, label: str) -> list[str]:
    ordered = list(values if loop.order == "listed" else shuffled(values, seed, label))
    return ordered[: loop.take or loop.up_to]


def _fewest(problems: Sequence[Problem], loop: Loop, seed: str, label: str, taken: Mapping[str, int]) -> list[str]:
    """Ids of the problems drawn least often, ties at random. They are shuffled, so their order reveals no counts."""
    ordered = sorted(shuffled([item.id for item in problems], seed, label), key=lambda item: taken.get(item, 0))
    return list(shuffled(ordered[: loop.take or loop.up_to], seed, f"{label}:order"))


def _spread(problems: Sequence[Problem], loop: Loop, seed: str, label: str) -> list[str]:
    """Ids of problems, drawn as evenly from each stratum as the pool allows, and ordered by stratum."""
    if loop.strata is None:
        return _chosen([item.id for item in problems], loop, seed, label)
    strata: dict[str, list[str]] = {}
    for item in problems:
        strata.setdefault(item.tags.get(loop.strata, ""), []).append(item.id)
    counts = spread(strata, loop.take or loop.up_to or len(problems))
    ordered = {key: shuffled(ids, seed, label) if loop.order == "shuffled" else ids for key, ids in strata.items()}
    return [item for key, ids in ordered.items() for item in ids[: counts[key]]]

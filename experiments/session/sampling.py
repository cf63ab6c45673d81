"""What a loop draws for a participant: problems (or groups of them) that fit, and what goes with each.

Reads the seed and the path, so the same seed gives the same study; the outcome is recorded and never drawn again. A
loop with a target also reads how often each problem is taken by all participants, which the world counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.errors import StudyError, ValidationIssue
from experiments.session.seeded_random import shuffled, spread
from experiments.session.state import Location
from experiments.study.cells import matching, values_of
from experiments.study.latin_square import LATIN, apply_order, of_companions, of_items
from experiments.study.schema import Loop
from problems.problem import Problem


def draw_fact(place: Location, taken: Mapping[str, int]) -> dict[str, Any]:
    """The data of a `drawn` fact for the undrawn loop at this place; raises StudyError where the pool is too small.

    `taken` says how often each problem is taken already; only loops with a target read it.
    """
    node = place.node
    assert isinstance(node, Loop)  # noqa: S101
    wanted = {tag: place.fill(value) for tag, value in node.where.items()}
    chosen, seen = _items(place, node, wanted, taken)
    wish = node.take or 1
    if len(chosen) < wish:
        words = f"needs {wish} of {node.of} where {wanted or 'anything'}; {len(chosen)} are left"
        raise StudyError(place.study.name, [ValidationIssue(place.path, words)])
    items: list[dict[str, str]] = [{node.each: item} for item in chosen]
    for name, companions in node.vary.items():
        order: Sequence[str] = shuffled(companions, place.state.seed, f"{place.path}:{name}")
        if node.vary_order == LATIN:
            order = apply_order(companions, place.state.factors[of_companions(node, name)])
        for number, item in enumerate(items):
            item[name] = order[number % len(order)]
    return {"of": node.of, "items": items, **({"taken": seen} if node.target else {})}


def _items(
    place: Location, node: Loop, wanted: Mapping[str, str], taken: Mapping[str, int]
) -> tuple[list[str], dict[str, int]]:
    """What is drawn, and how often each of those that could have been was taken, but for those that never were."""
    seed, used = place.state.seed, _used(place, node.of)
    if not node.of:
        return [str(number + 1) for number in range(node.take or 1)], {}
    pool = place.study.pools[node.pool]
    if node.tag is not None:
        values = [value for value in values_of(pool, node.tag, wanted) if value not in used]
        return _in_order(place, node, _chosen(values, node, seed, place.path)), {}
    fitting = [item for item in matching(pool, wanted) if item.id not in used]
    if node.target:
        seen = {item.id: taken[item.id] for item in fitting if taken.get(item.id)}
        return _fewest(fitting, node, seed, place.path, taken), seen
    return _in_order(place, node, _spread(fitting, node, seed, place.path)), {}


def _in_order(place: Location, node: Loop, chosen: Sequence[str]) -> list[str]:
    """What was chosen, in the order of the participant's row where there is a Latin square."""
    if node.order != LATIN:
        return list(chosen)
    pool = place.study.pools[node.pool]
    names = values_of(pool, node.tag, {}) if node.tag else [item.id for item in pool]
    return apply_order(sorted(chosen, key=names.index), place.state.factors[of_items(node)])


def _used(place: Location, of: str) -> set[str]:
    """What loops over the same pool have already drawn for this participant."""
    draws = [draw for draw in place.state.draws.values() if draw.of == of]
    return {value for draw in draws for item in draw.items for value in list(item.values())[:1]}


def _chosen(values: Sequence[str], node: Loop, seed: str, label: str) -> list[str]:
    ordered = list(values if node.order == "listed" else shuffled(values, seed, label))
    return ordered[: node.take or node.up_to]


def _fewest(pool: Sequence[Problem], node: Loop, seed: str, label: str, taken: Mapping[str, int]) -> list[str]:
    """Ids of the problems taken least often, equal ones by chance; their order is shuffled anew and tells no counts."""
    ordered = sorted(shuffled([item.id for item in pool], seed, label), key=lambda item: taken.get(item, 0))
    return list(shuffled(ordered[: node.take or node.up_to], seed, f"{label}:order"))


def _spread(pool: Sequence[Problem], node: Loop, seed: str, label: str) -> list[str]:
    """Ids of problems, taken as evenly as the supply allows from each stratum, stratum after stratum."""
    if node.strata is None:
        return _chosen([item.id for item in pool], node, seed, label)
    strata: dict[str, list[str]] = {}
    for item in pool:
        strata.setdefault(item.tags.get(node.strata, ""), []).append(item.id)
    counts = spread(strata, node.take or node.up_to or len(pool))
    ordered = {key: shuffled(ids, seed, label) if node.order == "shuffled" else ids for key, ids in strata.items()}
    return [item for key, ids in ordered.items() for item in ids[: counts[key]]]

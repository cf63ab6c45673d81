"""Which values of the study's factors a participant gets.

Each factor is drawn from its own label of the participant's seed, so factors are independent by construction, and any
assignment can be re-derived from the seed alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.core.chance import pick
from experiments.core.study import Factor, OneOf, weights
from experiments.core.template import fill
from experiments.errors import Fault, StudyError
from problems.item import Problem


def assign(factors: Mapping[str, Factor], pools: Mapping[str, Sequence[Problem]], seed: str) -> dict[str, str]:
    """The value of every factor, in the order in which they are declared."""
    got: dict[str, str] = {}
    for name, factor in factors.items():
        options = _tagged(factor, pools, got) if isinstance(factor, OneOf) else weights(factor)
        if not any(options.values()):
            raise StudyError("factors", [Fault(f"factors.{name}", f"no value is left to draw for {got}")])
        got[name] = pick(options, seed, f"factor:{name}")
    return got


def _tagged(factor: OneOf, pools: Mapping[str, Sequence[Problem]], got: Mapping[str, str]) -> dict[str, float]:
    pool, _, tag = factor.one_of.partition(".")
    wanted = {key: fill(value, lambda name: got.get(name, "")) for key, value in factor.where.items()}
    return dict.fromkeys(values_of(pools[pool], tag, wanted), 1.0)


def matching(pool: Sequence[Problem], wanted: Mapping[str, str]) -> list[Problem]:
    """The problems that carry all the wanted tags."""
    return [item for item in pool if all(item.tags.get(key) == value for key, value in wanted.items())]


def values_of(pool: Sequence[Problem], tag: str, wanted: Mapping[str, str]) -> list[str]:
    """The different values of a tag among the matching problems, in the pool's order."""
    return list(dict.fromkeys(item.tags[tag] for item in matching(pool, wanted) if tag in item.tags))

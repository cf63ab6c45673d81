"""The names in scope at a location of a study, and the values that they can have there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from experiments.study.base_model import Condition
from experiments.study.schema import FromTag, weights
from experiments.study.template import names
from problems.problem import Problem

Values = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class NameScope:
    """The names that can be referred to at a location. `values` has the values of factors and loop variables; `limits`
    has those with which the location is reached, by the conditions around it; `asked` collects the uses of models.
    `problems` are those of the loop around it."""

    known: frozenset[str]
    steps: frozenset[str] = frozenset()
    have: frozenset[str] = frozenset()
    values: Values = field(default_factory=dict)
    limits: Mapping[str, frozenset[str]] = field(default_factory=dict)
    asked: list[ModelUse] = field(default_factory=list, compare=False)
    problems: Sequence[Problem] = ()

    def within(self, when: Condition | None) -> Self:
        """The names that are known inside of what is only done if a condition holds."""
        limits = dict(self.limits)
        for name, wanted in (when or {}).items():
            limits[name] = limits.get(name, as_words(wanted)) & as_words(wanted)
        return replace(self, limits=limits)

    def possible(self, name: str) -> tuple[str, ...]:
        return tuple(value for value in self.values[name] if name not in self.limits or value in self.limits[name])


@dataclass(frozen=True)
class ModelUse:
    """A location at which a model may reply."""

    model: str
    at: str
    names: NameScope


def as_words(wanted: object) -> frozenset[str]:
    """The values that a condition allows, as texts. A truth value stands for a checkbox, and for an option of that
    name."""
    each = wanted if isinstance(wanted, tuple | list) else (wanted,)
    return frozenset(map(str, each)) | {str(item).lower() for item in each if isinstance(item, bool)}


def factor_values(factor: object, pools: Mapping[str, Sequence[Problem]]) -> tuple[str, ...]:
    if not isinstance(factor, FromTag):
        return tuple(weights(factor))  # type: ignore[arg-type]
    pool, _, tag = factor.one_of.partition(".")
    return drawn_values(pools.get(pool, ()), tag, factor.where)


def drawn_values(pool: Iterable[Problem], tag: str | None, where: Mapping[str, str]) -> tuple[str, ...]:
    """The values that can be drawn from a pool: those of a tag, or without a tag the ids of the problems."""
    fixed = {name: value for name, value in where.items() if not list(names(value))}
    fit = [item for item in pool if all(item.tags.get(name) == value for name, value in fixed.items())]
    return tuple(dict.fromkeys(item.tags[tag] if tag else item.id for item in fit if not tag or tag in item.tags))

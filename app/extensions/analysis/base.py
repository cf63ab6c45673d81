"""The steps of an analysis, each of which computes findings from released tables.

Each analysis has `PARTS`, in the order of the report, and `NAMES`: patterns of its estimates' names, with their
descriptions. Steps marked `quick` are also shown in the console, and recomputed while participants take part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, TypeAlias

import pandas as pd

from app.extensions.analysis.estimates import Finding

P = ParamSpec("P")
# Released tables by name, with the columns that a step needs; empty if a study has no rows.
Tables: TypeAlias = Mapping[str, pd.DataFrame]


@dataclass(frozen=True, slots=True)
class TableCall:
    """A value computed from tables, each with the columns it needs, and the code that computes it in a notebook."""

    tables: Mapping[str, tuple[str, ...]]
    value: Callable[[Tables], Any]
    code: str


def table(source: str | Callable[..., pd.DataFrame], columns: tuple[str, ...], code: str = "") -> TableCall:
    """A released table by its name, or one that a function of data_frames.py reads from events; it has its name."""
    name = source if isinstance(source, str) else source.__name__
    own = f'frame(database, study, "{name}", origin)' if name == source else f"{name}(database, study, origin)"
    return TableCall({name: columns}, lambda tables: tables[name], code or own)


def call(function: Callable[..., Any], *arguments: TableCall | str | tuple[str, ...]) -> TableCall:
    tables: dict[str, tuple[str, ...]] = {}
    for one in arguments:
        for name, columns in one.tables.items() if isinstance(one, TableCall) else ():
            tables[name] = tuple(dict.fromkeys((*tables.get(name, ()), *columns)))

    def value(given: Tables) -> Any:
        return function(*(one.value(given) if isinstance(one, TableCall) else one for one in arguments))

    return TableCall(tables, value, f"{function.__name__}({', '.join(map(_code, arguments))})")


def _code(table_argument: TableCall | str | tuple[str, ...]) -> str:
    if isinstance(table_argument, TableCall):
        return table_argument.code
    return f'"{table_argument}"' if isinstance(table_argument, str) else repr(table_argument)


@dataclass(frozen=True, slots=True)
class AnalysisStep:
    call: TableCall
    quick: bool = False

    @property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        return self.call.tables

    def analyse(self, tables: Tables) -> tuple[Finding, ...]:
        return tuple(replace(finding, code=self.call.code) for finding in self.call.value(tables))


def analysis(function: Callable[P, Iterator[Finding]]) -> Callable[P, tuple[Finding, ...]]:
    """Make a generator of findings return those that have estimates."""

    @wraps(function)
    def collected(*args: P.args, **kwargs: P.kwargs) -> tuple[Finding, ...]:
        return tuple(finding for finding in function(*args, **kwargs) if finding.estimates)

    return collected


def each(rows: pd.DataFrame) -> Iterator[Any]:
    """Iterate over the rows of a table, with its columns as attributes; typed Any, because columns differ."""
    yield from rows.itertuples()


# A factor with more values (such as batches of questions) has no figures by condition.
MOST_VALUES = 12
# In a frame's `attrs`: the values of each factor in the order of the study file, whose first is the reference.
IN_FILE = "values in the file"


@dataclass(frozen=True, slots=True)
class ComparedArm:
    """A condition as an estimate names it; `value` is the factor with its value, empty for all conditions together."""

    label: str
    groups: Mapping[str, str]
    value: tuple[str, ...] = ()


def by_arm(rows: pd.DataFrame) -> Iterator[tuple[ComparedArm, pd.DataFrame]]:
    """The rows by their column `arms`, a mapping of factors to values. Factors without a second value have no arms."""
    factors = compared_factors(rows)
    yield ComparedArm("all", dict.fromkeys(factors, "all") or {"group": "all"}), rows
    for factor, values in factors.items():
        for value in values:
            own = [arms.get(factor) == value for arms in rows["arms"]]
            yield ComparedArm(f"{factor}: {value}", {factor: value}, (factor, value)), rows[own]


def compared_factors(rows: pd.DataFrame) -> Mapping[str, tuple[str, ...]]:
    """The values of each factor that has several: in the order of IN_FILE, others in that of their first rows."""
    found: dict[str, dict[str, None]] = {}
    for arms in rows["arms"]:
        for factor, value in arms.items():
            found.setdefault(factor, {}).setdefault(value)
    several = {factor: tuple(values) for factor, values in found.items() if 1 < len(values) <= MOST_VALUES}
    for factor, declared in rows.attrs.get(IN_FILE, {}).items():
        if values := several.get(factor):
            known = [value for value in declared if value in values]
            several[factor] = tuple(dict.fromkeys((*known, *values)))
    return several

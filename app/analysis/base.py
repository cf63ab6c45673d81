"""What an analysis is made of: parts, each of which makes findings of some released tables.

Each schema's folder has `PARTS`, in the order of the report, and `NAMES`: patterns of its estimates' names, each with
what the figure says. A part that is `quick` is shown in the console too, and computed again while people take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from app.analysis.estimates import Finding

Tables: TypeAlias = Mapping[str, pd.DataFrame]
"""Released tables by name, with the columns that a part needs; empty where a study has no rows."""


@dataclass(frozen=True, slots=True)
class AnalysisStep:
    """One step of an analysis."""

    title: str
    """What the display of progress says."""
    tables: Mapping[str, tuple[str, ...]]
    """The tables that it reads, each with the columns that it needs."""
    analyse: Callable[[Tables], tuple[Finding, ...]]
    quick: bool = False


def of_one(
    title: str, table: str, columns: tuple[str, ...], analyse: Callable[[pd.DataFrame], tuple[Finding, ...]], *,
    quick: bool = False,
) -> AnalysisStep:  # fmt: skip
    """A part that reads one table."""
    return AnalysisStep(title, {table: columns}, lambda tables: analyse(tables[table]), quick)


def each(table: pd.DataFrame) -> Iterator[Any]:
    """The rows of a table, whose columns are attributes; of any type, as only their maker knows it."""
    yield from table.itertuples()

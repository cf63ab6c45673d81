"""The steps of an analysis, each of which computes findings from released tables.

Each schema's folder has `PARTS`, in the order of the report, and `NAMES`: patterns of its estimates' names, with their
descriptions. Steps marked `quick` are also shown in the console, and recomputed while participants take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pandas as pd

from app.analysis.estimates import Finding

Tables: TypeAlias = Mapping[str, pd.DataFrame]
"""Released tables by name, with the columns that a step needs; empty if a study has no rows."""


@dataclass(frozen=True, slots=True)
class AnalysisStep:
    """One step of an analysis."""

    title: str
    """The text of the progress display."""
    tables: Mapping[str, tuple[str, ...]]
    """The tables that it reads, each with the columns that it needs."""
    analyse: Callable[[Tables], tuple[Finding, ...]]
    quick: bool = False


def of_one(
    title: str, table: str, columns: tuple[str, ...], analyse: Callable[[pd.DataFrame], tuple[Finding, ...]], *,
    quick: bool = False,
) -> AnalysisStep:  # fmt: skip
    return AnalysisStep(title, {table: columns}, lambda tables: analyse(tables[table]), quick)


def each(table: pd.DataFrame) -> Iterator[Any]:
    """Iterate over the rows of a table, with its columns as attributes; typed Any, because columns differ."""
    yield from table.itertuples()

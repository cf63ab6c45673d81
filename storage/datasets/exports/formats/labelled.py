"""A table with labels, from which the files of SPSS and Stata are made.

Texts of a closed list become the numbers 1, 2, ... in the order of the release, labelled with the texts; numbers keep
their values, and are labelled with their meanings. A column's label is its meaning. JSON values are JSON texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from storage.datasets.variable_names import variable_names
from storage.schemas.base import Column

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class LabelledTable:
    """A data frame, with the labels of its variables and of their values, by the names of the variables."""

    frame: pd.DataFrame
    variables: Mapping[str, str]
    values: dict[str, dict[float, str]]
    texts: tuple[str, ...]
    """The variables that are texts."""


def labelled(columns: Sequence[Column], batches: Iterable[Sequence[Sequence[Any]]], suffix: str) -> LabelledTable:
    """Make a table of rows, with variables named as the format with this suffix allows."""
    import pandas as pd

    names = variable_names(columns, suffix)
    cells = list(zip(*chain.from_iterable(batches), strict=True)) or [()] * len(columns)
    series = {names[c.name]: _series(c, some) for c, some in zip(columns, cells, strict=True)}
    return LabelledTable(
        frame=pd.DataFrame(series),
        variables={names[column.name]: column.meaning for column in columns},
        values={names[column.name]: labels for column in columns if (labels := value_labels(column))},
        texts=tuple(names[c.name] for c in columns if c.kind in ("text", "json") and not c.form.choices),
    )


def value_labels(column: Column) -> dict[float, str]:
    """The labels of a closed column's numbers; empty for other columns."""
    if column.form.choices:
        return dict(enumerate(column.form.choices, 1))
    if column.kind == "integer":
        return {int(value): label or value for value, label in column.form.labels.items()}
    return {}


def _series(column: Column, cells: Sequence[Any]) -> pd.Series[Any]:
    import pandas as pd

    if column.form.choices:
        codes = {text: number for number, text in value_labels(column).items()}
        return pd.Series([None if cell is None else codes[cell] for cell in cells], dtype="float64")
    if column.kind in ("integer", "number"):
        return pd.Series(cells, dtype="float64")
    return pd.Series(["" if cell is None else cell for cell in cells], dtype="object")

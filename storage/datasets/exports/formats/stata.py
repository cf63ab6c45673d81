"""Stata 14 and later (`.dta`, format 118), by pandas, with labels (labelled.py). Long texts are of type strL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from storage.datasets.exports.formats.labelled import labelled
from storage.schemas.base import Column

LABEL = 80
"""The longest label of a variable, in characters (Stata: help limits)."""
LONG = 2045
"""The longest text that is not of type strL, in bytes (Stata: help data types)."""
CREATED = datetime(1970, 1, 1)
"""The time of creation, which is not part of the data."""


def write(out: Path, columns: Sequence[Column], batches: Iterable[Sequence[Sequence[Any]]]) -> None:
    """Write rows."""
    table = labelled(columns, batches, "dta")
    table.frame.to_stata(
        out,
        write_index=False,
        version=118,
        time_stamp=CREATED,
        variable_labels={name: label[:LABEL] for name, label in table.variables.items()},
        value_labels=table.values,
        convert_strl=[name for name in table.texts if any(len(text.encode()) > LONG for text in table.frame[name])],
    )

"""JSON Lines: an object for each row, with the values of JSON columns themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import orjson

from storage.schemas.base import Column

LINE = orjson.OPT_APPEND_NEWLINE


def write(out: Path, columns: Sequence[Column], batches: Iterable[Sequence[Sequence[Any]]]) -> None:
    """Write rows in UTF-8; an unknown value is null."""
    names = [column.name for column in columns]
    json = [number for number, column in enumerate(columns) if column.kind == "json"]
    with out.open("wb") as file:
        for rows in batches:
            whole = [_with_values(row, json) for row in rows] if json else rows
            file.writelines(orjson.dumps(dict(zip(names, row, strict=True)), option=LINE) for row in whole)


def _with_values(row: Sequence[Any], json: Sequence[int]) -> list[Any]:
    """The cells of a row, with the values of JSON columns."""
    cells = list(row)
    for number in json:
        cells[number] = None if row[number] is None else orjson.Fragment(row[number])
    return cells

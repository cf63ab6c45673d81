"""How a csv reader takes a column: whole numbers as floats if a cell is blank or has a point, as texts if a cell is no
number (imported files may have `1.0` and `True`), and a text column without any text as numbers that are all missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from storage.column_types import FRACTION
from storage.datasets.exports.rows import Rows
from storage.schemas.base import Column

WHOLE = re.compile("-?[0-9]+")


class CsvCells:
    """Finds those columns, from the rows as they are written."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._numbers = [(number, column.name) for number, column in enumerate(columns) if column.kind == "integer"]
        self._empty = {number: column.name for number, column in enumerate(columns)}
        self._floats: set[str] = set()
        self._texts: set[str] = set()
        self.rows = 0

    @property
    def as_floats(self) -> frozenset[str]:
        """The columns of whole numbers that are read as floats."""
        return frozenset(self._floats - self._texts)

    @property
    def as_texts(self) -> frozenset[str]:
        """The columns of whole numbers that are read as texts."""
        return frozenset(self._texts)

    @property
    def empty(self) -> frozenset[str]:
        """The columns that have no value in any row."""
        return frozenset(self._empty.values())

    def see(self, rows: Rows) -> None:
        """Look at some rows, and count them."""
        self.rows += len(rows)
        for number in [number for number in self._empty if any(row[number] not in (None, "") for row in rows)]:
            del self._empty[number]
        for number, name in self._numbers:
            for cell in set(map(itemgetter(number), rows)):
                if not (type(cell) is int or (type(cell) is str and cell.isdecimal())):
                    self._see(name, cell)

    def _see(self, name: str, cell: Any) -> None:
        if cell is None or cell == "":
            self._floats.add(name)
        elif not (isinstance(cell, int) or WHOLE.fullmatch(cell)):
            (self._floats if FRACTION.fullmatch(cell) else self._texts).add(name)

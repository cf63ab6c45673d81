"""Screen the free text of an export for personal data: mark where it is, or mask it.

Only columns of free text are read. A mask replaces text by text, inside of conversations too, so columns keep their
types. What was found is counted and never repeated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from storage.column_types import UNREADABLE, PythonLiteral, literal
from storage.datasets.exports.personal_data import mask
from storage.datasets.manifest import PersonalDataMatch
from storage.schemas.base import Column

Mode = Literal["mark", "mask"]
MODES: tuple[Mode, ...] = ("mark", "mask")
Rows = Sequence[Sequence[Any]]


@dataclass
class Screening:
    """Screens the rows of one file with these columns, in order. `found` has what was found, by row."""

    mode: Mode
    path: str
    columns: Sequence[Column]
    found: list[PersonalDataMatch] = field(default_factory=list)
    _row: int = 0

    def rows(self, batches: Iterator[Rows]) -> Iterator[Rows]:
        """The rows, masked if the mode says so."""
        free = [(number, column) for number, column in enumerate(self.columns) if column.free_text]
        for batch in batches:
            yield [self._screened(row, free) for row in batch] if free else batch

    def _screened(self, row: Sequence[Any], free: Sequence[tuple[int, Column]]) -> Sequence[Any]:
        self._row += 1
        cells = list(row)
        for number, column in free:
            cells[number], counts = screened_cell(row[number], column)
            self.found += [PersonalDataMatch(self.path, self._row, column.name, kind, n) for kind, n in counts.items()]
        return cells if self.mode == "mask" else row


def screened_cell(cell: Any, column: Column) -> tuple[Any, Counter[str]]:
    """A cell with marks in place of personal data, unchanged if there are none, and how often each kind was found."""
    found: Counter[str] = Counter()
    if not isinstance(cell, str):
        value = _walked(cell, found)
        return (value if found else cell), found
    if column.kind == "json" or isinstance(column.form, PythonLiteral):
        try:
            value = _walked(json.loads(cell) if column.kind == "json" else literal(cell), found)
        except UNREADABLE:  # an imported cell that is no such value
            return _text(cell)
        if not found:
            return cell, found
        return (column.form.take(value) if column.kind == "json" else repr(value)), found
    return _text(cell)


def personal_data_in(cell: Any) -> Counter[str]:
    """How often each kind of personal data is in a cell of an exported file: a text, a JSON value, or the text of a
    JSON value or Python literal."""
    found: Counter[str] = Counter()
    for read in (json.loads, literal) if isinstance(cell, str) and cell[:1] in "[{" else ():
        try:
            _walked(read(cell), found)
        except UNREADABLE:
            continue
        return found
    _walked(cell, found)
    return found


def _text(cell: str) -> tuple[str, Counter[str]]:
    text, found = mask(cell)
    return (text if found else cell), found


def _walked(value: Any, found: Counter[str]) -> Any:
    """A value with every text in it masked; the names of its keys stay."""
    match value:
        case str():
            text, counts = mask(value)
            found.update(counts)
            return text
        case list() | tuple():
            return type(value)(_walked(part, found) for part in value)
        case dict():
            return {name: _walked(part, found) for name, part in value.items()}
        case _:
            return value

"""Data as JSON, and as the tables that people read: commands print them, and the console shows them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

# From this length on, the parts of a list are sentences, each on a line of its own.
WORDS = 40
LARGE, CENT = 1000, 0.01
EMPTY: tuple[Any, ...] = (None, "", [], {})

# How far a run is: what is done, of how many (0: not known), and more in words.
Tell = Callable[[int, int, str], None]
Stopped = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class ShownTable:
    """Rows of cells below the `names` of their columns; without names, pairs of a name and a value, or lines."""

    title: str
    rows: Sequence[Sequence[str]]
    names: Sequence[str] = ()
    numbers: Sequence[bool] = ()
    """True for each column that has nothing but numbers."""


@dataclass(frozen=True, slots=True)
class Told:
    """The outcome or the estimate of a run: sentences, and below them rows, or sentences, by their title."""

    sentences: Sequence[str]
    rows: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None
    """The same as JSON."""


def jsonable(value: Any) -> Any:
    if isinstance(value, Told):
        value = value.data
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    match value:
        case Mapping():
            return {str(name): jsonable(part) for name, part in value.items()}
        case list() | tuple():
            return [jsonable(part) for part in value]
        case float() if not math.isfinite(value):
            return None
        case Decimal():
            return float(value)
        case Path():
            return str(value)
        case _:
            return value


def tables(data: Any) -> Iterator[ShownTable]:
    """The tables of some data: plain values, or sentences, first, then a table for each list or mapping in it."""
    if isinstance(data, Told):
        yield ShownTable("", [(sentence,) for sentence in data.sentences])
        for title, rows in data.rows.items():
            yield from _tables(title, jsonable(rows)) if rows else ()
    else:
        yield from _tables("", jsonable(data))


def _tables(title: str, value: Any) -> Iterator[ShownTable]:
    held = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
    if held and all(isinstance(part, dict) for part in held):
        yield _table(title, held if value is held else [{"": name, **part} for name, part in value.items()])
    elif held and isinstance(value, dict):
        plain = {name: part for name, part in value.items() if not _is_nested(part) and part not in EMPTY}
        yield ShownTable(title, [(_label(name), _cell(part)) for name, part in plain.items()])
        for name in filter(lambda name: _is_nested(value[name]), value):
            yield from _tables(_label(name), value[name])
    else:
        yield ShownTable(title, [(_cell(part),) for part in held] or [("Nothing.",)])


def _is_nested(value: Any) -> bool:
    """A list or mapping with mappings in it is a table of its own."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(part, dict) for part in held)


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> ShownTable:
    names = [*dict.fromkeys(name for row in rows for name in row)]
    numbers = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in names]
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return ShownTable(title, cells, [_label(name) for name in names], numbers)


def money(amount: float, currency: str = "") -> str:
    """An amount of money; less than a cent with the decimals that it needs."""
    shown = f"{amount:,.2f}" if amount == 0 or amount >= CENT else f"{Decimal(f'{amount:.2g}'):f}"
    return f"{shown} {currency}".rstrip()


def _label(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}" if abs(value) >= LARGE else f"{value:.4g}"
        case Mapping():
            return ", ".join(f"{_label(name)} {_cell(part)}" for name, part in value.items() if part not in EMPTY)
        case list():
            cells = [_cell(part) for part in value]
            return ("\n" if any(len(cell) > WORDS for cell in cells) else ", ").join(cells)
        case _:
            return str(value)

"""The output of commands: sentences, data as tables or as JSON, and progress."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from app.cli.safe_console import EscapingConsole
from storage.registers.origins import REHEARSAL, Origin

out = EscapingConsole()
err = EscapingConsole(stderr=True)
# From this length on, the parts of a list are sentences, each on a line of its own.
WORDS = 40
LARGE = 1000
EMPTY: tuple[Any, ...] = (None, "", [], {})
_COMMANDS_TERMINAL = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def echo(text: str, style: str = "") -> None:
    out.print(Text(text, style), soft_wrap=True)


def warn(text: str) -> None:
    echo(text, "yellow")


def warn_of_rehearsal(origin: str | None) -> None:
    if origin == Origin.REHEARSAL:
        warn(f"REHEARSAL: {REHEARSAL}")


def progress_bar(counts: ProgressColumn | None = None, *, transient: bool = True) -> Progress:
    """A bar with a description and its `counts`, on standard error; where that is no terminal, only one that stays."""
    columns = (TextColumn("{task.description}"), BarColumn(), counts or MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=transient, disable=transient and not err.is_terminal)


def iso(us: int | None) -> str | None:
    """A time in microseconds since 1970 as ISO 8601."""
    return None if us is None else datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="milliseconds")


def show(data: Any, as_json: bool) -> None:
    """Print data: as JSON, which is then all that is printed, or as tables."""
    if as_json:
        print_json(data)
        return
    for part in _parts("", _jsonable(data)):
        out.print(part)


def print_json(value: Any) -> None:
    """Print a value as JSON.

    Times are ISO 8601 in UTC, and a number that is not finite is null. Characters that would command a terminal are
    escaped.
    """
    text = json.dumps(_jsonable(value), indent=2, ensure_ascii=False, allow_nan=False)
    print(_COMMANDS_TERMINAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _jsonable(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    match value:
        case Mapping():
            return {str(name): _jsonable(part) for name, part in value.items()}
        case list() | tuple():
            return [_jsonable(part) for part in value]
        case float() if not math.isfinite(value):
            return None
        case Decimal():
            return float(value)
        case Path():
            return str(value)
        case _:
            return value


def _parts(title: str, value: Any) -> Iterator[Table | Text]:
    """The tables and lines of some data: plain values first, then a table for each list or mapping in it."""
    if title:
        yield Text(f"\n{title}", "bold")
    held = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
    if not held:
        yield Text("Nothing.")
    elif all(isinstance(part, dict) for part in held):
        yield _table(held if value is held else [{"": name, **part} for name, part in value.items()])
    elif isinstance(value, dict):
        yield _grid({name: part for name, part in value.items() if not _is_nested(part)})
        for name in filter(lambda name: _is_nested(value[name]), value):
            yield from _parts(_label(name), value[name])
    else:
        yield from (Text(_cell(part)) for part in held)


def _is_nested(value: Any) -> bool:
    """A list or mapping with mappings in it is a table of its own."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(part, dict) for part in held)


def _grid(plain: Mapping[str, Any]) -> Table:
    grid = Table(box=None, show_header=False, pad_edge=False)
    for name, part in plain.items():
        if part not in EMPTY:
            grid.add_row(Text(_label(name)), Text(_cell(part)))
    return grid


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    names = [*dict.fromkeys(name for row in rows for name in row)]
    for name in names:
        numbers = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(_label(name), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(name))) for name in names))
    return table


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

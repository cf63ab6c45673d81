"""The output of commands: sentences, data as tables or as JSON, and progress."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from app.cli.safe_console import EscapingConsole
from app.use_cases.tables import ShownTable, jsonable, tables
from storage.registers.origins import REHEARSAL, Origin

out = EscapingConsole()
err = EscapingConsole(stderr=True)
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


@contextmanager
def followed(
    what: str, counts: ProgressColumn | None = None, *, transient: bool = True
) -> Iterator[Callable[..., None]]:
    """Show how far something is; of 0, where that is not known."""
    with progress_bar(counts, transient=transient) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int, words: str = "") -> None:
            bar.update(task, description=f"{what}: {words}" if words else what, completed=done, total=total)

        yield tell


def iso(us: int | None) -> str | None:
    return None if us is None else datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="milliseconds")


def show(data: Any, as_json: bool) -> None:
    """Print data: as JSON, which is then all that is printed, or as tables."""
    if as_json:
        print_json(data)
        return
    for table in tables(data):
        if table.title:
            out.print(Text(f"\n{table.title}", "bold"))
        out.print(_printed(table))


def print_json(value: Any) -> None:
    """Print JSON: times in ISO 8601 UTC, infinite numbers as null, characters that command a terminal escaped."""
    text = json.dumps(jsonable(value), indent=2, ensure_ascii=False, allow_nan=False)
    print(_COMMANDS_TERMINAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _printed(table: ShownTable) -> Table | Text:
    if len(table.rows[0] if table.rows else ()) == 1 and not table.names:
        return Text("\n".join(cell for (cell,) in table.rows))
    grid = Table(box=SIMPLE_HEAD if table.names else None, show_header=bool(table.names), pad_edge=False)
    for name, number in zip(table.names, table.numbers, strict=True):
        grid.add_column(name, justify="right" if number else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid

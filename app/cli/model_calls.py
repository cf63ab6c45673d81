"""The command that shows model calls, with their errors."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import orjson
import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from app.cli.commands import command
from app.cli.common import STDOUT, AsJson, StudyName, existing_database, iso, name_of, out, print_json, settings_in_use
from storage.datasets.describe.markdown import count as how_many
from storage.db.private_files import writing
from storage.registers.studies import Studies
from storage.reports.model_calls import attempts


@command("model-calls")
def attempts_(
    study: StudyName,
    failed: Annotated[bool, typer.Option("--failed", help="Only failed calls.")] = False,
    last: Annotated[int, typer.Option(metavar="N", help="Show the newest N calls.", min=1)] = 20,
    to: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="Write all calls to a file, as JSON lines; `-` for standard output."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A reply can take several attempts; each of them is a call of its own."""
    database = existing_database(settings_in_use())
    found = attempts(database, Studies(database).newest(name_of(study)).name, failed=failed)
    if to == STDOUT:
        _write(found, sys.stdout.buffer)
    elif to is not None:
        with writing(to) as file:
            count = _write(found, file)
        out.print(f"{to}: {how_many(count, 'call')}", highlight=False)
    elif as_json:
        print_json([{**attempt, "started": iso(attempt["started_us"])} for attempt in deque(found, maxlen=last)])
    else:
        _show(deque(found, maxlen=last))


def _write(found: Iterable[Mapping[str, Any]], file: BinaryIO) -> int:
    count = 0
    for attempt in found:
        file.write(orjson.dumps(dict(attempt), option=orjson.OPT_APPEND_NEWLINE))
        count += 1
    return count


def _show(found: Iterable[Mapping[str, Any]]) -> None:
    table = Table(
        "started (UTC)", "session", "step", "model", "attempt", "outcome", "first", "total", "cost", box=SIMPLE_HEAD
    )
    table.pad_edge = False
    for column in (0, 3, 5, 6, 7):
        table.columns[column].no_wrap = True
    causes = []
    for attempt in found:
        when = datetime.fromtimestamp(attempt["started_us"] / 1e6, UTC)
        outcome = f"[red]{escape(attempt['reason'])}[/red]" if attempt["reason"] else attempt["finish_reason"] or "?"
        table.add_row(
            f"{when:%m-%d %H:%M:%S}",
            str(attempt["session"]),
            escape(attempt["path"]),
            escape(attempt["model"]),
            str(attempt["number"]),
            outcome,
            _seconds(attempt["first_token_us"]),
            _seconds(attempt["total_us"]),
            "" if attempt["cost"] is None else f"{attempt['cost']:.4f}",
        )
        if attempt["cause"]:
            causes.append(f"{attempt['session']}, {attempt['path']}, attempt {attempt['number']}: {attempt['cause']}")
    if not table.row_count:
        out.print("No calls.")
        return
    out.print(table)
    for cause in causes:
        out.print(cause, markup=False, highlight=False)


def _seconds(us: int | None) -> str:
    return "" if us is None else f"{us / 1e6:.1f} s"

"""The command that shows how long participants spent on each screen, and what else they did there."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from app.cli.commands import command
from app.cli.common import (
    STDOUT,
    AsJson,
    OriginOption,
    StudyName,
    existing_database,
    name_of,
    out,
    print_json,
    settings_in_use,
)
from experiments.views.screen_measures import ClientMeasures
from storage.db.private_files import writing
from storage.reports.screen_times import ScreenSummary, ScreenVisit, screens, typical

COLUMNS = ("session", "origin", "path", "step", "shown_at", "seconds", *ClientMeasures.__dataclass_fields__)


@command("screen-times")
def times_(
    study: StudyName,
    to: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="Write one csv row for each screen to a file; `-` for standard output."
        ),
    ] = None,
    as_json: AsJson = False,
    origin: OriginOption = None,
) -> None:
    """Medians by step: time shown, reading and typing; with counts of pastes and of leaving the page.

    `--json` and `-o` give each screen of each session.
    """
    database = existing_database(settings_in_use())
    found = screens(database, name_of(study), origin)
    if as_json:
        print_json([_row(one) for one in found])
    elif to == STDOUT:
        _write(found, sys.stdout)
    elif to is not None:
        with writing(to) as whole, TextIOWrapper(whole, encoding="utf-8", newline="") as file:
            count = _write(found, file)
        out.print(f"{to}: {count:,} screens", highlight=False)
    else:
        out.print(_table(typical(found)))


def _row(one: ScreenVisit) -> dict[str, Any]:
    """A screen as a row."""
    at = datetime.fromtimestamp(one.shown_us / 1e6, UTC).isoformat(timespec="milliseconds")
    own = (one.session, one.origin, one.path, one.step, at, one.seconds)
    return dict(zip(COLUMNS, own, strict=False)) | asdict(one.client)


def _write(found: Iterable[ScreenVisit], file: TextIO) -> int:
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    count = 0
    for one in found:
        writer.writerow(_row(one))
        count += 1
    return count


def _table(found: Iterable[ScreenSummary]) -> Table:
    about = "Medians in seconds; -o FILE writes every screen."
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), caption=about)
    table.add_column("screen", overflow="fold", min_width=22)
    for name in ("shown", "time", "reading", "typing", "1st key", "pasted", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        times, counts = ("seconds", "reading_s", "typing_s", "first_key_s"), ("pasted", "left")
        numbers = [_seconds(one.medians[name]) for name in times] + [_count(one.sums[name]) for name in counts]
        table.add_row(escape(one.path), f"{one.shown:,}", *numbers)
    return table


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"

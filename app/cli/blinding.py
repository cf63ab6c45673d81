"""The command that checks whether a study's blinding held."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.cli.commands import command
from app.cli.common import AsJson, OriginOption, StudyName, existing_database, name_of, out, print_json, settings_in_use
from storage.datasets.describe.markdown import count as how_many
from storage.reports.blinding import ALL, REPLIED, Blinding, blinding

MOST_WORDS = 5


@command("blinding")
def blinding_(
    study: StudyName,
    origin: OriginOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="FACTOR", help="Group by this factor. Can be repeated. Default: every factor."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lists the words by which replies named their model, and counts participants' guesses at the model."""
    database = existing_database(settings_in_use())
    report = blinding(database, name_of(study), origin, by or None)
    if as_json:
        print_json(report.as_json())
        return
    out.print(
        f"{report.study}: {how_many(report.sessions, 'session')} of origin {report.origin}",
        highlight=False,
        markup=False,
    )
    out.print(_leaks(report) if report.leaks else "No model has replied.")
    if report.guesses:
        out.print(_guesses(report))
    else:
        out.print("[dim]No participant was asked to guess the model. The step `guess` asks.[/dim]")


def _leaks(report: Blinding) -> Table:
    table = _table(
        "Replies that name the model that wrote them", ("model", "condition"), ("replies", "flagged", "share")
    )
    table.add_column("words")
    for row in report.leaks:
        numbers = (f"{row.replies:,}", f"{row.flagged:,}", _percent(row.share))
        table.add_row(Text(row.model), _condition(row.by, row.value), *numbers, Text(_words(row.words)))
    return table


def _guesses(report: Blinding) -> Table:
    numbers = ("guesses", "right", "wrong", "unsure", "nobody replied", "share right", "by chance")
    table = _table("Guesses at the model", ("step", "condition"), numbers)
    for row in report.guesses:
        counts = [f"{count:,}" for count in (row.number, row.right, row.wrong, row.unsure, row.nobody)]
        shares = _percent(row.share), _percent(row.chance)
        table.add_row(Text(row.step), _condition(row.by, row.value), *counts, *shares)
    return table


def _table(title: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _condition(by: str, value: str) -> Text:
    if by == ALL:
        return Text("all")
    return Text(f"of {value}" if by == REPLIED else f"{by}: {value}")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


def _words(words: Counter[str]) -> str:
    more = f", and {len(words) - MOST_WORDS} more" if len(words) > MOST_WORDS else ""
    return ", ".join(f"{word} {count:,}" for word, count in words.most_common(MOST_WORDS)) + more

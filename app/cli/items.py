"""The command that shows how a table of one's own items is understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from app.cli.commands import command
from app.cli.common import AsJson, out, print_json
from app.studies.page_texts import texts_of_problems
from app.studies.text_check import TextCheck
from problems.items import Items, table_of, understand
from problems.pictures import Picture
from problems.problem import Problem
from storage.datasets.describe.markdown import count as how_many
from storage.yaml_text import yaml_text

SHOWN, LONGEST = 20, 60


@command("items")
def items(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            help="A table (.csv, .xlsx, .jsonl, .json or .parquet), or a folder of tables or of Markdown.",
        ),
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART=NAME",
            help="The column that holds a part, as in `question=Frage` or `options=A,B,C`. Parts: question, options, "
            "answer, id, dataset, tags. Also `sheet=NAME` of a workbook, and `answers_from=0` or 1. Can be repeated. "
            "Default: recognised by their names.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help=f"Show all rows, not only {SHOWN}.")] = False,
    as_json: AsJson = False,
) -> None:
    """Shows each row of a table as an item of a study: question, options, answer and tags.

    Rows that cannot be used are listed with the reason, and the exit code is 2. The last lines are what the study file
    needs.
    """
    given = _columns(column or [])
    found = understand(table_of(path, given), given, path.stem)
    checked = TextCheck()
    for text in texts_of_problems("", found.problems):
        checked.add(text, [path if path.is_dir() else path.parent])
    found = replace(found, faults=(*found.faults, *map(str, checked.faults)))
    if as_json:
        print_json(
            {
                "columns": found.columns.to_json(),
                "notes": found.notes,
                "errors": found.faults,
                "pictures": {key: picture.to_json() for key, picture in checked.by_key.items()},
                "items": [problem.to_json() for problem in found.problems],
            }
        )
    else:
        _show(found, path, every)
        _show_pictures(checked.by_key)
    if found.faults:
        raise typer.Exit(2)


def _columns(told: list[str]) -> dict[str, Any]:
    """The columns as options name them."""
    columns: dict[str, Any] = {}
    for one in told:
        part, equals, name = one.partition("=")
        if not equals:
            raise typer.BadParameter(f"--column {one!r} is no pair; write PART=NAME, such as question=Frage.")
        several = part == "tags" or (part == "options" and "," in name)
        columns[part] = [cell.strip() for cell in name.split(",")] if several else name
    return columns


def _show(found: Items, path: Path, every: bool) -> None:
    for note in found.notes:
        out.print(f"Note: {note}", style="dim", markup=False, highlight=False)
    if found.problems:
        out.print(_table(found.problems if every else found.problems[:SHOWN]))
    for fault in found.faults:
        out.print(fault, style="red", markup=False, highlight=False)
    hidden = 0 if every else max(0, len(found.problems) - SHOWN)
    more = f", {hidden:,} more with --all" if hidden else ""
    wrong = f"; {how_many(len(found.faults), 'error')}" if found.faults else ""
    out.print(f"{how_many(len(found.problems), 'item')}{more}{wrong}", markup=False, highlight=False)
    if not found.faults:
        pool: Mapping[str, Any] = {"path": str(path), "columns": found.columns.to_json()}
        out.print("\nIn the study file:\n", style="dim")
        out.print(yaml_text({"problems": {"questions": pool}}).rstrip(), markup=False, highlight=False)


def _show_pictures(pictures: Mapping[str, Picture]) -> None:
    if pictures:
        out.print(f"\n{how_many(len(pictures), 'picture')}:", style="dim")
    for key, picture in pictures.items():
        size = f"{picture.type}, {picture.width} x {picture.height} pixels"
        out.print(f"  {_cut(key)}: {size}", markup=False, highlight=False)


def _table(problems: tuple[Problem, ...]) -> Table:
    table = Table()
    for name in ("id", "question", "options", "answer", "tags"):
        table.add_column(name)
    for problem in problems:
        options = "\n".join(f"{option.key}. {_cut(option.text)}" for option in problem.options)
        tags = ", ".join(f"{name}: {value}" for name, value in problem.tags.items())
        table.add_row(*map(Text, (problem.id, _cut(problem.text), options, problem.answer or "", _cut(tags))))
    return table


def _cut(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"

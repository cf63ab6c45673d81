"""The commands that ask models a study's questions without people, and read their replies."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from app.ai_alone.methods import registry
from app.ai_alone.plan import Wish, cells
from app.ai_alone.scoring import score
from app.batch.cost_estimate import Estimate, estimate
from app.batch.plan import CONCURRENCY, DONE, Limits, Plan
from app.batch.progress_display import Display, show_summary
from app.batch.runner import run
from app.cli.common import StudyName, app, finish, name_of, out, settings_in_use
from app.studies.loader import load_study, shipped
from experiments.study.resolve import Study
from storage.ai_alone.answers import Standing, standings, sum_of
from storage.ai_alone.cells import keep_cells
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.studies import Studies

alone = typer.Typer(help="Ask models a study's questions without people, and read what they reply.")
app.add_typer(alone, name="ai-alone", no_args_is_help=True)

Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="A model of the study, or BACKEND:NAME[@SERVER]; all that people may meet if none."),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method", help="How they are asked (`parley ai-alone methods`); ChatBench's three if none is named."
    ),
]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="Only questions of this dataset.")]


@alone.command(name="run")
def run_(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A study's file, or the name of one.")],
    model: Models = None,
    method: Methods = None,
    repeats: Annotated[int, typer.Option(help="How often each question is asked.", min=1)] = 50,
    dataset: Datasets = None,
    problems: Annotated[
        int | None,
        typer.Option("--max-problems", help="At most so many questions of each dataset, the first ones.", min=1),
    ] = None,
    extractor: Annotated[
        str, typer.Option(help="The model that reads answers out of free text; the study's own unless given.")
    ] = "",
    concurrency: Annotated[int, typer.Option(help="Calls at once, for each backend and server.", min=1)] = CONCURRENCY,
    requests_per_minute: Annotated[
        float | None, typer.Option(help="The most that each model is asked in a minute.", min=0.001)
    ] = None,
    tokens_per_minute: Annotated[
        float | None, typer.Option(help="The most tokens that each model has in a minute.", min=1)
    ] = None,
    budget: Annotated[float | None, typer.Option(help="What the run may cost, in the study's currency.", min=0)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask nothing: say what it would take.")] = False,
    reply_tokens: Annotated[
        int, typer.Option(help="With --dry-run: how long replies are taken to be, in tokens.", min=1)
    ] = 300,
) -> None:
    """Ask models a study's questions, as often as wanted, and read the answers; what is stored is not asked again.

    The same command goes on where a run was stopped, killed or ended by its budget.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    found = _study(database, study)
    wish = Wish(
        models=_listed(model),
        methods=_listed(method) or registry.RELEASED,
        repeats=repeats,
        datasets=_listed(dataset),
        most=problems,
        extractor=extractor,
    )
    planned = cells(found, wish)
    labels = list(dict.fromkeys(cell.terms.asked.label for cell in planned))
    told = {"hash": found.hash, "models": labels, "methods": list(wish.methods), "repeats": repeats}
    plan = Plan(found.name, "alone", planned, told)
    if dry_run:
        _show_estimate(estimate(database, plan, reply_tokens), found.file.currency, reply_tokens)
        return
    Studies(database).register(found)
    keep_cells(database, found.name, (cell.stored(number) for number, cell in enumerate(planned)))
    limits = Limits(concurrency, requests_per_minute, tokens_per_minute, budget)
    with Display(out).showing() as display:
        ended = finish(run(database, settings, plan, limits, display))
    show_summary(out, ended)
    score(database, found.name)
    _show(database, found.name)
    if ended.why != DONE or ended.failed:
        raise typer.Exit(1)


@alone.command(name="score")
def score_(study: StudyName) -> None:
    """Read the stored replies again and make the answers anew, without asking anybody."""
    database = open_database(settings_in_use().database_url)
    name = _known(database, study)
    count = score(database, name)
    out.print(f"{count:,} samples of {escape(name)} are read again.", highlight=False)
    _show(database, name)


@alone.command(name="status")
def status(
    study: StudyName,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Say how a study's models did alone: by model, method and dataset."""
    database = open_database(settings_in_use().database_url)
    name = _known(database, study)
    if as_json:
        print(json.dumps([asdict(one) for one in standings(database, name)], indent=2, ensure_ascii=False))
        return
    _show(database, name, whole=True)


@alone.command(name="methods")
def methods() -> None:
    """List the ways in which models are asked."""
    for name in registry.names():
        what, _, rest = registry.about(name).partition("\n\n")
        out.print(f"[bold]{name}[/bold]  {escape(_flat(what))}", highlight=False)
        out.print(f"  [dim]{escape(_flat(rest))}[/dim]", highlight=False)


def _study(database: Database, reference: str) -> Study:
    """The study that is meant: a file, one that the database knows, or one that comes with Parley."""
    if name_of(reference) != reference:
        return load_study(reference)
    try:
        return Studies(database).newest(reference)
    except StorageError:
        if reference not in shipped():
            raise
        return load_study(reference)


def _known(database: Database, reference: str) -> str:
    """The name of a study of which models were asked something; raises StorageError."""
    name = Studies(database).newest(name_of(reference)).name
    if not standings(database, name):
        raise StorageError(f"no model was asked the questions of {name!r} alone yet: parley ai-alone run {name}")
    return name


def _listed(given: Iterable[str] | None) -> tuple[str, ...]:
    """What is named, apart or with commas between, each once."""
    return tuple(dict.fromkeys(word.strip() for text in given or () for word in text.split(",") if word.strip()))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _show_estimate(would: Estimate, currency: str, reply_tokens: int) -> None:
    table = _table("model", "calls", "tokens read", "tokens written", "cost")
    for one in would.models:
        numbers = (one.calls, one.prompt_tokens, one.completion_tokens)
        cost = "no price" if one.cost is None else f"{one.cost:,.2f} {currency}"
        table.add_row(escape(one.label), *(f"{number:,}" for number in numbers), escape(cost))
    out.print(table)
    stored = f", of which {would.stored:,} are there" if would.stored else ""
    out.print(
        f"{would.samples:,} samples{stored}: at most {would.left:,} calls, with replies of {reply_tokens} tokens. "
        "Nothing was asked.",
        highlight=False,
    )


def _show(database: Database, study: str, *, whole: bool = False) -> None:
    """How each model did with each method, or as well in each dataset."""
    told = standings(database, study)
    priced = any(one.cost is not None for one in told)
    table = _table("", "samples", "accuracy", "invalid", "refused", "failed", *(["cost"] if priced else []))
    found: dict[str, dict[str, list[Standing]]] = {}
    for one in told:
        found.setdefault(one.model, {}).setdefault(one.name, []).append(one)
    for model, methods in found.items():
        table.add_row(f"[bold]{escape(model)}[/bold]")
        for method, parts in methods.items():
            table.add_row(f" {escape(method)}", *_cells(sum_of(parts))[: len(table.columns) - 1])
            for one in parts if whole else ():
                table.add_row(f"  {escape(one.dataset)}", *_cells(one)[: len(table.columns) - 1], style="dim")
    out.print(table)


def _table(*names: str) -> Table:
    table = Table(*names, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def _cells(one: Standing) -> tuple[str, ...]:
    there = sum(one.outcomes.values()) - one.outcomes.get("failed", 0)
    accuracy = f"{one.right / one.counted:.3f}" if one.counted else ""
    counts = (f"{one.outcomes.get(kind, 0):,}" for kind in ("unparsed", "refused", "failed"))
    cost = "" if one.cost is None else f"{one.cost:,.4f}"
    return f"{there:,} of {one.wanted:,}", accuracy, *counts, cost

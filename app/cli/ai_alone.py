"""The commands that ask models a study's questions without participants, and score the replies."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable
from dataclasses import asdict
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from app.ai_alone.methods import registry
from app.ai_alone.plan import AiAloneRequest, cells, settings_of
from app.ai_alone.scoring import score
from app.batch.cost_estimate import CostEstimate, estimate
from app.batch.plan import CONCURRENCY, DONE, RunLimits, RunPlan
from app.batch.progress_display import ProgressDisplay, show_summary
from app.batch.runner import run
from app.cli.commands import group
from app.cli.common import (
    STDOUT,
    AsJson,
    StudyName,
    err,
    existing_database,
    finish,
    name_of,
    out,
    print_json,
    settings_in_use,
)
from app.studies.loader import load_study, shipped
from experiments.study.study import Study
from storage.ai_alone.answers import MethodProgress, longer_than_a_letter, method_progress, sum_of, usual_answers
from storage.ai_alone.cells import save_cells
from storage.datasets.describe.markdown import count as how_many
from storage.db.engine import Database, open_database
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.registers.studies import Studies

alone = group("ai-alone")

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A model of the study, or BACKEND:NAME[@SERVER]. Can be repeated. Default: all for participants.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="METHOD",
        help="How to ask (`parley ai-alone methods` lists all). Can be repeated. Default: the three of ChatBench.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", metavar="NAME", help="Only questions of this dataset. Can be repeated."),
]


@alone.command(name="run")
def run_(
    study: StudyName,
    model: Models = None,
    method: Methods = None,
    repeats: Annotated[int, typer.Option(metavar="N", help="How often to ask each question.", min=1)] = 50,
    dataset: Datasets = None,
    problems: Annotated[
        int | None,
        typer.Option("--max-problems", metavar="N", help="Only the first N questions of each dataset.", min=1),
    ] = None,
    extractor: Annotated[
        str,
        typer.Option(metavar="MODEL", help="The model that extracts answers from free text. Default: the study's."),
    ] = "",
    concurrency: Annotated[
        int, typer.Option(metavar="N", help="Calls at a time, for each backend and server.", min=1)
    ] = CONCURRENCY,
    requests_per_minute: Annotated[
        float | None, typer.Option(metavar="N", help="Limit of calls per minute and model.", min=0.001)
    ] = None,
    tokens_per_minute: Annotated[
        float | None, typer.Option(metavar="N", help="Limit of tokens per minute and model.", min=1)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(metavar="AMOUNT", help="Limit of the cost, in the study's currency.", min=0)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Make no calls; estimate calls, tokens and cost.")] = False,
    reply_tokens: Annotated[
        int, typer.Option(metavar="N", help="With --dry-run: the assumed length of replies, in tokens.", min=1)
    ] = 300,
    as_json: AsJson = False,
) -> None:
    """Ask models a study's questions and score the replies. Stored replies are not asked for again.

    The same command continues a run that was stopped, killed or ended by its budget.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    found = _study(database, study)
    request = AiAloneRequest(
        models=_listed(model),
        methods=_listed(method) or registry.RELEASED,
        repeats=repeats,
        datasets=_listed(dataset),
        most=problems,
        extractor=extractor,
    )
    planned = cells(found, request)
    labels = list(dict.fromkeys(cell.terms.asked.label for cell in planned))
    data = {
        "hash": found.hash,
        "models": labels,
        "methods": list(request.methods),
        "repeats": repeats,
        "settings": {name: settings_of(cell) for name, cell in {cell.name: cell for cell in planned}.items()},
    }
    plan = RunPlan(found.name, "alone", planned, data)
    if dry_run:
        would = estimate(database, plan, reply_tokens)
        if as_json:
            print_json({**asdict(would), "cost": would.cost, "currency": found.file.currency})
        else:
            _show_estimate(would, found.file.currency, reply_tokens)
        return
    Studies(database).register(found)
    save_cells(database, found.name, (cell.stored(number) for number, cell in enumerate(planned)))
    limits = RunLimits(concurrency, requests_per_minute, tokens_per_minute, budget)
    messages = err if as_json else out
    with ProgressDisplay(messages).showing() as display:
        ended = finish(run(database, settings, plan, limits, display))
    show_summary(messages, ended)
    score(database, found.name)
    _show(database, found.name, as_json=as_json)
    if ended.why != DONE or ended.failed:
        raise typer.Exit(1)


@alone.command(name="score")
def score_(study: StudyName, as_json: AsJson = False) -> None:
    """Score the stored replies again, without a call."""
    database = existing_database(settings_in_use())
    name = _study_with_runs(database, study)
    count = score(database, name)
    if not as_json:
        out.print(f"{count:,} samples of {escape(name)} were scored again.", highlight=False)
    _show(database, name, as_json=as_json)


@alone.command(name="status")
def status(study: StudyName, as_json: AsJson = False) -> None:
    """Show samples, accuracy and errors by model, method and dataset."""
    database = existing_database(settings_in_use())
    _show(database, _study_with_runs(database, study), whole=True, as_json=as_json)


@alone.command(name="advice")
def advice(
    study: StudyName,
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="The model, as `status` names it.")],
    method: Annotated[str, typer.Option("--method", metavar="METHOD", help="The method.")] = "free_text",
    to: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The csv file to write; `-` for standard output.")
    ] = STDOUT,
) -> None:
    """Write a model's usual answer to each question, as `id` and `advice`, for the protocol advice-taking.

    The usual answer is the most frequent one. Questions to which no answer could be read are left out.
    """
    database = existing_database(settings_in_use())
    name = _study_with_runs(database, study)
    found = usual_answers(database, name, model, method)
    if not found:
        known = ", ".join(dict.fromkeys(f"{one.model} by {one.name}" for one in method_progress(database, name)))
        raise StorageError(f"{name} has no answers of {model!r} by {method!r}. It has those of: {known}")
    by_id: dict[str, str] = {}
    for (dataset, problem), answer in found.items():
        if problem in by_id:
            raise StorageError(
                f"Two datasets of {name} have a question {problem!r} (one is {dataset!r}), so a table by id would mix "
                "them up. Give each question an id of its own."
            )
        by_id[problem] = answer
    rows = [("id", "advice"), *by_id.items()]
    if to == STDOUT:
        csv.writer(sys.stdout).writerows(rows)
        return
    with writing(to) as whole, TextIOWrapper(whole, encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    out.print(f"{to}: {how_many(len(found), 'answer')}.", markup=False, highlight=False)


@alone.command(name="methods")
def methods() -> None:
    """List the methods by which models are asked."""
    for name in registry.names():
        what, _, rest = registry.about(name).partition("\n\n")
        out.print(f"[bold]{name}[/bold]  {escape(_flat(what))}", highlight=False)
        out.print(f"  [dim]{escape(_flat(rest))}[/dim]", highlight=False)


def _study(database: Database, reference: str) -> Study:
    """A study: from its file, from the database, or one that comes with Parley."""
    if name_of(reference) != reference:
        return load_study(reference)
    try:
        return Studies(database).newest(reference)
    except StorageError:
        if reference not in shipped():
            raise
        return load_study(reference)


def _study_with_runs(database: Database, reference: str) -> str:
    """The name of a study whose questions were asked; raises StorageError."""
    name = Studies(database).newest(name_of(reference)).name
    if not method_progress(database, name):
        raise StorageError(
            f"No model has been asked the questions of {name!r} yet. Start with: parley ai-alone run {name}"
        )
    return name


def _listed(given: Iterable[str] | None) -> tuple[str, ...]:
    """The names given, in several options or separated by commas, without duplicates."""
    return tuple(dict.fromkeys(word.strip() for text in given or () for word in text.split(",") if word.strip()))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _show_estimate(would: CostEstimate, currency: str, reply_tokens: int) -> None:
    table = _table("model", "calls", "tokens read", "tokens written", "cost")
    for one in would.models:
        numbers = (one.calls, one.prompt_tokens, one.completion_tokens)
        cost = "no price" if one.cost is None else f"{one.cost:,.2f} {currency}"
        table.add_row(escape(one.label), *(f"{number:,}" for number in numbers), escape(cost))
    out.print(table)
    stored = f", of which {would.stored:,} are stored" if would.stored else ""
    out.print(
        f"{how_many(would.samples, 'sample')}{stored}: at most {how_many(would.left, 'call')}, with replies of "
        f"{reply_tokens} tokens. "
        "No call was made.",
        highlight=False,
    )


def _show(database: Database, study: str, *, whole: bool = False, as_json: bool = False) -> None:
    """Show results by model and method, and if `whole` by dataset; JSON always has datasets."""
    progress = method_progress(database, study)
    if as_json:
        print_json([asdict(one) for one in progress])
        return
    priced = any(one.cost is not None for one in progress)
    table = _table("", "samples", "accuracy", "invalid", "refused", "failed", *(["cost"] if priced else []))
    found: dict[str, dict[str, list[MethodProgress]]] = {}
    for one in progress:
        found.setdefault(one.model, {}).setdefault(one.name, []).append(one)
    for model, methods in found.items():
        table.add_row(f"[bold]{escape(model)}[/bold]")
        for method, parts in methods.items():
            table.add_row(f" {escape(method)}", *_cells(sum_of(parts))[: len(table.columns) - 1])
            for one in parts if whole else ():
                table.add_row(f"  {escape(one.dataset)}", *_cells(one)[: len(table.columns) - 1], style="dim")
    out.print(table)
    for (model, method), number in longer_than_a_letter(database, study).items():
        longer = (
            f"{how_many(number, 'answer')} of {model} by {method}: the reply was longer than a letter, and its first"
        )
        out.print(f"{longer} character was taken (ChatBench's rule); look at them: parley model-calls", highlight=False)


def _table(*names: str) -> Table:
    table = Table(*names, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    return table


def _cells(one: MethodProgress) -> tuple[str, ...]:
    there = sum(one.outcomes.values()) - one.outcomes.get("failed", 0)
    accuracy = f"{one.right / one.counted:.3f}" if one.counted else ""
    counts = (f"{one.outcomes.get(kind, 0):,}" for kind in ("unparsed", "refused", "failed"))
    cost = "" if one.cost is None else f"{one.cost:,.4f}"
    return f"{there:,} of {one.wanted:,}", accuracy, *counts, cost

"""`parley ai-alone`: models are asked a study's questions without participants, and their replies are scored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from app.ai_alone.methods import registry
from app.ai_alone.plan import AiAloneRequest, AloneCell, cells, settings_of
from app.ai_alone.scoring import score
from app.backends.base import ToolSpec
from app.batch.cost_estimate import estimate
from app.batch.plan import CONCURRENCY, DONE, RunLimits, RunPlan
from app.cli.batch_run import run_batch, show_run
from app.cli.commands import group
from app.cli.common import (
    STDOUT,
    AsJson,
    Concurrency,
    CostLimit,
    DryRun,
    ReplyTokens,
    StudyName,
    ToFile,
    existing_database,
    name_of,
    option,
    settings_in_use,
    write_csv,
)
from app.cli.printing import echo, show
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from app.session.replies.tools import asked
from app.studies.loader import load_study, shipped
from experiments.study.ai_alone_questions import ai_alone_of
from experiments.study.study import Study
from storage.ai_alone.answers import longer_than_a_letter, method_progress, usual_answers
from storage.ai_alone.replies import save_cells
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.studies import Studies

commands = group("ai-alone")
Models = Annotated[
    list[str] | None,
    option(
        "--model MODEL",
        "A model of the study, or BACKEND:NAME[@SERVER]. Can be repeated. Default: all for participants.",
    ),
]
Methods = Annotated[
    list[str] | None,
    option(
        "--method METHOD",
        "How to ask (`parley ai-alone methods` lists all). Can be repeated. Default: the three of ChatBench.",
    ),
]
Datasets = Annotated[list[str] | None, option("--dataset NAME", "Only questions of this dataset. Can be repeated.")]
PerMinute = Annotated[
    float | None, option("--requests-per-minute N", "Limit of calls per minute and model.", min=0.001)
]
TokensPerMinute = Annotated[
    float | None, option("--tokens-per-minute N", "Limit of tokens per minute and model.", min=1)
]


@commands.command("run")
def run_(
    study: StudyName,
    model: Models = None,
    method: Methods = None,
    repeats: Annotated[int, option("--repeats N", "How often to ask each question.", min=1)] = 50,
    dataset: Datasets = None,
    problems: Annotated[
        int | None, option("--max-problems N", "Only the first N questions of each dataset.", min=1)
    ] = None,
    extractor: Annotated[
        str,
        option("--extractor MODEL", "The model that extracts answers from free text. Default: the study's."),
    ] = "",
    concurrency: Concurrency = CONCURRENCY,
    requests_per_minute: PerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    budget: CostLimit = None,
    dry_run: DryRun = False,
    reply_tokens: ReplyTokens = 300,
    as_json: AsJson = False,
) -> None:
    """Ask models a study's questions and score the replies. Stored replies are not asked for again.

    The same command continues a run that was stopped, killed or ended by its budget. With --dry-run no call is made:
    calls, tokens and cost are estimated.
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
        specs=_offered(database, settings, found),
    )
    planned = cells(found, request)
    plan = RunPlan(found.name, "alone", planned, _describe(found, request, planned))
    if dry_run:
        would = estimate(database, plan, reply_tokens)
        show({**asdict(would), "cost": would.cost, "currency": found.file.currency}, as_json)
        return
    Studies(database).register(found)
    save_cells(database, found.name, (cell.stored(number) for number, cell in enumerate(planned)))
    limits = RunLimits(concurrency, requests_per_minute, tokens_per_minute, budget)
    ended = run_batch(database, settings, plan, limits)
    if not as_json:
        show_run(ended)
    score(database, found.name)
    _show(database, found.name, as_json)
    if ended.why != DONE or ended.progress.failed:
        raise typer.Exit(1)


def _offered(database: Database, settings: Settings, study: Study) -> tuple[ToolSpec, ...]:
    """What the server of the tools for models alone has; raises SettingsError where it cannot be asked."""
    tools = (study.file.tools or {}).get(ai_alone_of(study).tools)
    return asyncio.run(asked(with_saved_servers(settings, database), tools)) if tools else ()


def _describe(study: Study, request: AiAloneRequest, cells: Sequence[AloneCell]) -> dict[str, Any]:
    return {
        "hash": study.hash,
        "models": list(dict.fromkeys(cell.terms.asked.label for cell in cells)),
        "methods": list(request.methods),
        "repeats": request.repeats,
        "settings": {name: settings_of(cell) for name, cell in {cell.name: cell for cell in cells}.items()},
    }


@commands.command("score")
def score_(study: StudyName, as_json: AsJson = False) -> None:
    """Score the stored replies again, without a call."""
    database = existing_database()
    name = _study_with_runs(database, study)
    score(database, name)
    _show(database, name, as_json)


@commands.command("status")
def status(study: StudyName, as_json: AsJson = False) -> None:
    """Show samples, accuracy and errors by model, method and dataset."""
    database = existing_database()
    _show(database, _study_with_runs(database, study), as_json)


@commands.command("advice")
def advice(
    study: StudyName,
    model: Annotated[str, option("--model MODEL", "The model, as `status` names it.")],
    method: Annotated[str, option("--method METHOD", "The method.")] = "free_text",
    to: ToFile = STDOUT,
) -> None:
    """Write a model's usual answer to each question as csv, `id` and `advice`, for the protocol advice-taking.

    The usual answer is the most frequent one. Questions to which no answer could be read are left out.
    """
    database = existing_database()
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
    write_csv(to, [("id", "advice"), *by_id.items()])


@commands.command("methods")
def methods(as_json: AsJson = False) -> None:
    """List the methods by which models are asked."""
    show({name: {"about": " ".join(registry.about(name).split())} for name in registry.names()}, as_json)


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


def _show(database: Database, study: str, as_json: bool) -> None:
    progress = method_progress(database, study)
    if as_json:
        show(progress, as_json)
        return
    longer = longer_than_a_letter(database, study)
    rows = [
        {
            "model": one.model,
            "method": one.name,
            "dataset": one.dataset,
            "wanted": one.wanted,
            "samples": sum(one.outcomes.values()) - one.outcomes.get("failed", 0),
            "accuracy": one.right / one.counted if one.counted else None,
            **{kind: one.outcomes.get(kind, 0) for kind in ("unparsed", "refused", "failed")},
            "cost": one.cost,
        }
        for one in progress
    ]
    show(rows, as_json)
    for (model, method), number in longer.items():
        echo(
            f"{number:,} answers of {model} by {method}: the reply was longer than a letter, and its first character "
            "was taken (ChatBench's rule); look at them: parley show calls"
        )

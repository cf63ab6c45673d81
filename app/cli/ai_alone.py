"""`parley ai-alone`: models are asked a study's questions without participants, and their replies are scored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Annotated

import typer

from app.ai_alone.methods import registry
from app.ai_alone.plan import AiAloneRequest
from app.ai_alone.scoring import score
from app.batch.plan import CONCURRENCY, DONE, RunLimits
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
    finish,
    name_of,
    option,
    settings_in_use,
    write_csv,
)
from app.cli.printing import echo, followed, show
from app.studies.loader import load_study, shipped
from app.use_cases.model_runs import alone_rows, ask_alone, plan_alone, takes, told_run
from experiments.study.study import Study
from storage.ai_alone.answers import longer_than_a_letter, method_progress, usual_answers
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
        "Method of asking (`parley ai-alone methods` lists all). Can be repeated. Default: the three of ChatBench.",
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
    repeats: Annotated[int, option("--repeats N", "Times that each question is asked.", min=1)] = 50,
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
    )
    plan = asyncio.run(plan_alone(database, settings, found, request))
    if dry_run:
        show(takes(database, plan.run, reply_tokens, found, budget), as_json)
        return
    limits = RunLimits(concurrency, requests_per_minute, tokens_per_minute, budget)
    with followed(found.name, transient=False) as tell:
        ended = finish(ask_alone(database, settings, plan, limits, tell))
    if not as_json:
        show(told_run(ended), as_json)
    _show(database, found.name, as_json)
    if ended.why != DONE or ended.progress.failed:
        raise typer.Exit(1)


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
    if as_json:
        show(method_progress(database, study), as_json)
        return
    show(alone_rows(database, study), as_json)
    for (model, method), number in longer_than_a_letter(database, study).items():
        echo(
            f"{number:,} answers of {model} by {method}: the reply was longer than a letter, and its first character "
            "was taken (ChatBench's rule); look at them: parley show calls"
        )

"""The command that checks a study, and what its models cost."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from shlex import quote
from typing import Annotated, Any, Literal

import typer
from rich.text import Text
from rich.tree import Tree

from app.annotation.judge import judge_question
from app.backends.registry import asks_servers, streaming_advice
from app.bots.dry_run import estimate_by_simulation
from app.cli.commands import command
from app.cli.common import AnyStudy, AsJson, ReplyTokens, any_study, option, settings_in_use, with_saved
from app.cli.printing import echo, err, out, show
from app.clock import SystemClock
from app.errors import ArgumentInvalid
from app.extension import study_advice
from app.session.replies.model_check import untested_advice
from app.session.replies.tools import tool_server_issues
from app.studies.loader import study_error
from app.studies.outline import outline, steps, to_rich_tree
from app.studies.server_names import named_servers, server_faults
from app.studies.translations import missing_translations
from app.use_cases.costs import REPLY_TOKENS, told_estimate, tried
from app.use_cases.remind import unsendable_reminders
from experiments.errors import StudyError
from experiments.study.checks.lint import advice
from experiments.study.checks.waves_check import past_openings
from experiments.study.study import Study
from experiments.views.translatable_texts import unused_translations

ModelsThatReply = Annotated[
    Literal["scripted", "study"],
    option(
        "--models MODELS",
        "Models that reply: scripted, in place of models at servers, which costs nothing, or the study's.",
    ),
]

EMPTY = "export_schemas: no simulated participant has a row in {0}, so its files would be empty; leave it out."


@command("check")
def check(
    study: AnyStudy,
    bots: Annotated[int, option("--bots N", "Number of simulated participants that try the study.", min=0)] = 20,
    cost: Annotated[bool, option("--cost", "Also estimate the cost of the models.")] = False,
    participants: Annotated[int, option("--participants N", "With --cost: the number of participants.", min=1)] = 100,
    reply_tokens: ReplyTokens = REPLY_TOKENS,
    as_json: AsJson = False,
) -> None:
    """Prints all errors of the file at once; exits with 2 if there is one.

    A model server that is neither set nor saved in the console is an error too.
    """
    try:
        found = _load_checked(study)
        trial = (
            asyncio.run(estimate_by_simulation(found, bots, reply_tokens, questions=judge_question)) if bots else None
        )
    except StudyError as error:
        if not as_json:
            raise
        errors = [{"where": one.where, "what": one.what, "place": one.place} for one in error.found]
        show({"study": error.name, "errors": errors}, as_json)
        raise typer.Exit(2) from None
    minutes = trial.typical_minutes if trial else None
    empty = [EMPTY.format(name) for name in trial.empty] if trial else []
    data: dict[str, Any] = {
        "study": found.name,
        "version": found.file.version,
        "hash": found.hash,
        "median_minutes": minutes,
        "errors": [],
        "advice": [*advice(found, minutes), *_advice_here(found), *study_advice(found), *empty],
        "missing_translations": {tag: missing_translations(found, tag) for tag in found.file.offered},
        "unused_translations": {tag: unused_translations(found, tag) for tag in found.file.offered},
        **(told_estimate(found, trial, participants).data if trial and cost else {}),
    }
    if as_json:
        show({**data, "steps": list(dict.fromkeys(step.path for step in steps(outline(found))))}, as_json)
        return
    tree = Tree(Text(f"{found.file.title}  {found.name}, version {found.file.version}", "bold"))
    to_rich_tree(outline(found), tree)
    out.print(tree)
    if found.waves and minutes is not None:
        data = {("median_minutes_of_all_waves" if name == "median_minutes" else name): data[name] for name in data}
    for title in ("missing_translations", "unused_translations"):
        data[title] = {tag: len(texts) for tag, texts in data[title].items() if texts}
    show({name: value for name, value in data.items() if value not in ([], {}, None)}, as_json)
    for tag in data["missing_translations"]:
        echo(f"To list what lacks a translation: parley show translations {quote(study)} --language {tag}")
    echo("No errors.", "green")


def _load_checked(reference: str) -> Study:
    """A study whose servers are there; raises StudyError. The settings are read only if it names a server."""
    study = any_study(reference)
    names = set(named_servers(study).values())
    if names or study.file.tools:
        settings = settings_in_use()
        known = settings if names <= settings.model_servers.keys() else with_saved(settings)[0]
        issues = list(server_faults(study, known))
        if study.file.tools:
            with err.status("Asking the servers of tools"):
                issues += asyncio.run(tool_server_issues(study, known))
        if issues:
            raise study_error(reference, issues)
    return study


def _advice_here(study: Study) -> Iterator[str]:
    """Yield advice on replies that are not streamed, models not tested, reminders that cannot be sent from here, and
    dates that are past."""
    models = study.file.models
    yield from streaming_advice(models)
    asked = {label: model for label, model in models.items() if asks_servers(model.backend)}
    settings, database = with_saved(settings_in_use()) if asked or study.file.reminders else (None, None)
    if settings is not None:
        yield from untested_advice(asked, settings)
        yield from map(" ".join, unsendable_reminders(study, settings))
    if database is not None:
        database.dispose()
    yield from past_openings(study, SystemClock().now_us())


def confirm_cost(study: Study, people: int, *, confirmed: bool) -> None:
    """Print what the study's models will cost for so many simulated participants, and ask whether to go on."""
    show(told_estimate(study, asyncio.run(tried(study)), people), False)
    confirm_calls(confirmed=confirmed)


def confirm_calls(*, confirmed: bool) -> None:
    """Ask, as models may cost money; raises ArgumentInvalid if not `confirmed` and there is no terminal to ask at."""
    echo("This calls the study's models. `--models scripted` costs nothing.")
    if confirmed:
        return
    if not sys.stdin.isatty():
        raise ArgumentInvalid(
            "The study's models may cost money, and there is no terminal to ask at. Add --yes to call them, or use the "
            "scripted model: --models scripted"
        )
    typer.confirm("Go on?", abort=True, err=True)

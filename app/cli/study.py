"""The commands that serve and check studies: demo, serve, check."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from statistics import fmean
from typing import Annotated, Any, Literal

import typer
from rich.text import Text
from rich.tree import Tree

from app.backends.llama import why_unusable
from app.backends.registry import asks_servers
from app.bots.dry_run import DryRunResult, estimate_by_simulation
from app.cli.accounts import invite_first
from app.cli.commands import command
from app.cli.common import (
    AsJson,
    DatabaseAddress,
    Host,
    Port,
    ReplyTokens,
    StudiesToServe,
    StudyFile,
    option,
    settings_in_use,
    with_saved,
)
from app.cli.http_server import listen, open_when_up, require_free_port
from app.cli.printing import echo, out, show
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import ArgumentInvalid, SettingsError
from app.extension import study_advice
from app.studies.demo import with_local_model
from app.studies.loader import find, load_study, shipped
from app.studies.outline import outline, steps, to_rich_tree
from app.studies.server_names import named_servers, server_faults
from app.studies.translations import missing_translations
from app.web.participant.recruiter_links import recruitment_links
from app.web.participant.signed_links import TrialLinks
from experiments.errors import StudyError
from experiments.study.checks.lint import advice
from experiments.study.study import Study
from experiments.views.translatable_texts import unused_translations
from storage.db.database_url import redact_password
from storage.db.engine import Database, open_database
from storage.db.file_lock import serving_lock
from storage.registers.studies import Studies
from storage.registers.study_versions import status_of_all

ModelsThatReply = Annotated[
    Literal["scripted", "study"],
    option(
        "--models MODELS",
        "Who replies: scripted, in place of models at servers, which costs nothing, or the study's models.",
    ),
]
ESTIMATED, REPLY_TOKENS = 10, 300


@command("demo")
def demo(
    browser: Annotated[bool, option("--browser/--no-browser", "Open the page in your browser.")] = True,
    host: Host = None,
    port: Port = None,
    database: DatabaseAddress = None,
) -> None:
    """It takes a few minutes. A tiny language model on this computer replies; where it is not installed, a script."""
    settings = settings_in_use(host=host, port=port, database_url=database)
    files = load_all(settings, ["demo"])
    if (why := asyncio.run(why_unusable(settings))) is None:
        files = [(file, with_local_model(study)) for file, study in files]
    else:
        echo(f"Fixed replies in place of a language model's: {why}")
    serve_studies(settings, files, demo=True, open_browser=browser)


@command("serve")
def serve(
    studies: StudiesToServe = None,
    workers: Annotated[
        int, option("--workers N", "Processes, one for each core to use. Several need PostgreSQL.", min=1, max=64)
    ] = 1,
    host: Host = None,
    port: Port = None,
    database: DatabaseAddress = None,
) -> None:
    """Each study is at /s/NAME. All studies published in the database are served, and the named ones."""
    settings = settings_in_use(host=host, port=port, database_url=database)
    serve_studies(settings, load_all(settings, studies or []), workers=workers, invite=True)


def load_all(settings: Settings, references: Sequence[str]) -> list[tuple[str, Study]]:
    """These references to files and to studies that come with Parley, each with the study; raises StudyError. The names
    of studies that are published in the database are left out, as all of these are served."""
    _, database = with_saved(settings)
    published = {name for name, now in status_of_all(database).items() if now.published} if database else set()
    if database:
        database.dispose()
    names = published - {*shipped()}
    files = [reference for reference in references if reference not in names or Path(reference).exists()]
    return [(file, load_study(str(find(file, published)))) for file in files]


def serve_studies(
    settings: Settings,
    files: Sequence[tuple[str, Study]],
    *,
    workers: int = 1,
    demo: bool = False,
    invite: bool = False,
    open_browser: bool = False,
) -> None:
    """Serve these studies and the published ones until stopped, and print the links for participants."""
    from app.cli.workers import require_settings_of_workers, supervise
    from app.web.server import build_app

    if workers > 1:
        require_settings_of_workers(settings, workers)
    require_free_port(settings, "port")
    studies = [study for _, study in files]
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise SettingsError(
            f"Two of these studies have the same name: {', '.join(names)}. Rename one, or serve them separately."
        )
    database = open_database(settings.database_url)
    with serving_lock(database):
        server = build_app(settings, database, studies, again=demo) if workers == 1 else None
        address = settings.address
        echo(f"Parley is at {address}  (stop it with Ctrl-C)", "bold")
        _print_links(studies, database, settings)
        echo(f"  data: {redact_password(settings.database_url)}")
        if invite:
            invite_first(settings, database)
        if open_browser and sys.stdout.isatty():
            threading.Thread(target=open_when_up, args=(address, settings, settings.port), daemon=True).start()
        if server is not None:
            listen(server, settings, settings.port)
        else:
            database.dispose()
            supervise(settings, [file for file, _ in files], workers)


def _print_links(studies: Sequence[Study], database: Database, settings: Settings) -> None:
    """Print the links of the studies that are served: those for each recruiter, and those to preview and pilot it."""
    published = {name: held for name, held in status_of_all(database).items() if held.offered}
    known = {study.name: study for study in studies}
    known |= {name: Studies(database).newest(name) for name in published if name not in known}
    trials = TrialLinks(secret_for(settings, database))
    for name, study in known.items():
        state = f" ({published[name].state})" if name in published else ""
        echo(f"  {study.file.title}{state}")
        links = recruitment_links(study, settings.address)
        for label, link in [*links, *trials.links(name, settings.address)]:
            echo(f"    {label}: {link}")
        if not links:
            echo(f"    Personal links: parley recruit links {name}")
    if not known:
        echo("  No study yet: every study is served as soon as it is published, and piloted or opened.")


@command("check")
def check(
    study: StudyFile,
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
        trial = asyncio.run(estimate_by_simulation(found, bots, reply_tokens)) if bots else None
    except StudyError as error:
        if not as_json:
            raise
        errors = [{"where": one.where, "what": one.what, "place": one.place} for one in error.found]
        show({"study": error.name, "errors": errors}, as_json)
        raise typer.Exit(2) from None
    minutes = trial.typical_minutes if trial else None
    data: dict[str, Any] = {
        "study": found.name,
        "version": found.file.version,
        "hash": found.hash,
        "median_minutes": minutes,
        "errors": [],
        "advice": [*advice(found, minutes), *study_advice(found)],
        "missing_translations": {tag: missing_translations(found, tag) for tag in found.file.offered},
        "unused_translations": {tag: unused_translations(found, tag) for tag in found.file.offered},
        **(estimate_costs(found, trial, participants) if trial and cost else {}),
    }
    if as_json:
        show({**data, "steps": list(dict.fromkeys(step.path for step in steps(outline(found))))}, as_json)
        return
    tree = Tree(Text(f"{found.file.title}  {found.name}, version {found.file.version}", "bold"))
    to_rich_tree(outline(found), tree)
    out.print(tree)
    for title in ("missing_translations", "unused_translations"):
        data[title] = {tag: len(texts) for tag, texts in data[title].items() if texts}
    show({name: value for name, value in data.items() if value not in ([], {}, None)}, as_json)
    for tag in data["missing_translations"]:
        echo(f"To list what lacks a translation: parley show translations {quote(study)} --language {tag}")
    echo("No errors.", "green")


def _load_checked(reference: str) -> Study:
    """A study whose model servers there are; raises StudyError. Settings and database are read only if it names one."""
    study = load_study(reference)
    names = set(named_servers(study).values())
    if names:
        settings = settings_in_use()
        known = settings if names <= settings.model_servers.keys() else with_saved(settings)[0]
        if faults := list(server_faults(study, known)):
            raise StudyError(reference, faults)
    return study


def estimate_costs(study: Study, trial: DryRunResult, participants: int) -> dict[str, Any]:
    each = fmean(trial.costs)
    return {
        "calls_per_participant": trial.calls,
        "cost_per_participant": each,
        "most_per_participant": max(trial.costs),
        "participants": participants,
        "cost": participants * each,
        "currency": study.file.currency,
        "without_price": trial.unpriced,
    }


def calls_servers(study: Study) -> bool:
    return any(asks_servers(model.backend) for model in study.file.models.values())


def confirm_cost(study: Study, people: int, *, confirmed: bool) -> None:
    """Print what the study's models will cost for so many simulated participants, and ask whether to go on.

    Raises ArgumentInvalid if that is not `confirmed` and there is no terminal to ask at.
    """
    trial = asyncio.run(estimate_by_simulation(study, ESTIMATED, REPLY_TOKENS))
    show(estimate_costs(study, trial, people), False)
    echo("This calls the study's models. `--models scripted` costs nothing.")
    if confirmed:
        return
    if not sys.stdin.isatty():
        raise ArgumentInvalid(
            "The study's models may cost money, and there is no terminal to ask at. Add --yes to call them, or use the "
            "scripted model: --models scripted"
        )
    typer.confirm("Go on?", abort=True, err=True)

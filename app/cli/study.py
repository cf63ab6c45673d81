"""The commands that check and serve studies."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from rich.markup import escape
from rich.tree import Tree

from app.backends.registry import asks_servers
from app.bots.dry_run import DryRunResult, estimate_by_simulation
from app.cli.accounts import invite_first
from app.cli.commands import command
from app.cli.common import (
    AsJson,
    DatabaseAddress,
    Host,
    Port,
    StudiesToServe,
    StudyFile,
    out,
    print_json,
    settings_in_use,
    with_saved,
)
from app.cli.http_server import listen, open_when_up, require_free_port
from app.cli.study_links import print_links
from app.cli.translations import print_languages
from app.config import settings as configuration
from app.config.settings import Settings
from app.errors import ArgumentInvalid, SettingsError
from app.studies.loader import find, load_study, shipped
from app.studies.outline import outline, steps, to_rich_tree
from app.studies.server_names import named_servers, server_faults
from app.studies.translations import missing_translations
from experiments.errors import StudyError
from experiments.study.checks.lint import advice
from experiments.study.json_schema import json_schema
from experiments.study.study import Study
from problems.plugins import nowhere
from storage.datasets.describe.markdown import count as how_many
from storage.db.database_url import redact_password
from storage.db.engine import open_database
from storage.db.file_lock import serving_lock
from storage.registers.study_versions import status_of_all

ESTIMATED, REPLY_TOKENS = 10, 300
"""How many simulated participants the estimate before a run takes, and the assumed length of replies."""


@command("demo")
def demo(
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    host: Host = None,
    port: Port = None,
    database: DatabaseAddress = None,
) -> None:
    """It takes a few minutes. The models are scripted."""
    settings = settings_in_use(host=host, port=port, database_url=database)
    serve_studies(settings, load_all(settings, ["demo"]), demo=True, open_browser=browser)


@command("serve")
def serve(
    studies: StudiesToServe = None,
    workers: Annotated[
        int, typer.Option(metavar="N", help="Number of processes, one for each core to use.", min=1, max=64)
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
    qr: bool = False,
) -> None:
    """Serve these studies and the published ones until stopped, and print the links for participants."""
    from app.cli.workers import supervise
    from app.web.server import build_app

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
        out.print(f"Parley is at [bold]{address}[/bold]  (stop it with Ctrl-C)")
        print_links(studies, database, settings, qr=qr)
        out.print(f"  data: {redact_password(settings.database_url)}", highlight=False)
        if invite:
            invite_first(settings, database)
        if open_browser and sys.stdout.isatty():
            threading.Thread(target=open_when_up, args=(address, settings, settings.port), daemon=True).start()
        if server is not None:
            listen(server, settings, settings.port)
        else:
            database.dispose()
            supervise(settings, [file for file, _ in files], workers)


@command("check")
def check(
    study: StudyFile,
    bots: Annotated[
        int, typer.Option(metavar="N", help="Number of simulated participants that try the study.", min=0)
    ] = 20,
    cost: Annotated[bool, typer.Option("--cost", help="Also estimate the cost of the models.")] = False,
    participants: Annotated[
        int, typer.Option(metavar="N", help="With --cost: the number of participants.", min=1)
    ] = 100,
    reply_tokens: Annotated[
        int, typer.Option(metavar="N", help="With --cost: the assumed length of replies, in tokens.", min=1)
    ] = 300,
    as_json: AsJson = False,
) -> None:
    """Prints all errors of the file at once; exits with 2 if there is one.

    A model server that the study names and that is neither set nor saved in the console is an error too.
    """
    if as_json:
        _check_as_json(study, bots, participants if cost else 0, reply_tokens)
        return
    found = _load_checked(study)
    tree = Tree(f"[bold]{found.file.title}[/bold]  [dim]{found.name}, version {found.file.version}[/dim]")
    to_rich_tree(outline(found), tree)
    out.print(tree)
    print_languages(found, study)
    minutes = None
    if bots:
        trial = asyncio.run(estimate_by_simulation(found, bots, reply_tokens))
        minutes = trial.typical_minutes
        who, took = how_many(bots, "simulated participant"), how_many(round(minutes), "minute")
        out.print(f"{who} finished it, in [bold]{took}[/bold] (median).")
        if cost:
            print_estimate(found, trial, participants, reply_tokens)
    _advise(found, minutes)
    out.print(f"[green]No errors.[/green] Hash {found.hash[:12]}.")


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


def _check_as_json(reference: str, bots: int, participants: int, reply_tokens: int) -> None:
    """Print the result of a check as JSON; exits with 2 if there are errors. `participants` is 0 for no estimate."""
    try:
        found = _load_checked(reference)
        trial = asyncio.run(estimate_by_simulation(found, bots, reply_tokens)) if bots else None
    except StudyError as error:
        print_json(
            {
                "study": error.name,
                "errors": [{"where": one.where, "what": one.what, "place": one.place} for one in error.found],
            }
        )
        raise typer.Exit(2) from None
    minutes = trial.typical_minutes if trial else None
    each = fmean(trial.costs) if trial and participants else None
    print_json(
        {
            "study": found.name,
            "version": found.file.version,
            "hash": found.hash,
            "errors": [],
            "advice": [*advice(found, minutes), *nowhere()],
            "steps": list(dict.fromkeys(step.path for step in steps(outline(found)))),
            "missing_translations": {tag: missing_translations(found, tag) for tag in found.file.offered},
            "median_minutes": minutes,
            "calls_per_participant": trial.calls if trial else None,
            "cost_per_participant": each,
            "cost": None if each is None else participants * each,
            "currency": found.file.currency,
        }
    )


def _advise(study: Study, minutes: float | None) -> None:
    """Print advice on what is not an error."""
    found = [*advice(study, minutes), *nowhere()]
    if found:
        out.print("[yellow]Advice:[/yellow]")
    for words in found:
        out.print(f"  [yellow]-[/yellow] {escape(words)}", highlight=False)


def print_estimate(study: Study, trial: DryRunResult, participants: int, reply_tokens: int) -> None:
    """Print the estimated cost of the models, and its basis."""
    currency = escape(study.file.currency)
    for name, calls in sorted(trial.calls.items()):
        price = study.model(name).price
        price_text = f"{price.prompt:g} and {price.completion:g} {currency} a million tokens" if price else "no price"
        out.print(f"  {escape(name)}: {calls:.1f} calls a participant [dim]({price_text})[/dim]", highlight=False)
    if not trial.calls:
        out.print("The study calls no model, so it costs nothing.")
        return
    if trial.unpriced:
        out.print(f"[yellow]Not included, as they have no `price`: {escape(', '.join(trial.unpriced))}.[/yellow]")
    each, most = fmean(trial.costs), max(trial.costs)
    if not each:
        return
    out.print(
        f"Estimated cost: [bold]{each:,.4f} {currency}[/bold] a participant (at most {most:,.4f}), "
        f"[bold]{participants * each:,.2f} {currency}[/bold] for {participants:,}. Assumes replies of {reply_tokens} "
        "tokens, and as many messages as simulated participants send.",
        highlight=False,
    )


def calls_servers(study: Study) -> bool:
    """Whether any model of the study is called at a model server, which may cost money."""
    return any(asks_servers(model.backend) for model in study.file.models.values())


def confirm_cost(study: Study, people: int, *, confirmed: bool) -> None:
    """Print what the study's models will cost for so many simulated participants, and ask whether to go on.

    Raises ArgumentInvalid if that is not `confirmed` and there is no terminal to ask at.
    """
    trial = asyncio.run(estimate_by_simulation(study, ESTIMATED, REPLY_TOKENS))
    print_estimate(study, trial, people, REPLY_TOKENS)
    out.print("This calls the study's models. `--models scripted` costs nothing.", markup=False)
    if confirmed:
        return
    if not sys.stdin.isatty():
        raise ArgumentInvalid(
            "The study's models may cost money, and there is no terminal to ask at. Add --yes to call them, or use the "
            "scripted model: --models scripted"
        )
    typer.confirm("Go on?", abort=True, err=True)


@command("schema")
def schema(
    protocol: Annotated[bool, typer.Option("--protocol", help="Print the schema of protocol files instead.")] = False,
) -> None:
    """An editor that knows the schema completes and checks study files."""
    print(json.dumps(json_schema("protocol" if protocol else "study"), indent=2, ensure_ascii=False))


@command("settings")
def settings_(as_json: AsJson = False) -> None:
    """Each setting is an environment variable, or a line in a file `.env`. Secrets are masked."""
    found = configuration.settings_table(settings_in_use())
    if as_json:
        print_json([dict(zip(("variable", "value", "default", "description"), row, strict=True)) for row in found])
        return
    for variable, value, default, about in found:
        changed = "" if value == default else f"  [dim](default: {escape(default) or 'not set'})[/dim]"
        out.print(f"[bold]{variable}[/bold] = {escape(value) or '[dim]not set[/dim]'}{changed}", highlight=False)
        out.print(f"    {escape(about)}", highlight=False)

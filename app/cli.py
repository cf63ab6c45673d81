"""The command line: `parley`, its commands, and how errors look.

One of the three edges where everything is caught: an error of ours is a message, not a traceback.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.tree import Tree

from app import settings as configuration
from app.bots.simulate import START_US, simulate
from app.clock import VirtualClock
from app.errors import SettingsError
from app.library import find, load_study, read_yaml
from app.outline import outline, typical_minutes
from app.runtime import Runtime
from app.settings import Settings
from experiments.core.resolve import Study
from experiments.core.schema import json_schema
from problems.errors import ParleyError
from storage.engine import open_database
from storage.export import export as write_files
from storage.projections import differences, rebuild

app = typer.Typer(
    name="parley",
    help="Studies in which people work with language models. Begin with `parley demo`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
START_TRIES = 300
out = Console()
err = Console(stderr=True)

StudyName = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study file, or the name of a study that comes with Parley.")
]


@app.command()
def demo(
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open the demo study in a browser: some minutes, offline, no key needed."""
    _serve(["demo"], demo=True, open_browser=browser)


@app.command()
def serve(
    studies: Annotated[list[str], typer.Argument(metavar="STUDY...", help="Study files, or names of Parley's own.")],
) -> None:
    """Let people take part: serve one or more studies, each at /s/NAME."""
    _serve(studies)


def _serve(references: list[str], *, demo: bool = False, open_browser: bool = False) -> None:
    import uvicorn

    from app.web.server import build_app

    settings = _settings()
    _must_be_free(settings)
    studies = [load_study(reference) for reference in references]
    names = [study.name for study in studies]
    if len(set(names)) < len(names):
        raise SettingsError(f"Two of these studies have one name: {', '.join(names)}. Serve them apart, or rename one.")
    server = build_app(settings, open_database(settings.database_url), studies, again=demo)
    address = settings.public_url or f"http://{_reachable(settings.host)}:{settings.port}"
    out.print(f"Parley is at [bold]{address}[/bold]  (stop it with Ctrl-C)")
    for study in studies:
        out.print(f"  {study.file.title}: {address}/s/{study.name}")
    out.print(f"  data: {settings.database_url}", highlight=False)
    if open_browser and sys.stdout.isatty():
        threading.Thread(target=_open_when_up, args=(address, settings), daemon=True).start()
    uvicorn.run(
        server,
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=3,
    )


def _open_when_up(address: str, settings: Settings) -> None:
    """Open the page in a browser as soon as the server answers."""
    for _ in range(START_TRIES):
        try:
            socket.create_connection((_reachable(settings.host), settings.port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            webbrowser.open(address)
            return


def _must_be_free(settings: Settings) -> None:
    """Raise SettingsError where something else already listens on the port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise SettingsError(
                f"Parley cannot listen on {settings.host}:{settings.port} ({error.strerror}). Stop what is there, "
                "or choose another port: PARLEY_PORT=7861"
            ) from None


def _reachable(host: str) -> str:
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104  (compared, not bound)


@app.command()
def check(
    study: StudyName,
    bots: Annotated[int, typer.Option(help="How many simulated participants try it out.", min=0)] = 20,
) -> None:
    """Check a study file: all faults at once, or its tree and how long it takes."""
    found = load_study(study)
    tree = Tree(f"[bold]{found.file.title}[/bold]  [dim]{found.name}, version {found.file.version}[/dim]")
    outline(found, tree)
    out.print(tree)
    if bots:
        minutes = asyncio.run(typical_minutes(found, bots))
        out.print(f"{bots} simulated participants finished it, in [bold]{minutes:.0f} minutes[/bold] (median).")
    out.print(f"[green]No faults.[/green] Hash {found.hash[:12]}.")


@app.command()
def schema(
    protocol: Annotated[bool, typer.Option(help="The schema of protocol files instead.")] = False,
) -> None:
    """Print the JSON Schema of study files, with which editors complete and check them."""
    print(json.dumps(json_schema("protocol" if protocol else "study"), indent=2, ensure_ascii=False))


@app.command(name="simulate")
def simulate_(
    study: StudyName,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many simulated participants.")] = 10,
    seed: Annotated[str, typer.Option(help="The same seed gives the same sessions, to the byte.")] = "1",
) -> None:
    """Let simulated participants finish whole sessions, without a browser and at once."""
    settings = _settings()
    found = load_study(study)
    asyncio.run(_simulate(settings, found, count, seed))


async def _simulate(settings: Settings, study: Study, count: int, seed: str) -> None:
    clock = VirtualClock(START_US)
    runtime = Runtime(open_database(settings.database_url), settings, clock)
    runtime.prepare(study)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=err
    )
    clicks = 0
    try:
        with bar:
            task = bar.add_task(f"{study.name}: simulated sessions", total=count)
            async for walked in simulate(runtime, clock, study, count, seed):
                clicks += walked.clicks
                bar.advance(task)
    finally:
        await runtime.close()
    out.print(f"{count} sessions of {study.name} are complete ({clicks} clicks), in {settings.database_url}")


@app.command()
def export(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study's name, as in its file.")],
    schema: Annotated[str, typer.Option(help="The released schema: chatbench or mathconverse.")],
    to: Annotated[Path, typer.Option("-o", "--out", help="The folder to write into.")],
    origin: Annotated[
        str | None, typer.Option(help="Whose sessions: person or bot. People's, unless there are none.")
    ] = None,
) -> None:
    """Write a study's data as the released dataset's files."""
    settings = _settings()
    name = str(read_yaml(find(study)).get("study")) if study.endswith((".yaml", ".yml")) else study
    written = write_files(open_database(settings.database_url), name, schema, to, origin)
    for path, rows in written.files.items():
        out.print(f"{path}: {rows} rows", highlight=False)
    out.print(f"[dim]{written.sessions} sessions of origin {written.origin}[/dim]")


db = typer.Typer(help="Look after the database: rebuild the released tables from the log, or compare the two.")
app.add_typer(db, name="db")


@db.command(name="rebuild")
def db_rebuild() -> None:
    """Empty the released tables and fill them again from the log; stop the server first."""
    count = rebuild(open_database(_settings().database_url))
    out.print(f"The released tables are rebuilt from {count} sessions.")


@db.command(name="verify")
def db_verify() -> None:
    """Compare the released tables with the log, say what differs, and exit with 1 if anything does."""
    count = 0
    for sentence in differences(open_database(_settings().database_url)):
        out.print(sentence, markup=False, highlight=False)
        count += 1
    if count:
        out.print(f"[red]{count} differences.[/red] `parley db rebuild` makes the tables anew.")
        raise typer.Exit(1)
    out.print("The released tables are what the log implies.")


@app.command(name="settings")
def settings_() -> None:
    """List every setting: its variable, its present value, and what it is for."""
    for variable, value, default, about in configuration.listing(_settings()):
        changed = "" if value == default else f"  [dim](default: {escape(default) or 'not set'})[/dim]"
        out.print(f"[bold]{variable}[/bold] = {escape(value) or '[dim]not set[/dim]'}{changed}", highlight=False)
        out.print(f"    {escape(about)}", highlight=False)


def _settings() -> Settings:
    for warning in configuration.unknown(configuration.names_in_use()):
        err.print(f"[yellow]{warning}[/yellow]")
    settings = configuration.load()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return settings


def main() -> None:
    """Run a command; an error of ours is told in words and exits with 2."""
    try:
        app()
    except ParleyError as error:
        err.print(str(error), style="red", markup=False, highlight=False)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("Stopped. What was finished is saved.")
        raise SystemExit(130) from None

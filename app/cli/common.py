"""What all commands share: the command line itself, where it writes, and the settings in use."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from app.cli.logging_setup import set_up
from app.cli.safe_console import PlainConsole
from app.config import settings as configuration
from app.config.settings import Settings
from app.studies.loader import find, read_yaml

Result = TypeVar("Result")
app = typer.Typer(
    name="parley",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="The study's name, or its file.")]
StudyFile = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study file, or the name of a study that comes with Parley.")
]
Where = Annotated[
    list[str] | None,
    typer.Option(help="Only with this value of a factor, `condition=answer-first`; may stand more than once."),
]
Host = Annotated[
    str | None,
    typer.Option(
        help="The address to listen on; 0.0.0.0 opens it to the network. Else PARLEY_HOST.", show_default=False
    ),
]
Port = Annotated[int | None, typer.Option(help="The port. Else the setting's.", min=0, max=65_535, show_default=False)]
DatabaseAddress = Annotated[
    str | None,
    typer.Option("--database", help="Where everything is stored, as in PARLEY_DATABASE_URL.", show_default=False),
]
STDOUT = Path("-")
"""In place of a file to write."""
out = PlainConsole()
err = PlainConsole(stderr=True)


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"Parley {version('parley')}", highlight=False)
        raise typer.Exit


@app.callback()
def _parley(
    _: Annotated[bool, typer.Option("--version", help="Say which this is.", callback=_version, is_eager=True)] = False,
) -> None:
    """Studies in which people work with language models. Begin with `parley demo`."""


def name_of(study: str) -> str:
    """A study's name, given itself or by its file."""
    return str(read_yaml(find(study)).get("study")) if study.endswith((".yaml", ".yml")) else study


def settings_in_use(**given: Any) -> Settings:
    """The settings, of which what the command line has `given` counts most, with a warning for each variable that is
    none; raises SettingsError."""
    for warning in configuration.unknown(configuration.names_in_use()):
        err.print(f"[yellow]{warning}[/yellow]")
    settings = configuration.load(**{name: value for name, value in given.items() if value is not None})
    set_up(settings)
    return settings


def finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Run something to its end, on the quicker event loop where there is one: it makes nearly twice as many calls."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.run(work)
    return uvloop.run(work)

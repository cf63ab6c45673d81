"""What all commands share: the command line itself, where it writes, and the settings in use."""

from __future__ import annotations

import logging

import typer
from rich.console import Console

from app import settings as configuration
from app.settings import Settings

app = typer.Typer(
    name="parley",
    help="Studies in which people work with language models. Begin with `parley demo`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
out = Console()
err = Console(stderr=True)


def settings_in_use() -> Settings:
    """The settings, with a warning for each variable that is none; raises SettingsError."""
    for warning in configuration.unknown(configuration.names_in_use()):
        err.print(f"[yellow]{warning}[/yellow]")
    settings = configuration.load()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    return settings

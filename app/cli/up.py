"""The command that serves participants and the console together, over one database."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from typing import Annotated

from app.cli.accounts import invite_first
from app.cli.commands import command
from app.cli.common import DatabaseAddress, Host, Port, StudiesToServe, option, settings_in_use
from app.cli.console import serve_console
from app.cli.http_server import end_with_parent, open_when_up, require_free_port
from app.cli.logging_setup import set_up
from app.cli.printing import echo
from app.cli.study import load_all, serve_studies
from app.config.settings import Settings
from storage.db.engine import open_database


@command("up")
def up(
    studies: StudiesToServe = None,
    browser: Annotated[bool, option("--browser/--no-browser", "Open the console in your browser.")] = True,
    host: Host = None,
    port: Port = None,
    console_port: Annotated[
        int | None,
        option("--console-port PORT", "The console's port. Default: the setting.", min=0, max=65_535),
    ] = None,
    database: DatabaseAddress = None,
) -> None:
    """A study that is published and opened in the console can be started by participants at once."""
    settings = settings_in_use(host=host, port=port, console_port=console_port, database_url=database)
    files = load_all(settings, studies or [])
    require_free_port(settings, "port")
    require_free_port(settings, "console_port")
    opened = open_database(settings.database_url)
    echo(f"The console is at {settings.console_address}", "bold")
    page = invite_first(settings, opened) or settings.console_address
    opened.dispose()
    # a process of its own, at a lower priority, so that no export or report slows participants down
    console = multiprocessing.get_context("spawn").Process(target=_console, args=(settings,), daemon=True)
    console.start()
    if browser and sys.stdout.isatty():
        threading.Thread(target=open_when_up, args=(page, settings, settings.console_port), daemon=True).start()
    try:
        serve_studies(settings, files)
    finally:
        console.terminate()
        console.join()


def _console(settings: Settings) -> None:
    set_up(settings)
    end_with_parent()
    serve_console(settings, open_database(settings.database_url))

"""The commands that serve the console: alone, or with the participants over one database."""

from __future__ import annotations

import logging
import multiprocessing
import signal
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Annotated

from app.cli.accounts import invite_first
from app.cli.commands import command
from app.cli.common import DatabaseAddress, Host, Port, StudiesToServe, option, settings_in_use
from app.cli.http_server import end_with_parent, listen, lower_priority, require_free_port, when_up
from app.cli.logging_setup import set_up
from app.cli.printing import echo
from app.cli.serve import load_all, serve_studies
from app.config.settings import Settings
from app.use_cases.doctor import unwritable_drafts
from storage.db.database_url import redact_password
from storage.db.engine import Database, open_database

log = logging.getLogger(__name__)
FIRST_PAUSE_S, LONGEST_PAUSE_S, LOOK_S = 1, 60, 0.5
# For how long it is waited whether a process ended because everything is being stopped, as by Ctrl-C.
SETTLED_S = 5


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
    # a process of its own, at a lower priority, so that no export or report slows participants down
    stopped = threading.Event()
    keeper = threading.Thread(target=_keep_console, args=(settings, stopped), name="parley-console", daemon=True)
    keeper.start()

    echo(f"The console is at {settings.console_address}, in a few seconds", "bold")
    page = invite_first(settings, opened) or settings.console_address
    opened.dispose()
    if browser and sys.stdout.isatty():
        shown = partial(webbrowser.open, page)
        threading.Thread(target=when_up, args=(settings, settings.console_port, shown), daemon=True).start()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn raises it again, once it has stopped
    try:
        serve_studies(settings, files)
    finally:
        stopped.set()
        keeper.join()


def _keep_console(settings: Settings, stopped: threading.Event) -> None:
    """Run the console in a process, and start it again where it ends, ever more rarely, until it is to be stopped."""
    pause_s = FIRST_PAUSE_S
    while True:
        process = multiprocessing.get_context("spawn").Process(target=_console, args=(settings,), daemon=True)
        process.start()
        begun = time.monotonic()
        while process.is_alive() and not stopped.is_set():
            process.join(LOOK_S)
        if stopped.wait(SETTLED_S):
            process.terminate()
            process.join()
            return
        pause_s = FIRST_PAUSE_S if time.monotonic() - begun > LONGEST_PAUSE_S else min(2 * pause_s, LONGEST_PAUSE_S)
        how = _how_it_ended(process.exitcode or 0)
        log.error("the console exited (%s); restarting it in %d s", how, pause_s)
        echo(f"The console has ended ({how}). It is started again in {pause_s} s.")
        if stopped.wait(pause_s):
            return


def _how_it_ended(code: int) -> str:
    with suppress(ValueError):
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return f"signal {-code}"


def _console(settings: Settings) -> None:
    set_up(settings)
    end_with_parent()
    serve_console(settings, open_database(settings.database_url))


@command("console")
def console(host: Host = None, port: Port = None, database: DatabaseAddress = None) -> None:
    """Researchers log in to make, run and watch studies, read sessions, and export data."""
    settings = settings_in_use(host=host, console_port=port, database_url=database)
    require_free_port(settings, "console_port")
    opened = open_database(settings.database_url)

    def announce() -> None:
        echo(f"The console is at {settings.console_address}  (stop it with Ctrl-C)", "bold")
        echo(f"  data: {redact_password(settings.database_url)}")
        invite_first(settings, opened)

    serve_console(settings, opened, announce)


def serve_console(settings: Settings, database: Database, announce: Callable[[], None] = lambda: None) -> None:
    """Serve the console until it is stopped; `announce` is called right before it listens."""
    from app.web.console.server import build_console

    for finding in unwritable_drafts(settings):
        log.warning("%s %s", finding.what, finding.to_do)
    server = build_console(settings, database)
    announce()
    lower_priority()
    listen(server, settings, settings.console_port)

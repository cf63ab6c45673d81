"""The command that serves participants and the console together, over one database."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Annotated

from app.cli.accounts import invite_first
from app.cli.commands import command
from app.cli.common import DatabaseAddress, Host, Port, StudiesToServe, option, settings_in_use
from app.cli.console import serve_console
from app.cli.http_server import end_with_parent, how_it_ended, open_when_up, require_free_port
from app.cli.logging_setup import set_up
from app.cli.printing import echo
from app.cli.study import load_all, serve_studies
from app.config.settings import Settings
from storage.db.engine import open_database

log = logging.getLogger(__name__)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1, 60
SETTLED_S = 5
"""For how long it is waited whether a process ended because everything is being stopped, as by Ctrl-C."""


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
    console = KeptRunning("console", _console, settings)
    console.start()
    if browser and sys.stdout.isatty():
        threading.Thread(target=open_when_up, args=(page, settings, settings.console_port), daemon=True).start()
    try:
        serve_studies(settings, files, qr=True)
    finally:
        console.stop()


class KeptRunning:
    """A process that is started again where it ends, until it is stopped."""

    def __init__(self, name: str, work: Callable[[Settings], None], settings: Settings) -> None:
        self._name, self._work, self._settings = name, work, settings
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"parley-{name}", daemon=True)

    def start(self) -> None:
        self._process = self._begin()
        self._thread.start()

    def stop(self) -> None:
        """End it for good."""
        self._stopped.set()
        self._process.terminate()
        self._thread.join()

    def _begin(self) -> BaseProcess:
        process = multiprocessing.get_context("spawn").Process(target=self._work, args=(self._settings,), daemon=True)
        process.start()
        return process

    def _keep(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            begun = time.monotonic()
            self._process.join()
            pause_s = FIRST_PAUSE_S if time.monotonic() - begun > LONGEST_PAUSE_S else pause_s
            if self._stopped.wait(SETTLED_S):
                return
            how = how_it_ended(self._process)
            log.error("the %s has ended (%s); it is started again in %d s", self._name, how, pause_s)
            echo(f"The {self._name} has ended ({how}). It is started again in {pause_s} s.")
            if self._stopped.wait(pause_s):
                return
            self._process = self._begin()
            if self._stopped.is_set():  # meanwhile, and what was terminated is the one before
                self._process.terminate()
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _console(settings: Settings) -> None:
    set_up(settings)
    end_with_parent()
    serve_console(settings, open_database(settings.database_url))

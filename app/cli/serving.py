"""What all servers of Parley have in common: a free port, uvicorn, and a browser that is opened once they answer."""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from contextlib import suppress

from starlette.types import ASGIApp

from app.config.settings import Settings, env_name, reachable
from app.errors import SettingsError
from storage.db.backup import files_of
from storage.db.private_files import narrow

log = logging.getLogger(__name__)

START_TRIES = 300
FAILED = 70
"""The exit code of a server of which a thread has failed (EX_SOFTWARE of sysexits.h)."""
COLLECT_AFTER = 50_000
"""After how many new objects Python looks for garbage: with its own 700 that took 5 % of a busy server's time."""
NOT_STARTED = 3
BEHIND = 10
"""By how much a process gives way, from 0 to 19."""
PORTS = {"port": 7870, "console_port": 7871}
"""The settings that say where a server listens, each with another port to try."""


def listen(server: ASGIApp, settings: Settings, port: int, listening: socket.socket | None = None) -> None:
    """Serve until somebody stops it, at a port, or where somebody is `listening` already."""
    from app.cli import http_server

    narrow(files_of(settings.database_url))
    running = http_server.made(server, settings, port)
    threading.excepthook = _end
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.set_threshold(COLLECT_AFTER)
    with suppress(KeyboardInterrupt):
        running.run([listening] if listening is not None else None)
    if not running.started:
        sys.exit(NOT_STARTED)


def _end(failed: threading.ExceptHookArgs) -> None:
    """A thread of a server failed that nobody waits for, such as the one that writes. What is left of the process would
    answer and keep nothing, so it ends, and whoever started it starts it anew."""
    log.critical(
        "the thread %s has failed, so this process ends",
        failed.thread.name if failed.thread else "",
        exc_info=failed.exc_value,
    )
    os._exit(FAILED)


def give_way() -> None:
    """Let this process wait where others on the machine have work to do: whoever takes part comes first."""
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    elif hasattr(os, "nice"):
        os.nice(BEHIND)


def must_be_free(settings: Settings, name: str) -> None:
    """Raise SettingsError where something else already listens on the port that a setting of that `name` says."""
    port = getattr(settings, name)
    with socket.socket(family_of(settings.host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, port))
        except OSError as error:
            raise SettingsError(
                f"Parley cannot listen on {settings.host}:{port} ({error.strerror}). Stop what is there, "
                f"or choose another port: --port {PORTS[name]}, or {env_name(name)}={PORTS[name]}"
            ) from None


def family_of(host: str) -> socket.AddressFamily:
    """IPv6 where an address is written so."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def open_when_up(address: str, settings: Settings) -> None:
    """Open the page in a browser as soon as the participants' server answers."""
    for _ in range(START_TRIES):
        try:
            socket.create_connection((reachable(settings.host), settings.port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            webbrowser.open(address)
            return

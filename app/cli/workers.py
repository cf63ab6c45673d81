"""`parley serve --workers N`: processes over one socket and one PostgreSQL; where one ends another takes its place.

What waits to be accepted waits at the socket, which the supervisor holds as well, so a worker that is killed takes only
what it was answering. A reply is claimed by the worker that asks for it (`storage/db/advisory_locks.py`). uvicorn has
a supervisor too; it ends a worker that is not up within some seconds, which a busy machine needs, and hears no signal
meanwhile.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Sequence
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from app.cli.http_server import NOT_STARTED, end_with_parent, family_of, listen
from app.cli.logging_setup import set_up
from app.config.settings import Settings, env_name
from app.errors import SettingsError
from app.studies.loader import load_study
from app.web.server import build_app
from problems.errors import ParleyError
from storage.db.database_url import redact_password, sqlite_path
from storage.db.engine import open_database

log = logging.getLogger(__name__)
LOOK_S = 0.2


def require_settings_of_workers(settings: Settings, count: int) -> None:
    """Raise SettingsError where the settings are those of a single process."""
    if sqlite_path(settings.database_url) is not None:
        raise SettingsError(
            f"{count} workers need PostgreSQL, and {redact_password(settings.database_url)} is SQLite, which has one "
            f"server. Set {env_name('database_url')}=postgresql+psycopg://USER:PASSWORD@HOST/NAME, or serve without "
            "--workers"
        )


def supervise(settings: Settings, references: Sequence[str], count: int) -> None:
    """Serve studies with several workers until stopped, or until one cannot start."""
    told: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: told.append(number))
    with socket.create_server((settings.host, settings.port), family=family_of(settings.host)) as listening:
        workers = [_begin(settings, references, listening) for _ in range(count)]
        while not told and NOT_STARTED not in [worker.exitcode for worker in workers]:
            workers = [_begin(settings, references, listening) if _has_ended(worker) else worker for worker in workers]
            time.sleep(LOOK_S)
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()
    if not told:
        sys.exit(NOT_STARTED)


def _begin(settings: Settings, references: Sequence[str], listening: socket.socket) -> BaseProcess:
    """A worker, forked from a process that has imported everything, where the system can do that."""
    context: ForkServerContext | SpawnContext = multiprocessing.get_context("spawn")
    if "forkserver" in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__])
    worker = context.Process(target=work, args=(settings, references, listening))
    worker.start()
    return worker


def _has_ended(worker: BaseProcess) -> bool:
    if worker.exitcode is not None:
        log.error("the worker %d exited (%s); starting another", worker.pid, worker.exitcode)
    return worker.exitcode is not None


def work(settings: Settings, references: Sequence[str], listening: socket.socket) -> None:
    set_up(settings)
    end_with_parent()
    try:
        database = open_database(settings.database_url)
        server = build_app(settings, database, [load_study(one) for one in references])
    except ParleyError as error:
        log.critical("this worker cannot start: %s", error)
        sys.exit(NOT_STARTED)
    listen(server, settings, settings.port, listening)

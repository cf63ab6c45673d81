"""Parley served for tests: in this process on a free port, or as a process of its own that can be killed.

Both are the real thing over real HTTP on the loopback; only the limits of rates are wider. A process that is started
again and again is forked from one that has imported everything, which takes a second in place of six.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from starlette.types import ASGIApp

from app.cli.http_server import ConnectionLimits, made
from app.clock import Clock
from app.config.settings import Settings
from app.session.signed_links import Tickets
from app.studies.loader import load_study
from app.web.server import build_app
from storage.db.engine import Database, open_database
from tests.fakes import forked as forks
from tests.fakes.aside import START_S, aside
from tests.fakes.forked import Forked
from tests.fakes.let_go import let_go

SECRET = "0123456789abcdef0123456789abcdef"
FAST = {
    "requests_per_second": 10_000.0,
    "request_burst": 100_000,
    "messages_per_minute": 100_000,
    "sessions_per_address_per_hour": 100_000,
}


@dataclass(frozen=True)
class Served:
    """A running server: where it is, and what it stands on."""

    url: str
    app: ASGIApp
    database: Database
    settings: Settings


def settings_for(folder: Path, **more: Any) -> Settings:
    """Settings of a test: a database in its folder, no limits of rates, nothing from the environment's .env."""
    known: dict[str, Any] = {
        "database_url": f"sqlite:///{folder}/parley.db",
        "secret": SECRET,
        "studies_dir": folder / "studies",
    }
    return Settings(_env_file=None, **(known | FAST | more))


def ticket(study: str, **more: str) -> dict[str, str]:
    """The form of a start page's button, for who has not looked at the page."""
    return {"ticket": Tickets(SECRET).new(study), **more}


@asynccontextmanager
async def serving(
    settings: Settings,
    *studies: Path | str,
    again: bool = False,
    clock: Clock | None = None,
    limits: ConnectionLimits | None = None,
) -> AsyncIterator[Served]:
    database = open_database(settings.database_url)
    app = build_app(settings, database, [load_study(str(study)) for study in studies], clock, again=again)
    try:
        async with answering(app, settings, limits) as url:
            yield Served(url, app, database, settings)
    finally:
        let_go(database)


@asynccontextmanager
async def answering(app: ASGIApp, settings: Settings, limits: ConnectionLimits | None = None) -> AsyncIterator[str]:
    server = made(app, settings, 0, limits)
    server.config.timeout_graceful_shutdown = 1
    task = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


def serving_aside(settings: Settings, *studies: Path | str) -> AbstractContextManager[Served]:
    return aside(serving(settings, *studies))


@dataclass
class Process:
    """`parley serve`, or another server's command, as a process of its own, always at the same address, over one SQLite
    file, or the database that `env` names.

    It is the command itself, or, where `forked`, the same command in a fork of a process that has imported it, as `run`
    runs it.
    """

    folder: Path
    studies: tuple[Path, ...]
    env: dict[str, str] = field(default_factory=dict)
    forked: bool = True
    command: str = "serve"
    options: tuple[str, ...] = ()
    run: Callable[..., None] = forks.command
    port: int = 0
    _running: subprocess.Popen[bytes] | Forked | None = None

    def __post_init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database_url(self) -> str:
        return self.env.get("PARLEY_DATABASE_URL", f"sqlite:///{self.folder}/parley.db")

    @property
    def log(self) -> str:
        return (self.folder / f"{self.command}.log").read_text(encoding="utf-8")

    @property
    def pid(self) -> int:
        number = self._running.pid if self._running else None
        assert number is not None, "is not running"
        return number

    def start(self) -> None:
        env = {"PARLEY_DATABASE_URL": self.database_url, "PARLEY_SECRET": SECRET}
        env |= {"PARLEY_PORT" if self.command == "serve" else "PARLEY_CONSOLE_PORT": str(self.port)}
        env |= {f"PARLEY_{name.upper()}": str(value) for name, value in FAST.items()} | self.env
        if self.forked:
            words = [self.command, *map(str, self.studies), *self.options]
            out = self.folder / f"{self.command}.log"
            self._running = Forked(self.run, *words, folder=self.folder, out=out, env=env)
        else:
            fresh = [str(Path(sys.executable).parent / "parley"), self.command, *map(str, self.studies), *self.options]
            with (self.folder / f"{self.command}.log").open("ab") as log:
                around = {**os.environ, **env}
                self._running = subprocess.Popen(fresh, cwd=self.folder, env=around, stdout=log, stderr=log)
        self._wait()

    def _wait(self) -> None:
        give_up = time.monotonic() + START_S
        with httpx2.Client(base_url=self.url, timeout=60) as client:
            while time.monotonic() < give_up and self.alive:
                with suppress(httpx2.TransportError):
                    if client.get("/healthz").status_code == 200:
                        return
                time.sleep(0.05)
        raise RuntimeError(f"the server did not come up within {START_S:g} s:\n{self.log}")

    @property
    def alive(self) -> bool:
        running = self._running
        return running.alive if isinstance(running, Forked) else running is not None and running.poll() is None

    def kill(self) -> None:
        """`kill -9`."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        running, self._running = self._running, None
        if running is None:
            return
        with suppress(ProcessLookupError):
            os.kill(running.pid, how)
        running.wait(60)

"""Exports made for the console, and the links by which they are fetched.

An export is written and zipped into a folder that only this process's user can read. Its link works for the user who
made it, for a quarter of an hour; then, and when the server stops, the file is deleted. The next server deletes the
files of one that was killed: a lock in the folder shows whether its server runs. Links are known to this process only,
so they do not work after a restart.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import BinaryIO

from filelock import FileLock
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from app.clock import Clock
from app.use_cases.export import write_export
from app.web.console.current_user import VISITOR, CurrentUser
from storage.datasets.exports.exporter import OnRows
from storage.datasets.exports.plan import ExportRequest
from storage.db.checksums import sha256_of
from storage.db.engine import Database
from storage.db.private_files import create, delete_abandoned, hold_lock, new_folder
from storage.errors import StorageError

log = logging.getLogger(__name__)
PREFIX, LOCK = "parley-downloads-", "lock"
LIFE_S = 15 * 60
SECOND_US = 1_000_000
UNWRITABLE = "The file cannot be written"
TELL = "Report this to whoever operates the server."
UNKNOWN = "There is no download with this link, or it has expired. Create the export again on the Export tab."
ANOTHERS = "This link belongs to another account. Create your own export on the Export tab."


@dataclass(frozen=True, slots=True)
class Link:
    visitor: str
    token: str
    path: Path
    name: str
    about: str
    sessions: int
    bytes: int
    sha256: str
    until_us: int


class Downloads:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._links: dict[str, Link] = {}
        self._timers: list[threading.Timer] = []
        self._root: Path | None = None
        self._own: FileLock | None = None
        """Held as long as this process lives, in its folder."""
        _sweep_killed()

    def make(
        self,
        user: CurrentUser,
        database: Database,
        request: ExportRequest,
        about: str = "",
        on_rows: OnRows = lambda path, rows: None,
    ) -> Link:
        """Offer a zip file with the description `about`; StorageError, or what `on_rows` raises, leaves no file."""
        try:
            with self._folder() as own:
                folder = own / f"{request.study}-{request.schema}"
                new_folder(folder)
                manifest, packed = write_export(database, request, folder, zipped=True, on_rows=on_rows)
                return self._keep(user, about, (packed, manifest.sessions))
        except OSError as error:
            raise StorageError(f"{UNWRITABLE}: {error.strerror or error}. {TELL}") from error

    def links(self, user: CurrentUser) -> list[Link]:
        self.sweep()
        with self._lock:
            return [link for link in reversed(self._links.values()) if link.visitor == user.name]

    def sweep(self) -> None:
        now_us = self._clock.now_us()
        with self._lock:
            old = [key for key, link in self._links.items() if link.until_us <= now_us]
            paths = [self._links.pop(key).path for key in old]
        for path in paths:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        with self._lock:
            self._links.clear()
            timers, root = self._timers, self._root
        for timer in timers:
            timer.cancel()
        if root is not None and self._own is not None:
            shutil.rmtree(root, ignore_errors=True)
            self._own.release()

    def route(self) -> Route:
        return Route("/download/{token}", self._fetch, methods=["GET", "HEAD"])

    async def _fetch(self, request: Request) -> Response:
        user: CurrentUser | None = request.scope.get(VISITOR)
        self.sweep()
        link = self._links.get(request.path_params["token"])
        if link is None:
            return _refused(404, UNKNOWN)
        if user is None or user.name != link.visitor:
            return _refused(403, ANOTHERS)
        headers = {"cache-control": "no-store"}
        return FileResponse(link.path, filename=link.name, headers=headers)

    def uploads(self, user: CurrentUser) -> Path:
        """The folder of a user's uploads, until this process ends."""
        folder = self._files() / f"from-{hashlib.sha256(user.name.encode()).hexdigest()[:16]}"
        folder.mkdir(exist_ok=True)
        return folder

    def _files(self) -> Path:
        with self._lock:
            if self._own is None:
                self._root = Path(mkdtemp(prefix=PREFIX))
                self._own = hold_lock(self._root / LOCK)
            if self._own is None or self._root is None:
                raise OSError(f"{self._root} cannot be locked, or another console process is checking it; try again")
            return self._root

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        own = Path(mkdtemp(dir=self._files()))
        try:
            yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def offer(
        self, user: CurrentUser, name: str, about: str, sessions: int, write: Callable[[BinaryIO], object]
    ) -> Link:
        """A link to a file with what `write` puts in it; raises StorageError if it cannot be written."""
        try:
            with self._folder() as folder:
                with create(folder / name) as file:
                    write(file)
                return self._keep(user, about, (folder / name, sessions))
        except OSError as error:
            raise StorageError(f"{UNWRITABLE}: {error.strerror or error}") from error

    def _keep(self, user: CurrentUser, about: str, made: tuple[Path, int]) -> Link:
        packed, sessions = made
        token = secrets.token_urlsafe(16)
        link = Link(
            visitor=user.name,
            token=token,
            path=packed.parent.with_name(f"{token}.zip"),
            name=packed.name,
            about=about,
            sessions=sessions,
            bytes=packed.stat().st_size,
            sha256=sha256_of(packed),
            until_us=self._clock.now_us() + LIFE_S * SECOND_US,
        )
        packed.rename(link.path)
        with self._lock:
            self._links[token] = link
            timer = threading.Timer(LIFE_S + 1, self.sweep)
            timer.daemon = True
            timer.start()
            self._timers = [*filter(threading.Timer.is_alive, self._timers), timer]
        return link


def _sweep_killed() -> None:
    """Delete the folders of consoles that were killed, whose locks nobody holds."""
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        if _mine(folder / LOCK) and delete_abandoned(folder, folder / LOCK):
            log.info("deleted %s, left by a console killed while it exported", folder)


def _mine(lock: Path) -> bool:
    """True if a lock and its folder belong to this process's user: anyone can create files in the temporary folder."""
    try:
        found = lock.parent.lstat(), lock.lstat()
    except OSError:
        return False
    own = os.name != "posix" or all(one.st_uid == os.geteuid() for one in found)
    return own and stat.S_ISDIR(found[0].st_mode) and stat.S_ISREG(found[1].st_mode)


def _refused(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, headers={"cache-control": "no-store"})

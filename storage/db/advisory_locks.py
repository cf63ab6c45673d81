"""Claims: what one process does and no other does meanwhile, of all that serve one database; such as asking a model.

Over PostgreSQL a claim is an advisory lock, held by a connection of the process's own; over SQLite it is a locked file
beside the database. Either way it ends with the process, however that ends. A PostgreSQL that was restarted knows of no
claim: then two may have the same one, never nobody.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout
from sqlalchemy import BigInteger, Connection, Engine, func, literal, select
from sqlalchemy.sql.functions import Function

from storage.db.database_url import sqlite_path
from storage.db.file_lock import beside
from storage.db.private_files import unwritable
from storage.errors import StorageError

KEEPALIVES = {"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "2", "tcp_keepalives_count": "3"}
"""What PostgreSQL sees by that a machine is gone, power or cable and all, and with it the claims of its processes: in
11 seconds. By itself it would take two hours."""


class AdvisoryLocks(Protocol):
    """What this process has claimed, by names."""

    def acquire(self, *names: str) -> Future[bool]:
        """Claim what has these names; whether it is given. StorageError if that cannot be found out."""
        ...

    def release(self, *names: str) -> None:
        """Let go of what was given; nobody waits for it."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


def claims_of(engine: Engine, *, shared: bool) -> AdvisoryLocks | None:
    """The claims of this process; None where nobody else serves the database: an SQLite file that is not `shared` by
    workers."""
    if engine.dialect.name == "postgresql":
        return PostgresLocks(engine)
    file = sqlite_path(str(engine.url))
    return FileLocks(beside(file, "claims")) if shared and file is not None else None


class FileLocks:
    """A locked file for each claim, in a folder; it is deleted while it is locked, so that nobody locks it later."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        self._folder = folder
        self._held: dict[Path, FileLock] = {}

    def acquire(self, *names: str) -> Future[bool]:
        """See Claims."""
        given: Future[bool] = Future()
        path = self._folder / _digest(names).hex()
        lock = FileLock(path, blocking=False, thread_local=False, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            given.set_result(False)
        except OSError as error:
            given.set_exception(StorageError(f"{path}: this file cannot be locked: {error}"))
        else:
            self._held[path] = lock
            given.set_result(True)
        return given

    def release(self, *names: str) -> None:
        """See Claims."""
        path = self._folder / _digest(names).hex()
        if (lock := self._held.pop(path, None)) is not None:
            with suppress(OSError):  # Windows keeps what is open
                path.unlink()
            lock.release()

    def close(self) -> None:
        """See Claims."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()


class PostgresLocks:
    """Advisory locks. The connection is opened with the first, and anew if it is lost."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._thread = ThreadPoolExecutor(1, "parley-claims")  # a connection serves one at a time

    def acquire(self, *names: str) -> Future[bool]:
        """See Claims; StorageError if the database does not answer."""
        return self._thread.submit(self._ask, func.pg_try_advisory_lock(_number(names)))

    def release(self, *names: str) -> None:
        """See Claims. Where the connection is lost, so is the claim."""
        self._thread.submit(self._ask, func.pg_advisory_unlock(_number(names)))

    def close(self) -> None:
        """See Claims."""
        self._thread.submit(self._forget)
        self._thread.shutdown()

    def _ask(self, lock: Function[Any]) -> bool:
        try:
            connection = self._connection or self._open()
            return bool(connection.execute(select(lock)).scalar())
        except StorageError:
            self._forget()
            raise

    def _open(self) -> Connection:
        self._connection = connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # or the pool would give it to somebody else, claims and all
        for name, value in KEEPALIVES.items():
            connection.execute(select(func.set_config(name, value, False)))
        return connection

    def _forget(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(StorageError):
                connection.close()


def _number(names: tuple[str, ...]) -> Any:
    """The number of PostgreSQL's lock."""
    return literal(int.from_bytes(_digest(names), signed=True), BigInteger)


def _digest(names: tuple[str, ...]) -> bytes:
    """64 bits of a hash, so that no two things share it."""
    return blake2b("\0".join(names).encode(), digest_size=8).digest()

"""Locks on files beside an SQLite database: the operating system's, so each ends with its process, however that ends.

The file stays where it is; what stands in it is the number of the process that locked it last. PostgreSQL has locks of
its own (`advisory_locks.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from storage.db.database_url import sqlite_path
from storage.db.engine import Database
from storage.errors import StorageError


def serving_lock(database: Database) -> AbstractContextManager[object]:
    """Raises StorageError where a server holds it, as both would ask for the same replies; none for PostgreSQL."""
    file = sqlite_path(str(database.url))
    if file is None:
        return nullcontext()
    return locked(
        beside(file, "serving"),
        f"{file}: {{holder}} serves this database already, and two would ask models, and pay, for the same replies. "
        "Stop that one first, or serve another database (parley serve --database sqlite:///other.db). Several servers "
        "and workers share a PostgreSQL",
    )


def beside(file: Path, what: str) -> Path:
    """A file or folder beside a database's, the same for every link to it."""
    real = file.resolve()
    return real.with_name(f"{real.name}-{what}")


@contextmanager
def locked(path: Path, taken: str) -> Iterator[None]:
    """Hold a file's lock; raises StorageError with `taken`, where `{holder}` is who has it, if another process does."""
    lock = FileLock(path, blocking=False, thread_local=False, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        raise StorageError(taken.format(holder=_holder(path))) from None
    except OSError as error:
        raise StorageError(f"{path}: cannot lock this file: {error}") from error
    try:
        with suppress(OSError):  # a full disk: then nobody is told the number
            path.write_text(f"{os.getpid()}\n", encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(path: Path) -> str:
    try:
        return f"process {int(path.read_text(encoding='ascii'))}"
    except (OSError, ValueError):  # Windows lets nobody read it meanwhile
        return "another process"

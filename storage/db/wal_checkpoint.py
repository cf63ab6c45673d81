"""SQLite's write-ahead log is copied into the database by a thread of its own, not by the commit that it falls on.

With SQLite's own `wal_autocheckpoint` one commit in some waits for that copy, and where somebody reads for long, as the
console does, each one tries it anew. A PASSIVE checkpoint blocks nobody, but where commits never pause it never gets to
the end, and the file grows; so once that is long, a FULL one keeps writers waiting for the little that is left.
"""

from __future__ import annotations

import logging
import threading
from sqlite3 import Error
from typing import Any

from sqlalchemy import Connection, Engine

from storage.db.database_url import sqlite_path

log = logging.getLogger(__name__)
EVERY_S = 1.0
LONG = 4_000
"""Pages, mostly of 4 KiB, from which on the log is to be begun anew."""
PATIENCE_MS = 20
"""How long a FULL checkpoint waits for readers of something old; the next one tries again."""


def leave_checkpoints(connection: Connection) -> None:
    """Let a connection make none itself."""
    if connection.dialect.name == "sqlite":
        connection.connection.cursor().execute("PRAGMA wal_autocheckpoint=0")


class WalCheckpoints:
    """What copies, from when it is made until it is closed; nothing on a database that is no SQLite file."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._closing = engine, threading.Event()
        self.idle = threading.Lock()
        """Held by whoever makes a checkpoint: two at once are refused."""
        self._thread = threading.Thread(target=self._run, name="parley-checkpoints", daemon=True)
        if sqlite_path(str(engine.url)) is not None:
            self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        connection = self._engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA busy_timeout={PATIENCE_MS}")
            while not self._closing.wait(EVERY_S):
                try:
                    with self.idle:
                        _checkpoint(cursor)
                except Error as error:  # the disk is full, or the file is away: commits tell of that
                    log.warning("the write-ahead log was not copied: %s", error)
            cursor.close()
        finally:
            connection.invalidate()
            connection.close()


def _checkpoint(cursor: Any) -> None:
    (_, pages, _) = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages > LONG:
        cursor.execute("PRAGMA wal_checkpoint(FULL)").fetchone()

"""The event log: one writer thread appends events, with the rows that they imply, in group commits.

Inserting the next number of a stream is the lock: one of two writers wins and the other gets Conflict. If a request
fails, its batch is written again with a savepoint per request, so a conflict of one participant does not affect others.
A future is done only after the commit, so data reported as saved are on disk.

If a batch cannot be written (the disk is full, the database is unavailable), `fault` is set until a probe of the size
of a large batch has been written: a full disk often has room for a few more bytes, so a small write proves nothing.
"""

from __future__ import annotations

import logging
import math
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from sqlite3 import Error as SqliteError
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Engine, bindparam, func, select
from sqlalchemy.exc import IntegrityError, InternalError, OperationalError, StatementError

from experiments.events import Event
from problems.errors import ParleyError
from storage import tables
from storage.db.database_url import sqlite_path
from storage.db.engine import IN_THE_WAY, writer
from storage.errors import Conflict, StorageError, Unwritable, cause
from storage.log.erasure import truncate_wal
from storage.log.seats import lock, overdue_sessions
from storage.log.telemetry import TelemetryBatch, last_activity_us, was_attended
from storage.log.writer import TYPED, Append, AppendWithCounts, AttemptRow, DraftRow, Work, lock_usage, write

log = logging.getLogger(__name__)
CHECKPOINT_EVERY_S = 1.0
# Pages, mostly of 4 KiB, from which on the log is to be begun anew.
LONG_WAL = 4_000
# How long a FULL checkpoint waits for readers of something old; the next one tries again.
CHECKPOINT_PATIENCE_MS = 20

MOST_AT_ONCE = 500
# Requests per batch that may count other sessions: each takes milliseconds, while other processes wait.
MOST_COUNTED = 8
TRIES = 5
# Exceptions of a database that cannot write, whatever the data.
AWAY = (OperationalError, InternalError)
# Exceptions for values that the database cannot hold; drivers pass on some of Python's own errors.
UNFIT = (StatementError, TypeError, ValueError, OverflowError)
CLOSE = None
# How long requests that no caller waits for are held, to be written with later ones in fewer commits. A crash loses up
# to this much.
LINGER_S = {TelemetryBatch: 0.25, AttemptRow: 0.05}
# Other requests are held for GATHER_S if the last commit is at most this long ago: many active participants share
# commits, and a single one does not wait.
BUSY_S = 0.01
GATHER_S = 0.005
# How long reading a draft waits for one that is being written.
WRITING_S = 5.0
# The stream of a draft without a session, written to probe whether writing works.
NOBODY = "readiness"
# The size of the probe in characters; a request has up to 192 KB.
ROOM = 256 * 1024
AGAIN_S = 1.0

_event = tables.events.c
_LAST = select(func.max(_event.seq)).where(_event.stream == bindparam("stream"))


@dataclass(slots=True)
class _Queued:
    work: Work
    future: Future[Any] = field(default_factory=Future)


class Log:
    """The log of a database: any thread may read it, one thread writes it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._checkpoints = WalCheckpoints(engine)
        self._drafting: WeakValueDictionary[str, Future[None]] = WeakValueDictionary()
        self._busy_until_s = self._again_s = 0.0
        self._unkept: list[AttemptRow] = []
        self.fault = ""
        """The reason why the database cannot be written at the moment; empty while it can."""
        self._thread = threading.Thread(target=self._run, name="parley-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def close(self) -> None:
        """Write the queued requests, then stop."""
        self._queue.put(CLOSE)
        self._thread.join()
        self._checkpoints.close()

    def load(self, stream: str) -> tuple[Event, ...]:
        return load(self._engine, stream)

    def append(self, append: Append) -> Future[None]:
        """Append events. The future is done after the commit, or fails with Conflict if another writer was first."""
        return self._put(append)

    def append_counted(self, append: AppendWithCounts) -> Future[Append]:
        """Append events that depend on other sessions. The future returns the data written, or raises as `make` did."""
        return self._put(append)

    def save_draft(self, row: DraftRow) -> Future[None]:
        self._drafting[row.stream] = future = self._put(row)
        return future

    def record_attempt(self, row: AttemptRow) -> Future[None]:
        """The result has cost money: if it cannot be written (the future fails), it is kept until writing works."""
        return self._put(row)

    def record_telemetry(self, batch: TelemetryBatch) -> Future[None]:
        """Record telemetry of a page; Conflict if the batch was recorded before."""
        return self._put(batch)

    def draft(self, stream: str, path: str) -> dict[str, Any]:
        """The draft, if any. Waits for one being written: a reopened page can be faster than a slow disk."""
        return self.last_seq_and_draft(stream, path)[1]

    def last_seq_and_draft(self, stream: str, path: str) -> tuple[int, dict[str, Any]]:
        if writing := self._drafting.get(stream):
            wait([writing], WRITING_S)
        with self._engine.connect() as connection:
            last = connection.execute(_LAST, {"stream": stream}).scalar() or 0
            typed = connection.execute(TYPED, {"at_stream": stream, "at_path": path}).scalar()
        return last, dict(typed or {})

    def last_sign_us(self, stream: str) -> int:
        """The time of the last activity that is not an event; 0 if there is none."""
        with self._engine.connect() as connection:
            return last_activity_us(connection, stream)

    def was_attended(self, stream: str, path: str) -> bool:
        """True if a screen gave a sign of activity other than an event."""
        with self._engine.connect() as connection:
            return was_attended(connection, stream, path)

    def last_seq(self, stream: str) -> int:
        return last_seq(self._engine, stream)

    def due(self, now_us: int, most: int) -> list[str]:
        with self._engine.connect() as connection:
            return overdue_sessions(connection, now_us, most)

    def _put(self, work: Work) -> Future[Any]:
        item = _Queued(work)
        self._queue.put(item)
        return item.future

    def _run(self) -> None:
        with writer(self._engine) as connection:
            leave_checkpoints(connection)
            closing = False
            while not closing:
                batch, closing = self._next()
                if batch:
                    self._commit(connection, batch)
                    self._busy_until_s = time.monotonic() + BUSY_S
                if self.fault and time.monotonic() >= self._again_s:
                    self._try_again(connection)
                if any(isinstance(item.work, Append) and item.work.erases for item in batch):
                    with self._checkpoints.idle:
                        truncate_wal(connection)
            if self._unkept and self._commit(connection, [_Queued(work) for work in self._unkept]):
                self.fault = ""

    def _commit(self, connection: Connection, queued: Sequence[_Queued]) -> bool:
        """Write a batch in one transaction and complete its futures; cancelled requests are left out. If it cannot be
        written, `fault` is set before False is returned, until `_try_again` succeeds."""
        batch = [item for item in queued if item.future.set_running_or_notify_cancel()]
        outcomes, error = _written(connection, batch)
        if error is not None:
            self.fault, self._again_s = f"the database could not be written: {cause(error)}", time.monotonic() + AGAIN_S
        if isinstance(error, AWAY):
            self._unkept += [item.work for item in queued if isinstance(item.work, AttemptRow)]
        for item, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                item.future.set_exception(outcome)
            else:
                item.future.set_result(outcome)
        return error is None

    def _try_again(self, connection: Connection) -> None:
        """Probe whether writing works again; if so, write the attempts kept meanwhile."""
        probes = (DraftRow(NOBODY, "", {"room": secrets.token_hex(size // 2)}, 0) for size in (ROOM, 0))
        if all(self._commit(connection, [_Queued(probe)]) for probe in probes):
            log.warning("the database is writable again")
            kept, self._unkept, self.fault = self._unkept, [], ""
            for work in kept:
                self._put(work)

    def _next(self) -> tuple[list[_Queued], bool]:
        """The next batch, and whether to stop. It sleeps while requests arrive: waking for each would delay pages."""
        batch: list[_Queued] = []
        counted, until_s = 0, self._again_s if self.fault else math.inf
        while len(batch) < MOST_AT_ONCE and counted < MOST_COUNTED:
            try:
                item = self._queue.get(timeout=None if until_s == math.inf else max(0.0, until_s - time.monotonic()))
            except queue.Empty:
                break
            if item is CLOSE:
                return batch, True
            batch.append(item)
            counted += isinstance(item.work, AppendWithCounts)
            now_s = time.monotonic()
            until_s = min(until_s, self._until_s(item.work, now_s))
            if until_s > now_s and type(item.work) not in LINGER_S:
                time.sleep(until_s - now_s)
        return batch, False

    def _until_s(self, work: Work, now_s: float) -> float:
        """The time until which a request may wait for others."""
        if (linger_s := LINGER_S.get(type(work))) is not None:
            return now_s + linger_s
        return now_s + GATHER_S if now_s < self._busy_until_s else now_s


def load(engine: Engine, stream: str) -> tuple[Event, ...]:
    with engine.connect() as connection:
        return facts(connection, stream)


def last_seq(engine: Engine, stream: str) -> int:
    with engine.connect() as connection:
        return connection.execute(_LAST, {"stream": stream}).scalar() or 0


def facts(connection: Connection, stream: str) -> tuple[Event, ...]:
    found = connection.execute(select(*tables.EVENT).where(_event.stream == stream).order_by(_event.seq))
    return tuple(Event(*row) for row in found)


def _written(
    connection: Connection, queued: Sequence[_Queued]
) -> tuple[Sequence[Append | BaseException | None], Exception | None]:
    """Write a batch; the outcome of each request, and the exception if the whole batch could not be written."""
    try:
        return _outcomes(connection, queued), None
    except Exception as error:  # whatever it was, the thread must go on to write for others
        log.exception("failed to write a batch of %d", len(queued))
        if connection.in_transaction():
            connection.rollback()
        kind = Unwritable if isinstance(error, AWAY) else StorageError
        return [kind(f"the database could not be written: {cause(error)}") for _ in queued], error


def _outcomes(connection: Connection, queued: Sequence[_Queued]) -> list[Append | BaseException | None]:
    """Write a batch in one transaction; retry if another process was in the way, as nothing is written then."""
    for left in reversed(range(TRIES)):
        try:
            if len(queued) == 1:
                return [_write(connection, queued[0].work, connection.begin)]
            return _write_batch(connection, queued) or _write_with_savepoints(connection, queued)
        except OperationalError as error:
            if not left or not any(words in str(error.orig) for words in IN_THE_WAY):
                raise
            log.warning("blocked by another process; retrying")
    raise AssertionError  # the last try returns or raises


def _write_batch(connection: Connection, queued: Sequence[_Queued]) -> list[Append | BaseException | None]:
    """Write without savepoints, a third of the work; if a request fails, nothing is written and the result is empty."""
    with connection.begin() as transaction:
        _lock(connection, queued)
        outcomes: list[Append | BaseException | None] = []
        for item in queued:
            outcomes.append(_write(connection, item.work, nullcontext))
            if isinstance(outcomes[-1], BaseException):
                transaction.rollback()
                return []
    return outcomes


def _write_with_savepoints(connection: Connection, queued: Sequence[_Queued]) -> list[Append | BaseException | None]:
    with connection.begin():
        _lock(connection, queued)
        return [_write(connection, item.work, connection.begin_nested) for item in queued]


def _lock(connection: Connection, queued: Sequence[_Queued]) -> None:
    if any(isinstance(item.work, AppendWithCounts) for item in queued):
        lock(connection)  # before any row lock, or two batches could deadlock
    if any(isinstance(item.work, AttemptRow) and item.work.of_session for item in queued):
        lock_usage(connection)


def _write(
    connection: Connection, work: Work, within: Callable[[], AbstractContextManager[Any]]
) -> Append | BaseException | None:
    """A conflict, a refusal or a value that does not fit is the outcome; a database error ends the batch."""
    try:
        with within():
            return write(connection, work)
    except ParleyError as error:
        return error
    except IntegrityError as error:
        return Conflict(f"{work.stream}: {cause(error)}")
    except AWAY:
        raise
    except UNFIT as error:
        return StorageError(f"{work.stream}: the database refuses the data: {cause(error)}")


def leave_checkpoints(connection: Connection) -> None:
    """Let a connection make none itself."""
    if connection.dialect.name == "sqlite":
        connection.connection.cursor().execute("PRAGMA wal_autocheckpoint=0")


class WalCheckpoints:
    """Copies SQLite's write-ahead log into the database in a thread of its own; nothing on another database. With
    `wal_autocheckpoint` commits wait for that copy, each of them while somebody reads for long. A PASSIVE checkpoint
    blocks nobody, but never ends where commits do not pause; once the file is long, a FULL one keeps writers waiting
    for the little that is left."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._closing = engine, threading.Event()
        self.idle = threading.Lock()
        """Held during a checkpoint: two at once are refused."""
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
            cursor.execute(f"PRAGMA busy_timeout={CHECKPOINT_PATIENCE_MS}")
            while not self._closing.wait(CHECKPOINT_EVERY_S):
                try:
                    with self.idle:
                        _checkpoint(cursor)
                except SqliteError as error:  # the disk is full, or the file is away: commits tell of that
                    log.warning("failed to copy the write-ahead log: %s", error)
            cursor.close()
        finally:
            connection.invalidate()
            connection.close()


def _checkpoint(cursor: Any) -> None:
    (_, pages, _) = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages > LONG_WAL:
        cursor.execute("PRAGMA wal_checkpoint(FULL)").fetchone()

"""The log: facts appended in group commits by one writer thread, with the rows that they imply.

Inserting the next number of a stream is the lock: of two writers one wins and the other gets Conflict. Where a piece of
work fails, its batch is written again with a savepoint for each, so a conflict of one participant harms nobody else. A
future is done only after the commit: what somebody was told is saved is on disk.

Where a batch could not be written (the disk is full, the database is away) `fault` says so, from then on until as much
as a large batch has been written: on a full disk there is often room for a few words more, which would say nothing.
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
from typing import Any
from weakref import WeakValueDictionary

from sqlalchemy import Connection, Engine, bindparam, func, select
from sqlalchemy.exc import IntegrityError, InternalError, OperationalError, StatementError

from experiments.events import Event
from problems.errors import ParleyError
from storage import tables
from storage.db.engine import writer
from storage.db.wal_checkpoint import WalCheckpoints, leave_checkpoints
from storage.errors import Conflict, StorageError, Unwritable, cause
from storage.log import usage
from storage.log.erasure import truncate_wal
from storage.log.seats import due, lock
from storage.log.telemetry import TelemetryBatch, last_activity_us
from storage.log.write_requests import Append, AppendWithCounts, AttemptRow, DraftRow, Work
from storage.log.writer import TYPED, write

log = logging.getLogger(__name__)

MOST_AT_ONCE = 500
MOST_COUNTED = 8
"""How many of them may count what others have: that takes milliseconds each, while other processes wait."""
TRIES = 5
IN_THE_WAY = ("database is locked", "deadlock detected")
"""What SQLite and PostgreSQL say where another process's transaction was in the way; this one has written nothing."""
AWAY = (OperationalError, InternalError)
"""What is raised where it is the database that cannot write, whatever was to be written."""
UNFIT = (StatementError, TypeError, ValueError, OverflowError)
"""What is raised for values that the database cannot hold; drivers let some of Python's own errors through."""
CLOSE = None
LINGER_S = {TelemetryBatch: 0.25, AttemptRow: 0.05}
"""For how long that for which nobody waits is held to be written with what comes next: a commit less. A crash loses as
much of it."""
BUSY_S = 0.01
"""All else is held for GATHER_S where the last commit was so short a time ago: many who click share commits, and of
who is alone nobody waits."""
GATHER_S = 0.005
WRITING_S = 5.0
"""For how long whoever reads a draft waits for one that is being written."""
NOBODY = "readiness"
"""The stream of a draft that is no session's, by which it is found out whether writing works."""
ROOM = 256 * 1024
"""How many characters are written before writing is said to work again; a request has up to 64 KB."""
AGAIN_S = 1.0
"""How often that is tried."""

_event = tables.events.c
_LAST = select(func.max(_event.seq)).where(_event.stream == bindparam("stream"))


@dataclass(slots=True)
class _Queued:
    work: Work
    future: Future[Any] = field(default_factory=Future)


class Log:
    """The log of a database: read by anybody, written by one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._checkpoints = WalCheckpoints(engine)
        self._drafting: WeakValueDictionary[str, Future[None]] = WeakValueDictionary()
        self._busy_until_s = self._again_s = 0.0
        self._unkept: list[AttemptRow] = []
        self.fault = ""
        """Why nothing can be written at the moment; empty while writing works."""
        self._thread = threading.Thread(target=self._run, name="parley-writer", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How much is queued and not yet taken to be written."""
        return self._queue.qsize()

    def close(self) -> None:
        """Write what is queued, then stop."""
        self._queue.put(CLOSE)
        self._thread.join()
        self._checkpoints.close()

    def load(self, stream: str) -> tuple[Event, ...]:
        """Every fact of a stream, in order; empty if there is none."""
        return load(self._engine, stream)

    def append(self, work: Append) -> Future[None]:
        """Write facts; the future is done after the commit, with Conflict if another writer was first."""
        return self._put(work)

    def append_counted(self, work: AppendWithCounts) -> Future[Append]:
        """Write facts that depend on others'; the future gives what was written, or what `make` raised."""
        return self._put(work)

    def save_draft(self, work: DraftRow) -> Future[None]:
        """Keep what has been typed at a place."""
        self._drafting[work.stream] = future = self._put(work)
        return future

    def record_attempt(self, work: AttemptRow) -> Future[None]:
        """Keep what became of an attempt to get a reply. It is paid for: where it cannot be written, which the future
        says, it is written once that works again."""
        return self._put(work)

    def record_telemetry(self, work: TelemetryBatch) -> Future[None]:
        """Keep what a page told of itself; Conflict if it was told before."""
        return self._put(work)

    def draft(self, stream: str, path: str) -> dict[str, Any]:
        """What has been typed at a place and not sent; empty if nothing. What is still being written here is waited
        for, but not without end: a page sends it as it is left, and is back before a slow disk has it."""
        return self.last_seq_and_draft(stream, path)[1]

    def last_seq_and_draft(self, stream: str, path: str) -> tuple[int, dict[str, Any]]:
        """Both `last_seq` and `draft`, in one go."""
        if writing := self._drafting.get(stream):
            wait([writing], WRITING_S)
        with self._engine.connect() as connection:
            last = connection.execute(_LAST, {"stream": stream}).scalar() or 0
            typed = connection.execute(TYPED, {"at_stream": stream, "at_path": path}).scalar()
        return last, dict(typed or {})

    def last_sign_us(self, stream: str) -> int:
        """When somebody was last at work on something that is no fact; 0 if never."""
        with self._engine.connect() as connection:
            return last_activity_us(connection, stream)

    def last_seq(self, stream: str) -> int:
        """The number of a stream's last fact; 0 if there is none."""
        return last_seq(self._engine, stream)

    def due(self, now_us: int, most: int) -> list[str]:
        """Sessions on which the clock has to act by now."""
        with self._engine.connect() as connection:
            return due(connection, now_us, most)

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

    def _commit(self, connection: Connection, batch: Sequence[_Queued]) -> bool:
        """Write a batch; False where it could not be, and then writing does not work until it was tried again."""
        error = _commit(connection, batch)
        if error is None:
            return True
        self.fault, self._again_s = f"the database could not be written: {cause(error)}", time.monotonic() + AGAIN_S
        if isinstance(error, AWAY):
            self._unkept += [item.work for item in batch if isinstance(item.work, AttemptRow)]
        return False

    def _try_again(self, connection: Connection) -> None:
        """Find out whether writing works again, and write what was kept for then."""
        probes = (DraftRow(NOBODY, "", {"room": secrets.token_hex(size // 2)}, 0) for size in (ROOM, 0))
        if all(self._commit(connection, [_Queued(probe)]) for probe in probes):
            log.warning("the database can be written again")
            kept, self._unkept, self.fault = self._unkept, [], ""
            for work in kept:
                self._put(work)

    def _next(self) -> tuple[list[_Queued], bool]:
        """What is written together: all that waits now, or comes while one of it may wait; and whether to stop.

        Where pieces come closely it sleeps meanwhile: to wake for each takes more from who clicks than to take it.
        """
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
        """Until when a piece of work may wait for others."""
        if (linger_s := LINGER_S.get(type(work))) is not None:
            return now_s + linger_s
        return now_s + GATHER_S if now_s < self._busy_until_s else now_s


def load(engine: Engine, stream: str) -> tuple[Event, ...]:
    """Every fact of a stream, in order; empty if there is none."""
    with engine.connect() as connection:
        return facts(connection, stream)


def last_seq(engine: Engine, stream: str) -> int:
    """The number of a stream's last fact; 0 if there is none."""
    with engine.connect() as connection:
        return connection.execute(_LAST, {"stream": stream}).scalar() or 0


def facts(connection: Connection, stream: str) -> tuple[Event, ...]:
    """All events of a stream in their order, as a connection sees them."""
    t = tables.events.c
    columns = (t.seq, t.at_us, t.by, t.path, t.kind, t.data, t.key)
    found = connection.execute(select(*columns).where(t.stream == stream).order_by(t.seq))
    return tuple(Event(*row) for row in found)


def _commit(connection: Connection, items: Sequence[_Queued]) -> Exception | None:
    """Write a batch in one transaction and tell each writer how it went; who no longer waits is left out. Gives what
    kept all of it from being written."""
    failed: Exception | None = None
    batch = [item for item in items if item.future.set_running_or_notify_cancel()]
    outcomes: Sequence[Append | BaseException | None] = []
    try:
        outcomes = _outcomes(connection, batch)
    except Exception as error:  # a named edge: whatever it was, the thread must live to write for others
        failed = error
        log.exception("a batch of %d could not be written", len(batch))
        if connection.in_transaction():
            connection.rollback()
        kind = Unwritable if isinstance(error, AWAY) else StorageError
        outcomes = [kind(f"the database could not be written: {cause(error)}") for _ in batch]
    for item, outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, BaseException):
            item.future.set_exception(outcome)
        else:
            item.future.set_result(outcome)
    return failed


def _outcomes(connection: Connection, batch: Sequence[_Queued]) -> list[Append | BaseException | None]:
    """Write a batch in one transaction; begin again where another was in the way, as nothing is written then."""
    for left in reversed(range(TRIES)):
        try:
            if len(batch) == 1:
                return [_write(connection, batch[0].work, connection.begin)]
            return _write_batch(connection, batch) or _write_with_savepoints(connection, batch)
        except OperationalError as error:
            if not left or not any(words in str(error.orig) for words in IN_THE_WAY):
                raise
            log.warning("another process was in the way; trying again")
    raise AssertionError  # the last try returns or raises


def _write_batch(connection: Connection, batch: Sequence[_Queued]) -> list[Append | BaseException | None]:
    """Write a batch in one transaction without savepoints, a third of the work; empty, and nothing is written, where
    something is amiss."""
    with connection.begin() as transaction:
        _lock(connection, batch)
        outcomes: list[Append | BaseException | None] = []
        for item in batch:
            outcomes.append(_write(connection, item.work, nullcontext))
            if isinstance(outcomes[-1], BaseException):
                transaction.rollback()
                return []
    return outcomes


def _write_with_savepoints(connection: Connection, batch: Sequence[_Queued]) -> list[Append | BaseException | None]:
    """Write a batch in one transaction, each piece in a savepoint of its own."""
    with connection.begin():
        _lock(connection, batch)
        return [_write(connection, item.work, connection.begin_nested) for item in batch]


def _lock(connection: Connection, batch: Sequence[_Queued]) -> None:
    if any(isinstance(item.work, AppendWithCounts) for item in batch):
        lock(connection)  # before any row is, or two batches might wait for each other
    if any(isinstance(item.work, AttemptRow) and item.work.of_session for item in batch):
        usage.lock(connection)


def _write(
    connection: Connection, work: Work, within: Callable[[], AbstractContextManager[Any]]
) -> Append | BaseException | None:
    """Write one piece of work, in a transaction or a savepoint of its own. A conflict, a refusal, or a value that does
    not fit is its own outcome; what ails the database ends the batch."""
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
        return StorageError(f"{work.stream}: what was to be written does not fit: {cause(error)}")

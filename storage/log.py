"""The log: facts appended in group commits by one writer thread, with the rows that they imply.

Inserting the next number of a stream is the lock: of two writers one wins and the other gets Conflict. Each append is a
savepoint of a shared transaction, so a conflict of one participant harms nobody else, and a future is done only after
the commit: what somebody was told is saved is on disk.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, Transaction, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError, InternalError, OperationalError, StatementError

from experiments.core.events import Event
from storage import tables
from storage.engine import writer
from storage.errors import Conflict, StorageError
from storage.schemas.base import Row
from storage.telemetry import Telemetry, write_telemetry
from storage.upserts import upsert, upsert_rows

log = logging.getLogger(__name__)

MOST_AT_ONCE = 500
UNFIT = (StatementError, TypeError, ValueError, OverflowError)
"""What is raised for values that the database cannot hold; drivers let some of Python's own errors through."""
CLOSE = None


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A new session's entry in the register, with the recruiter's identity if there is one."""

    study: str
    hash: str
    origin: str
    identity: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What is no longer a draft, because it was sent: some names at a place, or all that was typed there."""

    path: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Append:
    """What is written together: facts of one stream, the rows they imply, and the part of a draft that was sent."""

    stream: str
    study: str
    events: tuple[Event, ...]
    rows: tuple[Row, ...] = ()
    enrolment: Enrolment | None = None
    spent: Spent | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody has typed and not yet sent."""

    stream: str
    path: str
    data: Mapping[str, Any]
    at_us: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to get a reply: a row of the table `attempt`."""

    values: Mapping[str, Any]

    @property
    def stream(self) -> str:
        """The session's."""
        return str(self.values["stream"])


Work = Append | Draft | Attempt | Telemetry


_draft = tables.drafts.c
_THERE = (_draft.stream == bindparam("at_stream"), _draft.path == bindparam("at_path"))
_TYPED = select(_draft.data).where(*_THERE)
_FORGET = delete(tables.drafts).where(*_THERE)
_KEEP = update(tables.drafts).where(*_THERE)
"""Made once: they are part of nearly every click."""


@dataclass(slots=True)
class _Item:
    work: Work
    future: Future[None] = field(default_factory=Future)


class Log:
    """The log of a database: read by anybody, written by one thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="parley-writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is queued, then stop."""
        self._queue.put(CLOSE)
        self._thread.join()

    def load(self, stream: str) -> tuple[Event, ...]:
        """Every fact of a stream, in order; empty if there is none."""
        return load(self._engine, stream)

    def append(self, work: Append) -> Future[None]:
        """Write facts; the future is done after the commit, with Conflict if another writer was first."""
        return self._put(work)

    def save_draft(self, work: Draft) -> Future[None]:
        """Keep what has been typed at a place."""
        return self._put(work)

    def record_attempt(self, work: Attempt) -> Future[None]:
        """Keep what became of an attempt to get a reply."""
        return self._put(work)

    def record_telemetry(self, work: Telemetry) -> Future[None]:
        """Keep what a page told of itself; Conflict if it was told before."""
        return self._put(work)

    def draft(self, stream: str, path: str) -> dict[str, Any]:
        """What has been typed at a place and not sent; empty if nothing."""
        t = tables.drafts.c
        with self._engine.connect() as connection:
            found = connection.execute(select(t.data).where(t.stream == stream, t.path == path)).scalar()
        return dict(found or {})

    def _put(self, work: Work) -> Future[None]:
        item = _Item(work)
        self._queue.put(item)
        return item.future

    def _run(self) -> None:
        with writer(self._engine) as connection:
            while (first := self._queue.get()) is not CLOSE:
                batch = [first]
                closing = False
                while len(batch) < MOST_AT_ONCE and not closing:
                    try:
                        item = self._queue.get_nowait()
                    except queue.Empty:
                        break
                    closing = item is CLOSE
                    batch += [] if item is None else [item]
                _commit(connection, batch)
                if closing:
                    return


def load(engine: Engine, stream: str) -> tuple[Event, ...]:
    """Every fact of a stream, in order; empty if there is none."""
    with engine.connect() as connection:
        return facts(connection, stream)


def facts(connection: Connection, stream: str) -> tuple[Event, ...]:
    """The same, as a connection sees it."""
    t = tables.events.c
    columns = (t.seq, t.at_us, t.by, t.path, t.kind, t.data, t.key)
    found = connection.execute(select(*columns).where(t.stream == stream).order_by(t.seq))
    return tuple(Event(*row) for row in found)


def _commit(connection: Connection, items: Sequence[_Item]) -> None:
    """Write a batch in one transaction and tell each writer how it went; who no longer waits is left out."""
    batch = [item for item in items if item.future.set_running_or_notify_cancel()]
    outcomes: list[BaseException | None] = []
    try:
        if len(batch) == 1:
            outcomes = [_write(connection, batch[0].work, connection.begin)]
        else:
            with connection.begin():
                outcomes = [_write(connection, item.work, connection.begin_nested) for item in batch]
    except Exception as error:  # a named edge: whatever it was, the thread must live to write for others
        log.exception("a batch of %d could not be written", len(batch))
        if connection.in_transaction():
            connection.rollback()
        outcomes = [StorageError(f"the database could not be written: {error}") for _ in batch]
    for item, outcome in zip(batch, outcomes, strict=True):
        if outcome is None:
            item.future.set_result(None)
        else:
            item.future.set_exception(outcome)


def _write(connection: Connection, work: Work, within: Callable[[], Transaction]) -> BaseException | None:
    """Write one piece of work, in a transaction or a savepoint of its own. A conflict, or a value that does not fit, is
    its own outcome; what ails the database ends the batch."""
    try:
        with within():
            if isinstance(work, Append):
                _write_append(connection, work)
            elif isinstance(work, Attempt):
                _write_attempt(connection, work.values)
            elif isinstance(work, Telemetry):
                write_telemetry(connection, work)
            else:
                if _is_done(connection, work):
                    return None
                draft = {
                    "stream": work.stream,
                    "path": work.path,
                    "data": dict(work.data),
                    "at_us": work.at_us,
                }
                upsert(connection, tables.drafts, [draft], ("stream", "path"))
    except IntegrityError as error:
        return Conflict(f"{work.stream}: {error.orig}")
    except (OperationalError, InternalError):
        raise
    except UNFIT as error:
        return StorageError(f"{work.stream}: what was to be written does not fit: {error}")
    return None


def _write_attempt(connection: Connection, values: Mapping[str, Any]) -> None:
    """Attempts for one reply count from 1, also over a restart of the server that was asking."""
    t = tables.attempts.c
    same = (t.stream == values["stream"], t.turn == values["turn"], t.slot == values["slot"])
    last = connection.execute(select(func.max(t.number)).where(*same)).scalar() or 0
    connection.execute(insert(tables.attempts), [{**values, "number": last + 1}])


def _is_done(connection: Connection, work: Draft) -> bool:
    """Whether the place was left before its draft arrived: what was sent is no draft any more."""
    t = tables.events.c
    done = select(t.seq).where(t.stream == work.stream, t.path == work.path, t.kind == "submitted")
    return connection.execute(done).first() is not None


def _write_append(connection: Connection, work: Append) -> None:
    recorded_us = time.time_ns() // 1000
    if work.enrolment:
        _enrol(connection, work.stream, work.enrolment)
    numbered = [
        {
            "stream": work.stream,
            "seq": event.seq,
            "at_us": event.at_us,
            "recorded_us": recorded_us,
            "by": event.by,
            "path": event.path,
            "kind": event.kind,
            "data": dict(event.data),
            "key": event.key,
        }
        for event in work.events
    ]
    connection.execute(insert(tables.events), numbered)
    upsert_rows(connection, work.study, work.stream, work.rows)
    if work.spent is not None:
        _spend(connection, work.stream, work.spent)


def _spend(connection: Connection, stream: str, spent: Spent) -> None:
    there = {"at_stream": stream, "at_path": spent.path}
    if spent.names is None:
        connection.execute(_FORGET, there)
        return
    typed = connection.execute(_TYPED, there).scalar()
    if typed is not None:
        left = {name: value for name, value in typed.items() if name not in spent.names}
        connection.execute(_KEEP, {**there, "data": left})


def _enrol(connection: Connection, stream: str, new: Enrolment) -> None:
    t = tables.sessions.c
    last = connection.execute(select(func.max(t.ordinal)).where(t.study == new.study)).scalar() or 0
    entry = {
        "stream": stream,
        "study": new.study,
        "hash": new.hash,
        "origin": new.origin,
        "ordinal": last + 1,
    }
    connection.execute(insert(tables.sessions), [entry])
    if new.identity:
        connection.execute(insert(tables.identities), [{"stream": stream, "study": new.study, **new.identity}])

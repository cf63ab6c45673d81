"""The replies of models that were asked alone: each stored once, by one writer thread, in group commits.

A crash loses at most what came in the last `EVERY_S`. A reply that is there already stays as it is, whoever comes with
another; a row that brought nothing gives way to the next. What cannot be written, as the disk is full, is paid for: it
is kept and written once that works; `fault` says so meanwhile.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, case, func, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from storage.ai_tables import SETTLED, replies
from storage.checkpoints import leave_checkpoints
from storage.engine import Database, writer
from storage.errors import StorageError
from storage.log import IN_THE_WAY, TRIES

log = logging.getLogger(__name__)
EVERY_S = 0.05
"""How long a reply waits for others with which it is committed."""
AGAIN_S = 1.0
"""How soon what could not be written is written again."""
PAGES = 10_000
"""How long SQLite's write-ahead log may become (40 MB): what many commits touch is then copied once."""
KEYS_AT_ONCE = 200
ROWS_AT_ONCE = 500
_own = replies.c
_SETTLED = _own.reason.in_(SETTLED)
CLOSE = None


class Reply(NamedTuple):
    """A row of `ai_reply`, column by column: one call and what came of it."""

    cell: str
    sample: int
    step: int
    run: str
    reason: str | None
    model: str
    backend: str
    server: str | None
    finish_reason: str | None
    version: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    started_us: int
    total_us: int
    tries: int
    text: str | None
    cause: str | None
    request: str
    raw: str


class Stored(NamedTuple):
    """What of a reply its readers need; `text` is None where `reason` says why."""

    cell: str
    sample: int
    step: int
    text: str | None
    reason: str | None
    finish_reason: str | None
    cost: float | None


class Replies:
    """The replies of a database: read by anybody, written by one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._failed: StorageError | None = None
        self.fault = ""
        """Why nothing can be written at the moment; empty while writing works."""
        self._thread = threading.Thread(target=self._run, name="parley-replies", daemon=True)
        self._thread.start()

    @property
    def behind(self) -> int:
        """How many rows wait to be written."""
        return self._queue.qsize()

    def put(self, reply: Reply) -> None:
        """Keep a row; it is on disk within `EVERY_S` and a commit. Raises StorageError if rows cannot be written."""
        self._check()
        self._queue.put(reply)

    def close(self) -> None:
        """Write what is left; raises StorageError if that failed."""
        self._closing.set()
        self._queue.put(CLOSE)
        self._thread.join()
        self._check()

    def _check(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        try:
            with writer(self._database) as connection:
                leave_checkpoints(connection, PAGES)
                while (first := self._queue.get()) is not CLOSE:
                    self._closing.wait(EVERY_S)
                    self._write(connection, [first, *self._waiting()])
        except SQLAlchemyError as error:
            self._failed = StorageError(f"replies could not be written: {_told(error)}")
            log.error("%s", self._failed)

    def _write(self, connection: Connection, rows: Sequence[Reply]) -> None:
        """Write rows, again and again where the database cannot, until this is closed."""
        while True:
            closing = self._closing.is_set()
            try:
                write(connection, rows)
            except OperationalError as error:
                if closing:
                    raise
                if not self.fault:
                    log.error(
                        "replies cannot be written: %s; nothing more is asked until they can be. Ctrl-C ends the run, "
                        "and they are lost",
                        _told(error),
                    )
                self.fault = _told(error)
                self._closing.wait(AGAIN_S)
            else:
                self.fault = ""
                return

    def _waiting(self) -> Iterator[Reply]:
        """The rows that are there now."""
        for _ in range(self._queue.qsize()):
            found = self._queue.get()
            if found is CLOSE:
                self._queue.put(CLOSE)  # to be met by `_run`
                return
            yield found


def _told(error: SQLAlchemyError) -> str:
    """The cause of an error alone: the rest of it quotes whole rows."""
    return str(getattr(error, "orig", type(error).__name__))


def write(connection: Connection, rows: Sequence[Reply]) -> None:
    """Write rows in one transaction; what brought a reply before stays."""
    for left in reversed(range(TRIES)):
        try:
            with connection.begin():
                if connection.dialect.name == "sqlite":
                    connection.exec_driver_sql(_KEEP_IN_SQLITE, [*rows])  # a quarter less work than with names
                else:
                    connection.execute(_keeping(postgresql.insert), [row._asdict() for row in rows])
                return
        except OperationalError as error:
            if not left or not any(words in str(error.orig) for words in IN_THE_WAY):
                raise
            log.warning("another process was in the way; trying again")


def _keeping(insert_into: Any) -> Any:
    new = insert_into(replies)
    key = [column.name for column in replies.primary_key]
    others = {column.name: new.excluded[column.name] for column in _own if column.name not in key}
    gives_way = text(f"ai_reply.reason IS NOT NULL AND ai_reply.reason NOT IN {SETTLED}")
    return new.on_conflict_do_update(index_elements=key, set_=others, where=gives_way)


_KEEP_IN_SQLITE = str(_keeping(sqlite.insert).compile(dialect=sqlite.dialect()))


class Progress(NamedTuple):
    """How far a sample has come: how many of its steps brought a reply, and whether it has ended without one."""

    cell: str
    sample: int
    steps: int
    ended: bool


def progress(database: Database, keys: Iterable[str]) -> Iterator[Progress]:
    """How far the samples of cells have come, without their texts; those of which nothing is there are left out."""
    steps = func.sum(case((_own.reason.is_(None), 1), else_=0))
    ended = func.max(case((_SETTLED, 1), else_=0))
    for some in _parts(keys):
        wanted = select(_own.cell, _own.sample, steps, ended).where(_own.cell.in_(some))
        with database.connect() as connection:
            for cell, sample, count, over in connection.execute(wanted.group_by(_own.cell, _own.sample)):
                yield Progress(cell, sample, count, bool(over))


def texts(database: Database, cell: str, sample: int) -> tuple[str, ...]:
    """The replies to a sample's steps so far."""
    mine = (_own.cell == cell, _own.sample == sample, _own.reason.is_(None))
    with database.connect() as connection:
        return tuple(connection.execute(select(_own.text).where(*mine).order_by(_own.step)).scalars())


def stored(database: Database, keys: Iterable[str]) -> Iterator[Stored]:
    """Every row of some cells, cell by cell in the order of their keys; within one by sample and step."""
    columns = [_own[name] for name in Stored._fields]
    for some in _parts(sorted(set(keys))):
        wanted = select(*columns).where(_own.cell.in_(some)).order_by(_own.cell, _own.sample, _own.step)
        with database.connect() as connection:
            for row in connection.execute(wanted.execution_options(yield_per=ROWS_AT_ONCE)):
                yield Stored(*row)


def _parts(keys: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    while some := list(islice(rest, KEYS_AT_ONCE)):
        yield some


def brought(reason: str | None) -> bool:
    """Whether a row is for good: a reply, or an outcome of its own such as a refusal."""
    return reason is None or reason in SETTLED

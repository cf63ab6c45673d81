"""The runs of models alone: each a stream of the log, with the facts `began` and `ended`; who was killed has no end.

Two runs at once would ask for the same replies, and the second step of a sample could be asked about a first that the
other's has displaced; so only one asks over a database at a time. What holds it is let go with the process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, case, func, select

from experiments.events import Event
from storage import tables
from storage.db.append_events import append_events
from storage.db.database_url import sqlite_path
from storage.db.engine import Database, writer
from storage.db.file_lock import beside, locked
from storage.errors import StorageError

BEGAN, ENDED = "began", "ended"
# The number of PostgreSQL's advisory lock of who asks.
ASKING = 0xA5A10E
TAKEN = (
    "another run asks over this database just now; wait for its end or stop it, then give the same command again: what "
    "is stored by then is not asked for twice"
)
_fact, _try = tables.events.c, tables.attempts.c


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run; `ended` is None while it runs, or if it was killed. The calls were `replied`, `refused` or `failed`."""

    run: str
    at_us: int
    began: Mapping[str, Any]
    ended: Mapping[str, Any] | None
    replied: int
    refused: int
    failed: int
    cost: float


def begin_run(database: Database, data: Mapping[str, Any]) -> str:
    """Write that a run has begun; the stream of its facts, which is its name in the replies."""
    run = str(uuid4())
    _add(database, run, 1, BEGAN, data)
    return run


def end_run(database: Database, run: str, data: Mapping[str, Any]) -> None:
    _add(database, run, 2, ENDED, data)


def _add(database: Database, run: str, seq: int, kind: str, data: Mapping[str, Any]) -> None:
    event = Event(seq, time.time_ns() // 1000, "researcher", "", kind, data)
    with writer(database) as connection, connection.begin():
        append_events(connection, [(run, event)])


def runs(database: Database, study: str | None = None) -> list[StoredRun]:
    began = select(_fact.stream, _fact.at_us, _fact.data).where(_fact.kind == BEGAN).order_by(_fact.at_us)
    with database.connect() as connection:
        found = [row for row in connection.execute(began) if study in (None, row.data.get("study"))]
        mine = _fact.stream.in_([one.stream for one in found])
        ends = connection.execute(select(_fact.stream, _fact.data).where(mine, _fact.kind == ENDED))
        ended = {stream: data for stream, data in ends}
        return [
            StoredRun(one.stream, one.at_us, one.data, ended.get(one.stream), *_stored_counts(connection, one))
            for one in found
        ]


def _stored_counts(connection: Connection, run: Any) -> tuple[int, int, int, float]:
    """The calls are told apart by the last attempt of each, as only that can have brought something."""
    replied = func.max(case((_try.reason.is_(None), 1), else_=0)).label("replied")
    refused = func.max(case((_try.reason.in_(tables.SETTLED), 1), else_=0)).label("refused")
    cost = func.coalesce(func.sum(_try.cost), 0.0).label("cost")
    calls = select(replied, refused, cost).where(_try.stream == run.stream).group_by(_try.turn).subquery()
    sums = (func.coalesce(func.sum(calls.c[name]), 0) for name in ("replied", "refused", "cost"))
    count, replied_calls, refused_calls, spent = connection.execute(
        select(func.count(), *sums).select_from(calls)
    ).one()
    return int(replied_calls), int(refused_calls), count - int(replied_calls) - int(refused_calls), float(spent)


@contextmanager
def asking(database: Database) -> Iterator[None]:
    """Hold the lock on model runs over a database; raises StorageError if another process has it."""
    if path := sqlite_path(str(database.url)):
        with locked(beside(path, "asking"), TAKEN):
            yield
        return
    with database.connect() as connection:
        free = connection.execution_options(isolation_level="AUTOCOMMIT")
        if not free.execute(select(func.pg_try_advisory_lock(ASKING))).scalar():
            raise StorageError(TAKEN)
        try:
            yield
        finally:
            free.execute(select(func.pg_advisory_unlock(ASKING)))

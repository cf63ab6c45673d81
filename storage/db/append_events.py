"""Writing events: the one insert into the log's table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TypeVar

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from experiments.events import Event
from storage import tables
from storage.db.engine import Database, repeated, writer
from storage.errors import Conflict

Made = TypeVar("Made")
_ADD = insert(tables.events)


def append_events(connection: Connection, events: Iterable[tuple[str, Event]]) -> None:
    """Append events to their streams, in the transaction that is open; the database refuses a number that is taken."""
    recorded_us = time.time_ns() // 1000
    rows = [
        {
            "stream": stream,
            "seq": event.seq,
            "at_us": event.at_us,
            "recorded_us": recorded_us,
            "by": event.by,
            "path": event.path,
            "kind": event.kind,
            "data": dict(event.data),
            "key": event.key,
        }
        for stream, event in events
    ]
    connection.execute(_ADD, rows)


def next_numbers(connection: Connection, stream: str) -> Iterator[int]:
    """The stream's next numbers. Take one before you read: it is refused if another writer took it meanwhile."""
    last = select(func.max(tables.events.c.seq)).where(tables.events.c.stream == stream)
    return count((connection.execute(last).scalar() or 0) + 1)


def append_in_turn(
    database: Database, stream: str, what: str, make: Callable[[Connection, Iterator[int]], Made]
) -> Made:
    """Run `make` with the stream's next numbers, again if one is taken; `make` sees every earlier event."""

    def write() -> Made:
        try:
            with writer(database) as connection, connection.begin():
                return make(connection, next_numbers(connection, stream))
        except IntegrityError as error:
            raise Conflict(f"{what}: another writer was first: {error.orig}") from error

    return repeated(what, write)

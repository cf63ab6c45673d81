"""Writing events: the one insert into the log's table."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import Connection, insert

from experiments.events import Event
from storage import tables

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

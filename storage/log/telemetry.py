"""Telemetry sent by pages: rows of the table `telemetry`, beside the log.

They are written by the log's writer thread and read by session. A batch that is sent twice is stored once: its key is
in its first row and is unique within a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from storage import tables
from storage.db.engine import Database

# The maximal number of records per session; a page that sends more is broken or not Parley's.
MOST_RECORDS = 5_000
AT_ONCE = 500
# Kinds of records that a page also sends while the participant is away.
NOBODY = ("idle", "left", "screen")
PASTED = "pasted"
_own = tables.telemetry.c


@dataclass(frozen=True, slots=True)
class TelemetryBatch:
    """A batch of records from a page: values of `path`, `at_us`, `kind` and `data`."""

    stream: str
    batch: str
    records: tuple[Mapping[str, Any], ...]


def write_telemetry(connection: Connection, batch: TelemetryBatch) -> None:
    """Number and store a batch; records beyond the limit are dropped."""
    last = connection.execute(select(func.max(_own.number)).where(_own.stream == batch.stream)).scalar() or 0
    rows = [
        {"stream": batch.stream, "number": number, "batch": None if number - last > 1 else batch.batch, **record}
        for number, record in enumerate(batch.records, last + 1)
        if number <= MOST_RECORDS
    ]
    if rows:
        connection.execute(insert(tables.telemetry), rows)
    if more := sum(row["kind"] == PASTED for row in rows):
        seat = tables.seats
        connection.execute(update(seat).where(seat.c.stream == batch.stream).values(pasted=seat.c.pasted + more))


def last_activity_us(connection: Connection, stream: str) -> int:
    """The time of the last activity that is not an event: typing, or telemetry of the page; 0 if there is none."""
    d, t = tables.drafts.c, tables.telemetry.c
    typed = connection.execute(select(func.max(d.at_us)).where(d.stream == stream)).scalar()
    there = select(func.max(t.at_us)).where(t.stream == stream, t.kind.not_in(NOBODY))
    return max(typed or 0, connection.execute(there).scalar() or 0)


def was_attended(connection: Connection, stream: str, path: str) -> bool:
    """True if a participant was at a screen: it has a draft, or telemetry of the page while it was visible."""
    d, t = tables.drafts.c, tables.telemetry.c
    if connection.execute(select(d.path).where(d.stream == stream, d.path == path)).first() is not None:
        return True
    records = connection.execute(select(t.kind, t.data).where(t.stream == stream, t.path == path))
    return any(data["visible_ms"] > 0 if kind == "screen" else kind != "idle" for kind, data in records)


def read(database: Database, study: str, stream: str | None = None) -> Iterator[dict[str, Any]]:
    """The telemetry of a study's sessions, or of one of them, in order of arrival."""
    t, session = tables.telemetry.c, tables.sessions.c
    columns = (t.stream, t.number, t.path, t.at_us, t.kind, t.data)
    wanted = select(*columns).join(tables.sessions, session.stream == t.stream).where(session.study == study)
    if stream is not None:
        wanted = wanted.where(t.stream == stream)
    wanted = wanted.order_by(session.ordinal, t.number).execution_options(yield_per=AT_ONCE)
    with database.connect() as connection:
        for row in connection.execute(wanted).mappings():
            yield dict(row)

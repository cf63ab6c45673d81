"""Erasure: deletes everything of a session except its existence and the cost of its replies.

What remains: its row in the register (study, hash, origin, ordinal), its tombstone, its seat with cell and outcome, the
single event `withdrew`, the numbers of each reply attempt that the study's budget needs, and the keyed digest of the
identity. By the digest a returning person gets the last page and no new session; the id itself is deleted.

An identity can be deleted alone. Then its digest stays too, but no longer with the session: a returning person is
recognised, and not even the deployment's secret and the id lead to the data.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import OperationalError
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from experiments.events import Event
from storage import tables
from storage.ai_alone.replies import StoredCell, save_cells
from storage.db.engine import PATIENCE, Database, writer
from storage.registers.contacts import LAST_SESSIONS, MAIL
from storage.registers.participants import UNLINKED
from storage.schemas.registry import schemas

NOT_EMPTIED = "SQLite's journal still holds what was erased, until it is next emptied"
# How long the journal waits for readers, as of who reads a screen when a session is withdrawn; writers wait as long.
READERS_MS = 1_000
AT_ONCE = 500
STREAM_CHARS = 36
# The reason of an erasure by who caused it, unless the participant withdrew.
REASONS: Mapping[str, str] = MappingProxyType({"system": "kept for its period"})
log = logging.getLogger(__name__)
# The values that replace the content of attempts after a withdrawal.
REDACTED: Mapping[str, Any] = MappingProxyType(
    {"request": {}, "text": "", "path": "", "cause": None, "sent": None, "raw": None, "reasoning": None}
)


def erase(connection: Connection, stream: str, event: Event) -> None:
    """Delete the data of a session, in the transaction that has written the event `event`, which remains."""
    if connection.dialect.name == "postgresql":
        session = tables.sessions.c.stream
        connection.execute(select(session).where(session == stream).with_for_update())
    entry = {
        "stream": stream,
        "at_us": event.at_us,
        "by": event.by,
        "reason": REASONS.get(event.by, "withdrew"),
    }
    connection.execute(insert(tables.erasures), [entry])
    before = tables.events.c
    connection.execute(delete(tables.events).where(before.stream == stream, before.seq < event.seq))
    for table in (tables.drafts, tables.telemetry, tables.session_pictures):
        connection.execute(delete(table).where(table.c.stream == stream))
    for schema in schemas().values():
        for released in schema.tables:
            own = released.table()
            connection.execute(delete(own).where(own.c["_session"] == stream))
    connection.execute(update(tables.attempts).where(tables.attempts.c.stream == stream).values(REDACTED))
    forget_annotations(connection, stream)
    seat, at_us = tables.seats, event.at_us
    nothing = {"begun_us": at_us, "until_us": at_us, "language": "", "pasted": 0}
    connection.execute(update(seat).where(seat.c.stream == stream).values(nothing))
    person = tables.identities
    connection.execute(update(person).where(person.c.stream == stream).values(sealed=b""))


def unlink_identities(database: Database, streams: Sequence[str]) -> int:
    """Delete the recruiters' ids and every person's link to these sessions; returns how many had one. The digests are
    written again in their own order and under new names, so that neither shows whose session is whose."""
    person = tables.identities
    with writer(database) as connection:
        with connection.begin():
            found: list[dict[str, Any]] = []
            for start in range(0, len(streams), AT_ONCE):
                some = person.c.stream.in_(streams[start : start + AT_ONCE])
                found += map(dict, connection.execute(select(person).where(some)).mappings())
                connection.execute(delete(person).where(some))
                last = LAST_SESSIONS.where(tables.sessions.c.stream.in_(streams[start : start + AT_ONCE]))
                addresses = last.with_only_columns(MAIL + tables.sessions.c.person)
                connection.execute(delete(person).where(person.c.stream.in_(addresses)))
            found.sort(key=lambda row: str(row["digest"]))
            if found:
                connection.execute(insert(person), [{**row, "stream": _unlinked(), "sealed": b""} for row in found])
        truncate_wal(connection)
    return len(found)


def _unlinked() -> str:
    return f"{UNLINKED}{uuid4().hex}"[:STREAM_CHARS]


def forget_annotations(connection: Connection, stream: str) -> None:
    """Forget annotations; sessions with identical messages lose them too, until they are requested again."""
    about = select(tables.cells.c.cell).where(tables.cells.c.stream == stream)
    for table in (tables.attempts, tables.answers, tables.cells):
        connection.execute(delete(table).where(table.c.cell.in_(about)))


def truncate_wal(connection: Connection) -> None:
    """After the commit: remove the erased data from SQLite's journal, unless a reader goes on using it."""
    if connection.dialect.name == "sqlite":
        journal = connection.connection.driver_connection  # bypasses SQLAlchemy, which would begin a transaction
        if journal is None:
            return
        try:
            journal.execute(f"PRAGMA busy_timeout={READERS_MS}").close()
            (busy, *_) = journal.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                log.warning("%s: another connection is reading", NOT_EMPTIED)
        except OperationalError as error:
            log.warning("%s: %s", NOT_EMPTIED, error)
        finally:
            journal.execute(f"PRAGMA {PATIENCE}").close()


def forget_erased(database: Database, study: str, cells: Sequence[StoredCell]) -> None:
    """Delete the cells and replies of a plan that are about erased sessions."""
    erased = _erased(database, {one.stream for one in cells if one.stream})
    mine = [one for one in cells if one.stream in erased]
    if not mine:
        return
    save_cells(database, study, mine)  # replies are found by their cells, which have the session
    with writer(database) as connection:
        with connection.begin():
            for stream in sorted(erased):
                forget_annotations(connection, stream)
        truncate_wal(connection)


def _erased(database: Database, streams: Iterable[str]) -> set[str]:
    own, listed = tables.erasures.c.stream, sorted(streams)
    found: set[str] = set()
    with database.connect() as connection:
        for start in range(0, len(listed), AT_ONCE):
            query = select(own).where(own.in_(listed[start : start + AT_ONCE]))
            found |= set(connection.execute(query).scalars())
    return found

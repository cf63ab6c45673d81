"""Erasure: everything of a session is deleted, but that there was one and what its replies cost.

What stays: its row in the register (study, hash, origin, ordinal), its tombstone, its seat with cell and outcome, the
one fact `withdrew`, of each attempt to get a reply the numbers that the study's budget rests on, and of the identity
the keyed digest, by which the same person is met with the last page and no new session; the id itself is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from sqlite3 import OperationalError
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from experiments.events import Event
from storage import tables
from storage.db.engine import PATIENCE
from storage.schemas.registry import schemas

_SESSION = select(tables.sessions.c.stream).where(tables.sessions.c.stream == bindparam("stream"))
_ERASED = select(tables.erasures.c.stream).where(tables.erasures.c.stream == bindparam("stream"))
NOT_EMPTIED = "SQLite's journal still holds what was erased, until it is next emptied"
log = logging.getLogger(__name__)
REDACTED: Mapping[str, Any] = MappingProxyType(
    {"request": {}, "text": "", "path": "", "cause": None, "sent": None, "raw": None}
)
"""What an attempt of somebody who withdrew has in place of content."""


def erase(connection: Connection, stream: str, withdrew: Event) -> None:
    """Delete what a session holds, in the transaction that has written the fact `withdrew`; that stays."""
    if connection.dialect.name == "postgresql":
        connection.execute(_SESSION.with_for_update(), {"stream": stream})
    entry = {"stream": stream, "at_us": withdrew.at_us, "by": withdrew.by, "reason": "withdrew"}
    connection.execute(insert(tables.erasures), [entry])
    before = tables.events.c
    connection.execute(delete(tables.events).where(before.stream == stream, before.seq < withdrew.seq))
    for table in (tables.drafts, tables.telemetry):
        connection.execute(delete(table).where(table.c.stream == stream))
    for schema in schemas().values():
        for released in schema.tables:
            own = released.table()
            connection.execute(delete(own).where(own.c["_session"] == stream))
    connection.execute(update(tables.attempts).where(tables.attempts.c.stream == stream).values(REDACTED))
    forget_annotations(connection, stream)
    seat, at_us = tables.seats, withdrew.at_us
    nothing = {"begun_us": at_us, "until_us": at_us, "language": "", "pasted": 0}
    connection.execute(update(seat).where(seat.c.stream == stream).values(nothing))
    person = tables.identities
    connection.execute(update(person).where(person.c.stream == stream).values(sealed=b""))


def forget_annotations(connection: Connection, stream: str) -> None:
    """Delete what models were asked about somebody's conversations: it holds their words. Who said the same to the
    letter loses the annotation as well, until it is asked for again."""
    about = select(tables.cells.c.cell).where(tables.cells.c.stream == stream)
    for table in (tables.attempts, tables.answers, tables.cells):
        connection.execute(delete(table).where(table.c.cell.in_(about)))


def truncate_wal(connection: Connection) -> None:
    """After the commit: let SQLite's journal forget what was erased, unless somebody is just reading it."""
    if connection.dialect.name == "sqlite":
        journal = connection.connection.driver_connection  # past SQLAlchemy, which would begin a transaction
        if journal is None:
            return
        try:
            journal.execute("PRAGMA busy_timeout=0").close()
            (busy, *_) = journal.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if busy:
                log.warning("%s: somebody is reading just now", NOT_EMPTIED)
        except OperationalError as error:
            log.warning("%s: %s", NOT_EMPTIED, error)
        finally:
            journal.execute(f"PRAGMA {PATIENCE}").close()


def is_erased(connection: Connection, stream: str) -> bool:
    """Whether a session was erased: nothing of it may be written any more.

    Where others write at the same time (PostgreSQL), nobody can erase it until this transaction is over.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_SESSION.with_for_update(read=True), {"stream": stream})
    return connection.execute(_ERASED, {"stream": stream}).first() is not None

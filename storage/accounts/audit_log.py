"""The audit log of the console: written in the transaction of the change, read a page at a time."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from storage import tables
from storage.db.engine import Database, writer
from storage.errors import StorageError

MOST_CHARS = 500
WHO, WHAT = "parley", "recorded the secret's fingerprint"
_deed = tables.deeds.c


@dataclass(frozen=True, slots=True)
class AuditEntry:
    id: int
    at_us: int
    who: str
    what: str
    about: str


class AuditLog:
    def __init__(self, database: Database, clock_us: Callable[[], int]) -> None:
        self._database = database
        self._clock_us = clock_us

    def forward(self, connection: Connection, who: str, what: str, about: str = "") -> None:
        """Record an act in the transaction that carries it out."""
        row = {"at_us": self._clock_us(), "who": who, "what": _line(what), "about": _line(about)}
        connection.execute(insert(tables.deeds), [row])

    def record(self, who: str, what: str, about: str = "") -> None:
        with writer(self._database) as connection, connection.begin():
            self.forward(connection, who, what, about)

    def read(self, who: str = "", before: int | None = None, most: int = 50) -> tuple[AuditEntry, ...]:
        """The newest deeds first, of one person or of all; `before` is the id at which the last page ended."""
        wanted = select(*_deed).order_by(_deed.id.desc()).limit(most)
        if who:
            wanted = wanted.where(_deed.who == who)
        if before is not None:
            wanted = wanted.where(_deed.id < before)
        with self._database.connect() as connection:
            return tuple(AuditEntry(*row) for row in connection.execute(wanted))


def _line(text: str) -> str:
    """A text as one line, which cannot look like two."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MOST_CHARS]


def verify_secret(database: Database, secret: str, clock_us: Callable[[], int]) -> None:
    """Take the secret that a database is used with for the first time; raises StorageError for any other than that."""
    if not refuse_other_secret(database, secret):
        adopt_secret(database, secret, clock_us)


def refuse_other_secret(database: Database, secret: str) -> bool:
    """False if the database was used with no secret yet. Raises StorageError if it is used with another."""
    wanted = select(_deed.about).where(_deed.who == WHO, _deed.what == WHAT).order_by(_deed.id.desc()).limit(1)
    with database.connect() as connection:
        known = connection.execute(wanted).scalar()
    if known is not None and known != _fingerprint(secret):
        raise StorageError(
            "the secret (PARLEY_SECRET, or the file beside an SQLite database) is not the one that this database was "
            "used with. With another secret no running session can continue and no recruiter's ID can be read. Set "
            "the earlier secret, the same for all processes. If it is lost: parley db accept-secret"
        )
    return known is not None


def adopt_secret(database: Database, secret: str, clock_us: Callable[[], int]) -> None:
    AuditLog(database, clock_us).record(WHO, WHAT, _fingerprint(secret))


def _fingerprint(secret: str) -> str:
    return hmac.digest(secret.encode(), b"which secret is this?", "sha256").hex()[:16]

"""What was done in the console and by whom: written in the transaction of the change, read a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from storage import tables
from storage.db.engine import Database, writer

MOST_CHARS = 500
_deed = tables.deeds.c


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that somebody did; `about` says with which study, session or account."""

    id: int
    at_us: int
    who: str
    what: str
    about: str


class AuditLog:
    """The table of deeds, which only grows."""

    def __init__(self, database: Database, clock_us: Callable[[], int]) -> None:
        self._database = database
        self._clock_us = clock_us

    def forward(self, connection: Connection, who: str, what: str, about: str = "") -> None:
        """Keep a deed in the transaction of what was done."""
        row = {"at_us": self._clock_us(), "who": who, "what": _line(what), "about": _line(about)}
        connection.execute(insert(tables.deeds), [row])

    def record(self, who: str, what: str, about: str = "") -> None:
        """Keep a deed that writes nothing else."""
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
    """One line that nobody can make look like two."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:MOST_CHARS]

"""Whether a database works: a write that is undone, and what the database says about itself."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.exc import DatabaseError

from storage.db.database_url import redact_password
from storage.db.engine import Database, writer
from storage.errors import StorageError, cause

_ABOUT = {
    "sqlite": "SELECT 'SQLite ' || sqlite_version(), NULL",
    "postgresql": "SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1), "
    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """A database that can be written."""

    product: str
    """Its name and version."""
    now_us: int | None
    """The time by its own clock; None for SQLite, which has none."""
    journal_mode: str | None
    """SQLite's; None for PostgreSQL."""


def probe(database: Database) -> Probe:
    """Make a table and undo that; raises StorageError if the database cannot be written."""
    sqlite = database.dialect.name == "sqlite"
    try:
        with writer(database) as connection:
            with connection.begin() as transaction:
                product, now_us = connection.exec_driver_sql(_ABOUT[database.dialect.name]).one()
                connection.exec_driver_sql("CREATE TABLE parley_probe (id INTEGER)")
                transaction.rollback()
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar() if sqlite else None
    except DatabaseError as error:
        where = redact_password(str(database.url))
        raise StorageError(f"the database {where} cannot be written: {cause(error)}") from error
    return Probe(product, now_us, mode)

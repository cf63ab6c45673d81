"""Whether a database works: a write that is undone."""

from __future__ import annotations

from sqlalchemy.exc import DatabaseError

from storage.db.database_url import redact_password
from storage.db.engine import Database, writer
from storage.errors import StorageError, cause

_ABOUT = {
    "sqlite": "SELECT 'SQLite ' || sqlite_version()",
    "postgresql": "SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)",
}


def probe(database: Database) -> str:
    """Make a table and undo that; the database's name and version. Raises StorageError if it cannot be written."""
    try:
        with writer(database) as connection, connection.begin() as transaction:
            product = connection.exec_driver_sql(_ABOUT[database.dialect.name]).scalar_one()
            connection.exec_driver_sql("CREATE TABLE parley_probe (id INTEGER)")
            transaction.rollback()
    except DatabaseError as error:
        where = redact_password(str(database.url))
        raise StorageError(f"the database {where} cannot be written: {cause(error)}") from error
    return str(product)

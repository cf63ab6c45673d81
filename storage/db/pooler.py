"""Refuses a connection pooler that hands each transaction to another session of PostgreSQL.

Parley needs sessions that last: a session's advisory lock gives a reply to one process, and psycopg prepares statements
in it. Behind such a pooler the first requests work and later ones fail, so it is found before anything is written.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from contextlib import ExitStack

from sqlalchemy import Connection, Engine, NullPool, Row, create_engine, text
from sqlalchemy.exc import DBAPIError

from storage.db.database_url import redact_password
from storage.errors import StorageError

# One more than the processes that a pooler commonly has behind one address, so that two connections share one.
CONNECTIONS = 3
# SQLSTATE of a prepared statement that another session has, or that this one has already.
LOST_STATEMENT = ("26000", "42P05")
_SESSION = text("SELECT pg_try_advisory_lock(:number) AS locked, pg_backend_pid() AS pid")


def refuse_transaction_pooler(engine: Engine) -> None:
    """Raise StorageError unless each connection to PostgreSQL keeps its session, with its locks and statements."""
    if engine.dialect.name != "postgresql":
        return
    number = secrets.randbits(62)
    at_once = {"autocommit": True, "prepare_threshold": 0}  # no transactions, and each statement is prepared
    own = create_engine(engine.url, poolclass=NullPool, connect_args=at_once, use_native_hstore=False)
    try:
        with ExitStack() as opened:
            connections = [opened.enter_context(own.connect()) for _ in range(CONNECTIONS)]
            before = _sessions(connections, number)
            after = _sessions(reversed(connections), number)[::-1]  # a pooler that takes turns is found by this order
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in LOST_STATEMENT:
            raise
        before = after = []
    alone = [row.locked for row in before] == [True, False, False]
    if before != after or not alone or len({row.pid for row in before}) < CONNECTIONS:
        raise StorageError(
            f"the database {redact_password(str(engine.url))} is behind a connection pooler that shares sessions (in "
            "transaction or statement mode). Parley needs sessions that last, with locks and prepared statements. "
            "Nothing was changed. Set PARLEY_DATABASE_URL to PostgreSQL's direct address, usually with port 5432 and "
            "without `-pooler` in the host's name; or set the pooler to session mode (PgBouncer: pool_mode = session)"
        )


def _sessions(connections: Iterable[Connection], number: int) -> list[Row[tuple[bool, int]]]:
    """For each connection, True if it has got the lock, which only one can have, and its session."""
    return [connection.execute(_SESSION, {"number": number}).one() for connection in connections]

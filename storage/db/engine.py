"""Opening the database: SQLite safe against power cuts and patient with other writers, or PostgreSQL.

WAL with synchronous=FULL costs 0.24 ms a commit and loses nothing that was acknowledged. Writers begin
IMMEDIATE, because a transaction that reads first and writes later is refused at once, whatever busy_timeout says.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import chain
from pathlib import Path
from sqlite3 import SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_READONLY
from sqlite3 import Error as SqliteError
from threading import Lock
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar

import orjson
from sqlalchemy import (
    Connection,
    Engine,
    ExceptionContext,
    Inspector,
    Table,
    create_engine,
    event,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import DatabaseError, OperationalError

from problems.errors import install_line
from storage.db.database_url import parse_database_url, redact_password, sqlite_path
from storage.db.pooler import refuse_transaction_pooler
from storage.db.private_files import create, unwritable
from storage.db.revisions import OWN, Revisions, require_current_revision
from storage.errors import Conflict, StorageError, cause
from storage.schemas.registry import schemas
from storage.tables import metadata, seats, usage

Database: TypeAlias = Engine

DAMAGED = (SQLITE_CORRUPT, SQLITE_NOTADB)
PATIENCE_S = 10.0
MOST_TRIES = 20
# How many milliseconds a connection waits for another's transaction.
PATIENCE = f"busy_timeout={PATIENCE_S * 1000:.0f}"
# Error messages of SQLite and PostgreSQL for a conflict with another process; nothing was written then.
IN_THE_WAY = ("database is locked", "deadlock detected")
PRAGMAS = (
    "synchronous=FULL",
    "foreign_keys=ON",
    "trusted_schema=OFF",
    "secure_delete=ON",  # what somebody withdrew is overwritten, not only unlinked
)
# KB of pages that a writer keeps: with millions of facts SQLite's own 2 MB were too few, as sessions' names are random
# (docs/decisions, 0007). A reader's page cache is invalidated by the next commit.
AT_HAND = "cache_size=-32000"
# SQLSTATE of a missing privilege, and of no schema that a role may use.
NO_RIGHT = ("42501", "3F000")
_joining = Lock()
WRITING = "parley_writing"
# The number of PostgreSQL's advisory lock under which tables are made.
SCHEMA_LOCK = 0x7AB1E5


def open_database(url: str, *, outdated: bool = False, revisions: Revisions = OWN) -> Database:
    """An engine on existing tables; raises StorageError, also for an older Parley's tables unless `outdated`."""
    engine = connect(url)
    _own(sqlite_path(url))
    try:
        refuse_transaction_pooler(engine)
        with writer(engine) as connection, connection.begin():
            advisory_xact_lock(connection, SCHEMA_LOCK)
            require_current_revision(connection, revisions)
            old = make_tables(connection)
    except DatabaseError as error:
        engine.dispose()
        raise explain_open_failure(engine, error) from error
    except StorageError:
        engine.dispose()
        raise
    event.listen(engine, "handle_error", _raise_own_error)
    if old and not outdated:
        engine.dispose()
        raise StorageError(
            f"{redact_password(str(engine.url))}: the table {old[0]} is of an older version. "
            "The event log is unchanged. Stop the server and rebuild the tables: parley db rebuild"
        )
    return engine


def connect(url: str) -> Engine:
    """An engine on a database with any tables; raises StorageError if the address is invalid."""
    try:
        engine = create_engine(
            parse_database_url(url),
            json_serializer=dumps,
            json_deserializer=orjson.loads,
            hide_parameters=True,  # what somebody wrote is in them, and errors are logged
        )
    except ModuleNotFoundError as error:
        raise StorageError(f"PostgreSQL needs a package that is not installed: {install_line('postgres')}") from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
    with _joining:
        schemas()  # their tables join the metadata
        if engine.dialect.name == "postgresql":
            _make_indexes_partial()
    return engine


def _make_indexes_partial() -> None:
    """Give indexes their SQLite condition; given by tables, it makes SQLAlchemy always load the dialect."""
    for index in chain.from_iterable(table.indexes for table in metadata.tables.values()):
        if (where := index.dialect_kwargs.get("sqlite_where")) is not None:
            index.dialect_kwargs["postgresql_where"] = where


def explain_open_failure(engine: Engine, error: DatabaseError) -> StorageError:
    file, code = sqlite_path(str(engine.url)), _code(error.orig)
    if file is None:
        what = f"the database {redact_password(str(engine.url))} cannot be opened: {cause(error)}"
        refused = getattr(error.orig, "sqlstate", None) in NO_RIGHT or "permission denied" in what
        return StorageError(f"{what}. {_grants(engine)}" if refused else what)
    if code in DAMAGED:
        return StorageError(
            f"{file}: this is no SQLite database, or it is damaged ({error.orig}). Nothing was changed. Put a backup "
            "in its place with: parley db restore FILE; or say where another is: PARLEY_DATABASE_URL"
        )
    if code == SQLITE_READONLY or (file.exists() and not os.access(file, os.R_OK | os.W_OK)):
        return _closed(file)
    if not file.absolute().parent.is_dir():
        return StorageError(f"{file}: there is no folder {file.parent}. Make it, or change PARLEY_DATABASE_URL")
    return StorageError(f"{file}: this database cannot be opened: {error.orig}")


def _grants(engine: Engine) -> str:
    """The grants that a role lacks to connect, make tables or use them."""
    quote = engine.dialect.identifier_preparer.quote_identifier
    role, name = quote(engine.url.username or "ROLE"), quote(engine.url.database or "DATABASE")
    return (
        f"As the owner of the database run in it: GRANT CONNECT ON DATABASE {name} TO {role}; GRANT USAGE, CREATE ON "
        f"SCHEMA public TO {role}; and for tables that another role made: REASSIGN OWNED BY that_role TO {role}"
    )


def _own(file: Path | None) -> None:
    """Make an SQLite file if there is none, readable by its owner alone; it must be writable and on a local disk."""
    if file is None:
        return
    try:
        new = not file.exists()
        if new and file.absolute().parent.is_dir():  # without a folder, opening it tells why
            with suppress(FileExistsError):  # another process begins at this moment
                create(file).close()
    except OSError as error:
        raise unwritable(file, error) from error
    if not new and not os.access(file, os.W_OK):  # SQLite opens it all the same, and refuses the first fact
        raise _closed(file)


def _closed(file: Path) -> StorageError:
    code = errno.EACCES
    if hasattr(os, "statvfs") and os.statvfs(file.absolute().parent).f_flag & os.ST_RDONLY:
        code = errno.EROFS
    return unwritable(file, OSError(code, os.strerror(code)))


def make_tables(connection: Connection) -> list[str]:
    """Make missing tables and triggers, and indexes of current ones; returns the names of outdated tables."""
    found = inspect(connection)
    there = set(found.get_table_names())
    metadata.create_all(connection)
    old = _outdated(found, there)
    for table in metadata.sorted_tables:
        if table.name in there.difference(old):
            _make_indexes(connection, table, {index["name"] for index in found.get_indexes(table.name)})
    return old


def _make_indexes(connection: Connection, table: Table, known: set[str | None]) -> None:
    for index in table.indexes:
        if index.name not in known:
            index.create(connection)


def outdated_tables(connection: Connection) -> list[str]:
    """The tables made from the log whose columns have other names or types than they should."""
    found = inspect(connection)
    return _outdated(found, set(found.get_table_names()))


def _outdated(found: Inspector, there: set[str]) -> list[str]:
    released = [table.table() for schema in schemas().values() for table in schema.tables]
    made = [table for table in (seats, usage, *released) if table.name in there]
    return [t.name for t in made if _types(found.get_columns(t.name)) != {c.name: c.type.python_type for c in t.c}]


def _types(columns: Iterable[Any]) -> dict[str, type[Any]]:
    return {column["name"]: column["type"].python_type for column in columns}


def ping(database: Database) -> None:
    """Ask the database something small; raises StorageError if it does not answer."""
    with database.connect() as connection:
        connection.execute(select(1))


def dumps(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def advisory_xact_lock(connection: Connection, number: int) -> None:
    """Block others at this number (each use has its own) on PostgreSQL; SQLite's writers are alone anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})


def writer(engine: Engine) -> Connection:
    connection = engine.connect().execution_options(**{WRITING: True})
    if engine.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA {AT_HAND}").close()
    return connection


def is_writer(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get(WRITING, False))


def _raise_own_error(context: ExceptionContext) -> None:
    """Make our own error of what ails the database, for who reads. Writers look at the driver's: they may try again."""
    writing = context.connection is not None and is_writer(context.connection)
    if (damage := _damage(context.original_exception)) is not None:
        raise damage
    if isinstance(context.sqlalchemy_exception, OperationalError) and not writing:
        raise StorageError(f"the database does not respond: {context.original_exception}")


def _damage(error: BaseException) -> StorageError | None:
    message = f"the database is damaged: {error}. Put a backup in its place"
    return StorageError(message) if _code(error) in DAMAGED else None


def _code(error: BaseException | None) -> int:
    """SQLite's code of an error; 0 of any other's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepare(connection: Any, _record: Any) -> None:
    connection.isolation_level = None
    connection.execute(f"PRAGMA {PATIENCE}").close()  # first, as what comes next may have to wait
    _enable_wal(connection)
    for pragma in PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _enable_wal(connection: Any) -> None:
    """Switch to WAL. Of processes that do so in a new file, all but one are refused despite busy_timeout."""
    until = monotonic() + PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except SqliteError as error:
            if _code(error) != SQLITE_BUSY or monotonic() > until:
                raise
        sleep(0.01)


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writer(connection) else "BEGIN")


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


Made = TypeVar("Made")


def attempts(what: str) -> Iterator[AbstractContextManager[object]]:
    """Blocks to be tried until one ends without Conflict; raises Conflict where none does. Another writer was first:
    read again, decide again, write again, as `for attempt in attempts(stream):` `with attempt:` `return ...`."""
    for _ in range(MOST_TRIES):
        yield suppress(Conflict)
    raise Conflict(f"{what}: other writers were first {MOST_TRIES} times; try again")


def repeated(what: str, make: Callable[[], Made]) -> Made:
    """Call `make` until it no longer raises Conflict, and return its result; see `attempts`."""
    for attempt in attempts(what):
        with attempt:
            return make()
    raise AssertionError  # the last attempt returns or raises

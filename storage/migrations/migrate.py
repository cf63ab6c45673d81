"""Carries a database over to the newest revision of its tables: every row is kept, or nothing is changed.

On SQLite a revision copies a table, drops it and names the copy anew. With foreign keys on and a cascade that deletes
every row that refers to it, and is reported as a success; so they are off meanwhile and looked through before the
commit. Triggers go with the table that they stand on, so they are dropped before, and made again after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import Connection, column, inspect, select, table
from sqlalchemy.event import listen
from sqlalchemy.exc import DatabaseError

from experiments.errors import StudyError
from experiments.study.resolve import restore
from storage.db.backup import OnProgress, back_up, must_be_unused, sqlite_file
from storage.db.database_url import sqlite_path
from storage.db.engine import (
    SCHEMA_LOCK,
    advisory_xact_lock,
    connect,
    explain_open_failure,
    make_tables,
    open_database,
    outdated_tables,
    writer,
)
from storage.db.pooler import refuse_transaction_pooler
from storage.db.revisions import OWN, Revisions, revision_of, stamp
from storage.errors import StorageError, cause
from storage.log.projections import rebuild
from storage.tables import events, studies

AT_ONCE = 1_000
ENVIRONMENT = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    revision: str | None
    waiting: Sequence[str]
    outdated: Sequence[str]


@dataclass(frozen=True, slots=True)
class MigrationResult:
    revisions: Sequence[str]
    backup: Path | None
    rebuilt: int | None


@dataclass(frozen=True, slots=True)
class TableContent:
    """The number of rows, and a digest of each column, in the order of the key."""

    rows: int
    columns: Mapping[str, str]
    key: Sequence[str]


def migration_status(url: str, revisions: Revisions = OWN) -> MigrationStatus:
    """Changes nothing. An empty database has no revision and waits for nothing."""
    if (file := sqlite_path(url)) is not None and not file.exists():
        return MigrationStatus(None, (), ())
    engine = connect(url)
    try:
        refuse_transaction_pooler(engine)
        with engine.connect() as connection:
            found = revision_of(connection, revisions)
            if found is None:
                return MigrationStatus(None, (), ())
            waiting = revisions.after(found)
            return MigrationStatus(found, waiting, () if waiting else outdated_tables(connection))
    except DatabaseError as error:
        raise explain_open_failure(engine, error) from error
    finally:
        engine.dispose()


def migrate(
    url: str,
    backup: Callable[[str], Path],
    on_progress: OnProgress = lambda done, total: None,
    revisions: Revisions = OWN,
    on_backup: Callable[[Path], None] = lambda file: None,
) -> MigrationResult:
    """Run the revisions that a database waits for, and rebuild what follows from the log where it needs that. An SQLite
    database is first copied to what `backup` names, and `on_backup` called. Raises StorageError before anything is
    changed where a study cannot be read or a revision fails."""
    before = migration_status(url, revisions)
    kept = None
    if before.waiting and before.revision is not None:
        _require_readable_studies(url)
        if sqlite_path(url) is not None:
            must_be_unused(url)
            kept = back_up(sqlite_file(url), backup(before.revision), on_progress).file
            on_backup(kept)
        _upgrade(url, before.revision, revisions)
    database = open_database(url, outdated=True, revisions=revisions)
    try:
        with database.connect() as connection:
            old = outdated_tables(connection)
        return MigrationResult(before.waiting, kept, rebuild(database) if old else None)
    finally:
        database.dispose()


def _require_readable_studies(url: str) -> None:
    """Raise StorageError where this Parley cannot read a study: it could not rebuild the tables of its sessions."""
    engine = connect(url)
    faults = []
    try:
        with engine.connect() as connection:
            for document in connection.execute(select(studies.c.document)).scalars():
                try:
                    restore(document)
                except StudyError as error:
                    faults.append(str(error))
    finally:
        engine.dispose()
    if faults:
        raise StorageError(
            "Nothing was migrated, as this Parley cannot read studies of this database. Install the packages that they "
            "need, or export their data with the Parley that served them and begin with a new database.\n"
            + "\n".join(faults)
        )


def _upgrade(url: str, found: str, revisions: Revisions) -> None:
    engine = connect(url)
    if engine.dialect.name == "sqlite":  # it is not heeded within a transaction
        listen(engine, "connect", lambda raw, _: raw.execute("PRAGMA foreign_keys=OFF").close())
    try:
        with writer(engine) as connection, connection.begin():
            advisory_xact_lock(connection, SCHEMA_LOCK)
            stamp(connection, found)
            before = {name: content(connection, name, rows=name == events.name) for name in _tables(connection)}
            _drop_triggers(connection)
            _run(connection, revisions)
            make_tables(connection)
            _compare(connection, before)
    except DatabaseError as error:
        raise StorageError(f"nothing was migrated: {cause(error)}") from error
    finally:
        engine.dispose()


def _run(connection: Connection, revisions: Revisions) -> None:
    """Let alembic run the revisions in the transaction that is open. It is imported here, as few commands migrate."""
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    folders = "\n".join(str(folder) for folder in revisions.folders)
    options = {"script_location": str(ENVIRONMENT), "version_locations": folders, "path_separator": "newline"}
    for name, value in options.items():
        config.set_main_option(name, value.replace("%", "%%"))
    command.upgrade(config, "head")


def content(connection: Connection, name: str, key: Sequence[str] = (), *, rows: bool = True) -> TableContent:
    """The content of a table of a database; without `rows` only the number of rows."""
    found = inspect(connection)
    names = [str(each["name"]) for each in found.get_columns(name)]
    key = key or found.get_pk_constraint(name)["constrained_columns"] or names
    its = table(name, *map(column, names))
    digests = {each: sha256() for each in names} if rows else {}
    count = 0
    wanted = select(*(its.c[each] for each in digests or key)).order_by(*(its.c[each] for each in key))
    for row in connection.execute(wanted.execution_options(yield_per=AT_ONCE)):
        count += 1
        for digest, value in zip(digests.values(), row, strict=False):
            digest.update(repr(value).encode() + b"\n")
    return TableContent(count, {each: digest.hexdigest() for each, digest in digests.items()}, key)


def _compare(connection: Connection, old_tables: Mapping[str, TableContent]) -> None:
    """Raise StorageError if a row is missing, a fact has changed, or a reference leads nowhere."""
    there = _tables(connection)
    for name, was in old_tables.items():
        now = content(connection, name, was.key, rows=bool(was.columns)) if name in there else None
        if now is None or now.rows != was.rows:
            raise StorageError(f"nothing was migrated: {name} has {was.rows:,} rows, and would have {now and now.rows}")
        changed = [each for each, digest in was.columns.items() if now.columns.get(each) != digest]
        if changed:
            raise StorageError(f"nothing was migrated: the column {changed[0]} of {name} would change")
    if connection.dialect.name == "sqlite":
        astray = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if astray is not None:
            raise StorageError(f"nothing was migrated: a row of {astray[0]} would refer to a missing row")


def _tables(connection: Connection) -> list[str]:
    return [name for name in inspect(connection).get_table_names() if name != "alembic_version"]


def _drop_triggers(connection: Connection) -> None:
    if connection.dialect.name == "sqlite":
        names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars().all()
        for name in names:
            connection.exec_driver_sql(f'DROP TRIGGER "{name}"')

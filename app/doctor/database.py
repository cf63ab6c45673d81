"""The database: reachable, of this version, writable, safe against power cuts, and used with the right secret."""

from __future__ import annotations

from collections.abc import Iterator

from app.config.secret import secret_in_use
from app.config.settings import Settings, env_name
from app.doctor.finding import Deployment, Diagnosis, error, ok
from storage.accounts.secret_fingerprint import refuse_other_secret
from storage.db.database_url import redact_password, sqlite_path
from storage.db.engine import open_database
from storage.db.network_file import refuse_network_share
from storage.db.probe import probe
from storage.errors import StorageError
from storage.log.seats import last_us
from storage.migrations.migrate import migration_status

URL = env_name("database_url")


def check_database(deployment: Deployment) -> Iterator[Diagnosis]:
    """Raises StorageError for a database that cannot be opened or written."""
    settings = deployment.settings
    file = sqlite_path(settings.database_url)
    if file is None and settings.secret is None:
        yield error(f"{env_name('secret')} is not set, and PostgreSQL needs it.", "Set it, the same for every process.")
    if file is not None and not file.absolute().parent.is_dir():
        yield error(f"There is no folder {file.absolute().parent} for the database.", f"Make it, or change {URL}.")
        return
    if file is not None:
        refuse_network_share(file)
    if file is not None and not file.exists():
        yield ok(f"There is no database {file.resolve()} yet; `parley serve` or `parley up` makes it there.")
        return
    status = migration_status(settings.database_url)
    if status.waiting:
        yield error(
            f"The database has the tables of an older Parley (revision {status.revision}).",
            "Stop every process that uses it, and run `parley db migrate`.",
        )
        return
    for name in status.outdated:
        yield error(f"The table {name} is of an older version.", "Stop the server, and run `parley db rebuild`.")
    if not status.outdated:
        yield from _use(settings)


def database_times(settings: Settings) -> tuple[dict[str, int], int]:
    """The time by the clock of a PostgreSQL server, by its name, and that of the newest activity in a session; in
    microseconds, 0 if there is none. Nothing is known of a database that cannot be used."""
    file = sqlite_path(settings.database_url)
    if file is not None and not file.exists():
        return {}, 0
    try:
        database = open_database(settings.database_url)
        try:
            now_us = probe(database).now_us
            return ({} if now_us is None else {"the database's server": now_us}), last_us(database)
        finally:
            database.dispose()
    except StorageError:  # `check_database` says why
        return {}, 0


def _use(settings: Settings) -> Iterator[Diagnosis]:
    """Open it as a server does, and write to it."""
    database = open_database(settings.database_url)
    try:
        found = probe(database)
        where = redact_password(settings.database_url)
        yield ok(f"The database {where} ({found.product}) can be read and written.")
        if found.journal_mode not in (None, "wal"):
            yield error(
                f"The database has the journal mode {found.journal_mode}; Parley needs WAL, which this file system "
                "does not offer.",
                "Move the database to a disk of this machine.",
            )
        secret = secret_in_use(settings)
        known = refuse_other_secret(database, secret or "")
        if secret is None:
            yield ok("There is no secret yet; the first start creates one.")
        elif known:
            yield ok("The secret is the one that this database is used with.")
    finally:
        database.dispose()

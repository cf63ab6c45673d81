"""The revision of a database's tables, and the check that this Parley can work with it.

The stamp is alembic's own table. It is read here without alembic, because every command opens a database and few
migrate one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, insert, inspect, select

from storage.db.database_url import redact_password
from storage.errors import StorageError
from storage.tables import events

_FILE = re.compile(r"r(\d{4})_\w+\.py")
# How the tables of who copies SQLite's files begin; they may be there before Parley's.
_REPLICATING = "_litestream_"
_stamps = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


@dataclass(frozen=True, slots=True)
class Revisions:
    """Revisions in their order, each in a file `rNNNN_name.py` of one of the folders."""

    folders: tuple[Path, ...]

    @property
    def names(self) -> Sequence[str]:
        return sorted(found[1] for folder in self.folders for path in folder.iterdir() if (found := _named(path)))

    def after(self, name: str) -> Sequence[str]:
        """The revisions that a database with this stamp still lacks; raises StorageError for an unknown stamp."""
        if name not in self.names:
            raise StorageError(
                f"the database has revision {name} of the tables, and this Parley knows none after {self.names[-1]}: a "
                "newer Parley has migrated it. Use that one, or put the backup from before in its place"
            )
        return self.names[self.names.index(name) + 1 :]


OWN = Revisions((Path(__file__).parents[1] / "migrations" / "versions",))


def _named(path: Path) -> re.Match[str] | None:
    return _FILE.fullmatch(path.name)


def stamped(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_stamps.name):
        return None
    return connection.execute(select(_stamps.c.version_num)).scalar()


def revision_of(connection: Connection, revisions: Revisions) -> str | None:
    """The revision; None without tables, the first without a stamp. Raises StorageError for another program's."""
    found = inspect(connection)
    there = {name for name in found.get_table_names() if not name.startswith(_REPLICATING)}
    is_parley = events.name in there
    if is_parley and {"stream", "seq"} <= {column["name"] for column in found.get_columns(events.name)}:
        return stamped(connection) or revisions.names[0]
    if is_parley or (there and connection.dialect.name == "sqlite"):
        raise StorageError(
            f"{connection.engine.url.database}: this database belongs to another program (it has a table "
            f"{min(there)!r}). Nothing was changed. Set PARLEY_DATABASE_URL to Parley's database, or to a new one"
        )
    return None


def stamp(connection: Connection, name: str) -> None:
    if stamped(connection) is None:
        _stamps.create(connection, checkfirst=True)
        connection.execute(insert(_stamps), [{"version_num": name}])


def require_current_revision(connection: Connection, revisions: Revisions) -> None:
    """Let only a database pass that has the newest revision, or nothing; raises StorageError with what to run."""
    found = revision_of(connection, revisions) or revisions.names[-1]
    if waiting := revisions.after(found):
        raise StorageError(
            f"{redact_password(str(connection.engine.url))}: the tables are of an older version (revision {found}; "
            f"needed: {waiting[-1]}). Nothing is lost. Stop every process that uses it, then: parley db migrate"
        )
    stamp(connection, found)

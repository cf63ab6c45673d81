"""Backups of an SQLite database while people take part, and putting one back.

A backup is what the database was at one moment: a transaction that reads is held open while pages are copied, or every
commit of the server's would begin the copy anew. It has its name only once it is whole, checked and on the disk, and
its checksum lies beside it: SQLite notices damage to its own pages, but not to a text within one.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from storage.db.checksums import sha256_of, sums
from storage.db.database_url import sqlite_path
from storage.db.private_files import create, write_private, writing
from storage.errors import StorageError

# Pages that are copied at once, mostly of 4 KiB.
STEP = 1_000
PART = ".part"
STALE_S = 24 * 3600
# What the file with a backup's checksum ends in; `sha256sum -c` reads it.
SUM = ".sha256"
# Hears how many pages of how many are copied.
OnProgress = Callable[[int, int], None]

_GAPS = (
    "SELECT stream FROM event WHERE stream NOT IN (SELECT stream FROM erasure) "
    "GROUP BY stream HAVING count(*) <> max(seq) OR min(seq) <> 1 LIMIT 1"
)
_UNREADABLE = "SELECT stream FROM event WHERE NOT json_valid(data) LIMIT 1"


@dataclass(frozen=True, slots=True)
class BackupCheck:
    """A database's file that was looked at: SQLite finds no damage, and every stream's facts are numbered from 1."""

    file: Path
    bytes: int
    sessions: int
    facts: int
    studies: tuple[str, ...]
    last_us: int | None
    """The time of the newest event."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The restored file, where the replaced one is, and withdrawals since the backup (None: too damaged to tell)."""

    checked: BackupCheck
    aside: Path | None
    withdrawn: tuple[str, ...] | None


def sqlite_file(url: str) -> Path:
    """The file of an SQLite database; raises StorageError that says what to use for another."""
    file = sqlite_path(url)
    if file is None:
        raise StorageError(
            "Parley backs up SQLite only. For PostgreSQL use its own tools: pg_dump --format=custom --file=parley.dump "
            "NAME, and pg_restore --clean --if-exists --dbname=NAME parley.dump (docs/operator.md, Backups)"
        )
    return file


def back_up(file: Path, to: Path, on_progress: OnProgress = lambda done, total: None) -> BackupCheck:
    """Copy a database into a new file, and check the copy; others may write meanwhile."""
    if not file.is_file():
        raise StorageError(f"{file}: there is no database to back up. PARLEY_DATABASE_URL says where it is")
    if to.exists():
        raise StorageError(f"{to}: the file exists already. Choose another name, or move it away")
    if not to.absolute().parent.is_dir():
        raise StorageError(f"{to}: the folder {to.parent} does not exist. Create it, or choose another one")
    _sweep(to.absolute().parent, file.stem)
    part = _copy(file, to, on_progress)
    try:
        checked = check_backup(part)
        _sum_up(part, to)
        write_private(part, to)
    finally:
        part.unlink(missing_ok=True)
    return replace(checked, file=to)


def restore(backup: Path, file: Path, aside: Path, on_progress: OnProgress = lambda done, total: None) -> RestoreResult:
    """Put a backup in a database's place; the old file is kept `aside`. Raises StorageError while it is in use."""
    if not backup.is_file():
        what = "this is a folder; name the file in it" if backup.is_dir() else "there is no such file"
        raise StorageError(f"{backup}: {what}")
    if file.exists() and file.samefile(backup):
        raise StorageError(f"{backup}: this is the database itself")
    _compare_sum(backup)
    checked = check_backup(backup)
    if not file.exists():
        _no_journal(file)
        write_private(_copy(backup, file, on_progress), file)
        return RestoreResult(checked, None, ())
    with exclusive_lock(file) as held:
        known = _withdrawn(held)
        part = _copy(backup, file, on_progress)
        _owned_as(part, file)
        aside.hardlink_to(file)  # so that there is a database under its name at every moment
        if _journal(file).exists():  # only a damaged one leaves it
            _journal(file).replace(_journal(aside))
        write_private(part, file)
    with suppress(OSError):  # a disk that cannot read it is why it was replaced
        _sum_up(aside, aside)
    with closing(sqlite3.connect(file)) as restored:
        missing = None if known is None else tuple(sorted(known - (_withdrawn(restored) or set())))
    return RestoreResult(checked, aside, missing)


def check_backup(file: Path) -> BackupCheck:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA integrity_check").fetchone()
            if found != "ok":
                raise StorageError(f"{file}: SQLite reports damage: {found}")
            if (gap := connection.execute(_GAPS).fetchone()) is not None:
                raise StorageError(f"{file}: events of {gap[0]} are missing")
            if (broken := connection.execute(_UNREADABLE).fetchone()) is not None:
                raise StorageError(f"{file}: it is damaged: an event of {broken[0]} cannot be read")
            facts, last_us = connection.execute("SELECT count(*), max(recorded_us) FROM event").fetchone()
            (sessions,) = connection.execute("SELECT count(*) FROM session").fetchone()
            studies = connection.execute("SELECT DISTINCT name FROM study ORDER BY name").fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StorageError(f"{file}: is not a Parley database, or is damaged: {error}") from error
    return BackupCheck(file, file.stat().st_size, sessions, facts, tuple(name for (name,) in studies), last_us)


@contextmanager
def exclusive_lock(file: Path) -> Iterator[sqlite3.Connection]:
    """Hold a database's file alone, all of it in that one file; raises StorageError while anybody has it open."""
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"{file} is in use ({error}). Stop every process that has it open first: parley serve, parley console"
            ) from error
        except sqlite3.DatabaseError:
            pass  # it is too damaged for anybody to use
        yield connection


def must_be_unused(url: str) -> None:
    """Raise StorageError while another process has an SQLite database open; for PostgreSQL this cannot be known."""
    file = sqlite_path(url)
    if file is not None and file.is_file():
        with exclusive_lock(file):
            pass


def _copy(file: Path, to: Path, on_progress: OnProgress) -> Path:
    """A copy beside where it shall be, as a single file that its owner alone may read."""
    part = to.with_name(to.name + PART)
    try:
        part.unlink(missing_ok=True)
        create(part).close()
    except OSError as error:
        raise StorageError(f"{to}: cannot be written: {error.strerror}") from error
    try:
        source = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
        with closing(source), closing(sqlite3.connect(part)) as copy:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # from now on it sees this moment
            source.backup(copy, pages=STEP, progress=lambda _, left, total: on_progress(total - left, total))
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        part.unlink(missing_ok=True)
        raise StorageError(f"{file} could not be copied to {to}: {error}") from error
    return part


def _sum_up(written: Path, to: Path) -> None:
    """Write the checksum beside a file's later place, before the file gets its name: so no file is there without it."""
    beside = to.with_name(to.name + SUM)
    with writing(beside) as file:
        file.write(sums({to.name: sha256_of(written)}).encode())


def _compare_sum(backup: Path) -> None:
    """Raise StorageError if a backup differs from the written file by any byte."""
    beside = backup.with_name(backup.name + SUM)
    if not beside.is_file():
        raise StorageError(
            f"{backup}: its checksum ({beside.name}) is missing, so it is not known whether it was changed. "
            "Nothing was replaced. If the backup was moved, move that file too. For a copy by another tool write it: "
            f"sha256sum {backup.name} > {beside.name}"
        )
    was, now = beside.read_text(encoding="utf-8", errors="replace").split(maxsplit=1)[:1], sha256_of(backup)
    if was != [now]:
        raise StorageError(
            f"{backup}: it was changed since it was written: its SHA-256 is {now}, but {beside.name} has "
            f"{was[0][:64] if was else 'nothing'}. Nothing was replaced. Use another backup. If you opened or "
            f"changed this one yourself and want to use it: sha256sum {backup.name} > {beside.name}"
        )


def _sweep(folder: Path, stem: str) -> None:
    """Delete what backups that were killed left half written: no backup takes a day."""
    for part in folder.glob(f"{stem}-*{PART}"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > STALE_S:
                part.unlink()


def _owned_as(part: Path, file: Path) -> None:
    """Give a copy the owner and permissions of the file that it replaces."""
    its = file.stat()
    part.chmod(stat.S_IMODE(its.st_mode))
    if os.name == "posix" and (its.st_uid, its.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(part, its.st_uid, its.st_gid)


def _journal(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


def _no_journal(file: Path) -> None:
    if _journal(file).exists():
        raise StorageError(f"{_journal(file)} belongs to another database than the backup. Move it away first")


def _withdrawn(connection: sqlite3.Connection) -> set[str] | None:
    """The withdrawn sessions of a database; None if it is too damaged to read them."""
    try:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'erasure'").fetchone() is None:
            return set()
        return {stream for (stream,) in connection.execute("SELECT stream FROM erasure")}
    except sqlite3.DatabaseError:
        return None

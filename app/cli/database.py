"""The commands that maintain the database: backup, restore, migrate, rebuild, verify."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from app.cli.commands import command, group
from app.cli.common import err, existing_database, out, settings_in_use
from app.clock import SystemClock
from app.config.secret import load_secret
from storage.accounts.secret_fingerprint import adopt_secret
from storage.datasets.describe.markdown import count as how_many
from storage.db.backup import BackupCheck, OnProgress, back_up, must_be_unused, sqlite_file
from storage.db.backup import restore as put_back
from storage.db.engine import open_database
from storage.log.projections import differences, rebuild
from storage.migrations.migrate import migrate, migration_status

db = group("db")


def _now() -> str:
    """The time for a file's name."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


def _beside(file: Path, why: str) -> Path:
    return file.with_name(f"{file.stem}-{why}-{_now()}{file.suffix}")


@contextmanager
def _copying(what: str) -> Iterator[OnProgress]:
    """Show a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _backup_summary(checked: BackupCheck) -> str:
    """What a database has: sessions, events, studies, and the newest event."""
    held = f"{how_many(checked.sessions, 'session')} and {how_many(checked.facts, 'event')}"
    if checked.last_us is None:
        return held
    newest = datetime.fromtimestamp(checked.last_us / 1e6, UTC)
    return f"{held} of {', '.join(checked.studies)}, the newest of {newest:%Y-%m-%d %H:%M} UTC"


@command("backup")
def backup(
    to: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="The file to write. Default: beside the database, with the time in its name."
        ),
    ] = None,
) -> None:
    """The backup is checked for damage. For PostgreSQL use pg_dump."""
    file = sqlite_file(settings_in_use().database_url)
    with _copying("copying") as on_progress:
        made = back_up(file, to or _beside(file, "backup"), on_progress)
    out.print(f"{made.file}: {made.bytes:,} bytes, {_backup_summary(made)}, no damage")
    out.print(
        "[dim]Keep the secret too, in another place: without it no session can continue and no ID can be read.[/dim]"
    )


@command("restore")
def restore(
    backup: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A backup of `parley backup`, with its checksum FILE.sha256 beside it."),
    ],
    unsummed: Annotated[
        bool,
        typer.Option(
            "--without-checksum", help="Accept a backup without a checksum, made by an older version or another tool."
        ),
    ] = False,
) -> None:
    """Stop Parley first. The present database is kept beside the restored one."""
    file = sqlite_file(settings_in_use().database_url)
    with _copying("restoring") as on_progress:
        done = put_back(backup, file, _beside(file, "before-restore"), on_progress, unsummed=unsummed)
    out.print(f"{file}: restored, with {_backup_summary(done.checked)}")
    if done.aside:
        out.print(f"The database from before is now {done.aside}", highlight=False)
    if not done.summed:
        out.print(
            "[yellow]The backup had no checksum. SQLite finds no damage, but it would not notice a changed "
            "text.[/yellow] `parley db verify` and `parley verify STUDY` compare the tables with the event log."
        )
    if done.withdrawn is None:
        out.print(
            "[yellow]The database from before is too damaged to list withdrawals since then: repeat them.[/yellow]"
        )
    elif done.withdrawn:
        out.print(
            "[yellow]These sessions were withdrawn after the backup and are restored: withdraw them again.[/yellow]"
        )
    for stream in done.withdrawn or ():
        out.print(f"  {stream}", highlight=False)


@db.command(name="migrate")
def db_migrate() -> None:
    """Migrate the database to the tables of this version. Stop every process that uses it first."""
    url = settings_in_use().database_url
    with _copying("backing up") as on_progress:
        done = migrate(url, _before(url), on_progress, on_backup=_print_backup)
    for revision in done.revisions:
        out.print(f"Migrated to revision {revision}.", highlight=False)
    if done.rebuilt is not None:
        out.print(f"The tables derived from the event log were rebuilt from {how_many(done.rebuilt, 'session')}.")
    if not done.revisions and done.rebuilt is None:
        out.print("There is nothing to migrate.")


def _print_backup(file: Path) -> None:
    """Name the backup before anything is changed, so that it is known whatever fails later."""
    out.print(f"Backup of the database from before, for `parley restore`: {file}", highlight=False)


def _before(url: str) -> Callable[[str], Path]:
    return lambda revision: _beside(sqlite_file(url), f"revision-{revision}")


@db.command(name="accept-secret")
def db_new_secret() -> None:
    """Accept the present secret in place of the earlier one, if that one is lost.

    Running sessions cannot continue afterwards, and the recruiters' IDs stored so far can never be read.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    adopt_secret(database, load_secret(settings), SystemClock().now_us)
    out.print("This database now accepts the present secret. Keep it.")


@db.command(name="status")
def db_status() -> None:
    """Show the revision of the tables; exits with 1 if they need to be migrated or rebuilt."""
    found = migration_status(settings_in_use().database_url)
    if found.revision is None:
        out.print("The database is empty. The first start creates its tables.")
        return
    out.print(f"Revision {found.revision}.", highlight=False)
    if found.waiting:
        out.print(f"[yellow]Needs migration to {', '.join(found.waiting)}[/yellow]: parley db migrate", highlight=False)
    for name in found.outdated:
        out.print(f"[yellow]The table {name} is of an older version[/yellow]: parley db rebuild", highlight=False)
    if found.waiting or found.outdated:
        raise typer.Exit(1)


@db.command(name="rebuild")
def db_rebuild() -> None:
    """Rebuild the released tables from the event log. Stop every process that uses the database first."""
    url = settings_in_use().database_url
    must_be_unused(url)
    count = rebuild(open_database(url, outdated=True))
    out.print(f"The released tables were rebuilt from {how_many(count, 'session')}.")


@db.command(name="verify")
def db_verify() -> None:
    """Compare the released tables with the event log; prints the differences, and exits with 1 if there are any."""
    count = 0
    for sentence in differences(existing_database(settings_in_use())):
        out.print(sentence, markup=False, highlight=False)
        count += 1
    if count:
        out.print(f"[red]{how_many(count, 'difference')}.[/red] `parley db rebuild` rebuilds the tables.")
        raise typer.Exit(1)
    out.print("The released tables match the event log.")

"""`parley db`: backup, restore, migrate, rebuild, verify."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskProgressColumn

from app.cli.commands import group
from app.cli.common import argument, existing_database, settings_in_use
from app.cli.printing import echo, followed, warn
from app.clock import SystemClock
from app.config.secret import load_secret
from experiments.plural import count as how_many
from storage.accounts.audit_log import adopt_secret
from storage.db.backup import BackupCheck, back_up, must_be_unused, sqlite_file
from storage.db.backup import restore as put_back
from storage.db.engine import open_database
from storage.log.projections import differences, rebuild
from storage.migrations.migrate import migrate

commands = group("db")


def _beside(file: Path, why: str) -> Path:
    return file.with_name(f"{file.stem}-{why}-{datetime.now(UTC):%Y%m%d-%H%M%S}{file.suffix}")


def _summary(check: BackupCheck) -> str:
    held = f"{how_many(check.sessions, 'session')} and {how_many(check.facts, 'event')}"
    if check.last_us is None:
        return held
    newest = datetime.fromtimestamp(check.last_us / 1e6, UTC)
    return f"{held} of {', '.join(check.studies)}, the newest of {newest:%Y-%m-%d %H:%M} UTC"


@commands.command("backup")
def backup(
    to: Annotated[
        Path | None,
        argument("FILE", "The file to write. Default: beside the database, with the time in its name."),
    ] = None,
) -> None:
    """Back up an SQLite database while Parley runs. The backup is checked for damage. For PostgreSQL use pg_dump.

    Keep the secret too, in another place: without it no session can continue and no ID can be read.
    """
    file = sqlite_file(settings_in_use().database_url)
    with followed("copying", TaskProgressColumn()) as on_progress:
        made = back_up(file, to or _beside(file, "backup"), on_progress)
    echo(f"{made.file}: {made.bytes:,} bytes, {_summary(made)}, no damage")


@commands.command("restore")
def restore(
    backup: Annotated[
        Path, argument("FILE", "A backup of `parley db backup`, with its checksum FILE.sha256 beside it.")
    ],
) -> None:
    """Restore a backup of an SQLite database. Stop Parley first. The present database is kept beside it."""
    file = sqlite_file(settings_in_use().database_url)
    with followed("restoring", TaskProgressColumn()) as on_progress:
        done = put_back(backup, file, _beside(file, "before-restore"), on_progress)
    echo(f"{file}: restored, with {_summary(done.checked)}")
    if done.aside:
        echo(f"The database from before is now {done.aside}")
    if done.withdrawn is None:
        warn("The database from before is too damaged to list withdrawals since then: repeat them.")
    elif done.withdrawn:
        warn(
            "These sessions were withdrawn after the backup and are restored: withdraw them again: "
            + ", ".join(done.withdrawn)
        )


@commands.command("migrate")
def migrate_() -> None:
    """Migrate the database to the tables of this version. Stop every process that uses it first."""
    url = settings_in_use().database_url
    with followed("backing up", TaskProgressColumn()) as on_progress:
        done = migrate(url, _before(url), on_progress, on_backup=_say_backup)
    for revision in done.revisions:
        echo(f"Migrated to revision {revision}.")
    if done.rebuilt is not None:
        echo(f"The tables derived from the event log were rebuilt from {how_many(done.rebuilt, 'session')}.")
    if not done.revisions and done.rebuilt is None:
        echo("There is nothing to migrate.")


def _say_backup(file: Path) -> None:
    """Print the backup's name before any change, so that it is known if a later step fails."""
    echo(f"Backup of the database from before, for `parley db restore`: {file}")


def _before(url: str) -> Callable[[str], Path]:
    return lambda revision: _beside(sqlite_file(url), f"revision-{revision}")


@commands.command("accept-secret")
def accept_secret() -> None:
    """Accept the present secret in place of the earlier one, if that one is lost.

    Running sessions cannot continue afterwards, and the recruiters' IDs stored so far can never be read.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    adopt_secret(database, load_secret(settings), SystemClock().now_us)
    echo("This database now accepts the present secret. Keep it.")


@commands.command("rebuild")
def rebuild_() -> None:
    """Rebuild the released tables from the event log. Stop every process that uses the database first."""
    url = settings_in_use().database_url
    must_be_unused(url)
    count = rebuild(open_database(url, outdated=True))
    echo(f"The released tables were rebuilt from {how_many(count, 'session')}.")


@commands.command("verify")
def verify() -> None:
    """Compare the released tables with the event log; prints the differences, and exits with 1 if there are any."""
    count = 0
    for sentence in differences(existing_database()):
        echo(sentence)
        count += 1
    if count:
        warn(f"{how_many(count, 'difference')}. `parley db rebuild` rebuilds the tables.")
        raise typer.Exit(1)
    echo("The released tables match the event log.")

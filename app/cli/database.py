"""The commands that keep a database safe: backups, putting one back, and migrations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from app.cli.common import app, err, out, settings_in_use
from app.cli.datasets import db
from app.clock import WorldClock
from app.config.secret import secret_of
from storage.accounts.secret_fingerprint import take
from storage.datasets.describe.markdown import count as how_many
from storage.db.backup import Checked, Told, back_up, sqlite_file
from storage.db.backup import restore as put_back
from storage.db.engine import open_database
from storage.migrations.migrate import migrate, standing


def _now() -> str:
    """The time as it stands in a file's name."""
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


def _beside(file: Path, why: str) -> Path:
    return file.with_name(f"{file.stem}-{why}-{_now()}{file.suffix}")


@contextmanager
def _copying(what: str) -> Iterator[Told]:
    """A bar that moves with the pages that are copied."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _held(checked: Checked) -> str:
    """What is in a database: how much, of which studies, and how new."""
    held = f"{how_many(checked.sessions, 'session')} and {how_many(checked.facts, 'fact')}"
    if checked.last_us is None:
        return held
    newest = datetime.fromtimestamp(checked.last_us / 1e6, UTC)
    return f"{held} of {', '.join(checked.studies)}, the newest of {newest:%Y-%m-%d %H:%M} UTC"


@app.command()
def backup(
    to: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The file to write; beside the database, with the time, unless given."),
    ] = None,
) -> None:
    """Back up the database while Parley runs, and check the backup; SQLite only, PostgreSQL has pg_dump."""
    file = sqlite_file(settings_in_use().database_url)
    with _copying("copying") as told:
        made = back_up(file, to or _beside(file, "backup"), told)
    out.print(f"{made.file}: {made.bytes:,} bytes, {_held(made)}, no damage")
    out.print("[dim]Without the secret nobody can go on, and no id can be read: keep it too, elsewhere.[/dim]")


@app.command()
def restore(
    backup: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="What `parley backup` wrote; its checksum, FILE.sha256, has to be beside it."
        ),
    ],
    unsummed: Annotated[
        bool,
        typer.Option("--without-checksum", help="Also a file without one, as older versions and other tools make it."),
    ] = False,
) -> None:
    """Put a backup in the database's place, which is kept beside it; stop Parley first."""
    file = sqlite_file(settings_in_use().database_url)
    with _copying("restoring") as told:
        done = put_back(backup, file, _beside(file, "before-restore"), told, unsummed=unsummed)
    out.print(f"{file}: as it was, with {_held(done.checked)}")
    if done.aside:
        out.print(f"What was there is now {done.aside}", highlight=False)
    if not done.summed:
        out.print(
            "[yellow]There was no checksum to compare it with. SQLite finds no damage, but a text that was changed is "
            "not noticed so;[/yellow] `parley db verify` and `parley verify STUDY` compare what follows from the log."
        )
    if done.withdrawn is None:
        out.print("[yellow]It is too damaged to tell who withdrew since the backup: withdraw them again.[/yellow]")
    elif done.withdrawn:
        out.print("[yellow]These sessions were withdrawn since, and are back: withdraw them again.[/yellow]")
    for stream in done.withdrawn or ():
        out.print(f"  {stream}", highlight=False)


@db.command(name="migrate")
def db_migrate() -> None:
    """Carry the database over to the tables of this Parley; stop every process that uses it first."""
    url = settings_in_use().database_url
    with _copying("backing up") as told:
        done = migrate(url, _before(url), told)
    if done.backup:
        out.print(f"The database as it was: {done.backup}", highlight=False)
    for revision in done.revisions:
        out.print(f"Revision {revision} is in force.", highlight=False)
    if done.rebuilt is not None:
        out.print(f"The tables that follow from the log are rebuilt from {how_many(done.rebuilt, 'session')}.")
    if not done.revisions and done.rebuilt is None:
        out.print("There is nothing to migrate.")


def _before(url: str) -> Callable[[str], Path]:
    return lambda revision: _beside(sqlite_file(url), f"revision-{revision}")


@db.command(name="accept-secret")
def db_new_secret() -> None:
    """Take the present secret for the one before, which is lost: who has begun cannot go on, and recruiters' ids stay
    sealed; it is never needed otherwise.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    take(database, secret_of(settings), WorldClock().now_us)
    out.print("From now on this database is used with the present secret. Keep it.")


@db.command(name="status")
def db_status() -> None:
    """Tell which revision the database's tables have, and exit with 1 if Parley cannot start on them."""
    found = standing(settings_in_use().database_url)
    if found.revision is None:
        out.print("The database is empty: the first start makes its tables.")
        return
    out.print(f"Revision {found.revision}.", highlight=False)
    if found.waiting:
        out.print(f"[yellow]Waits for {', '.join(found.waiting)}[/yellow]: parley db migrate", highlight=False)
    for name in found.outdated:
        out.print(f"[yellow]An older Parley made the table {name}[/yellow]: parley db rebuild", highlight=False)
    if found.waiting or found.outdated:
        raise typer.Exit(1)

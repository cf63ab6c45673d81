"""Shared by the commands: arguments and options that several of them have, the settings in use, and the database."""

from __future__ import annotations

import asyncio
import csv
import sys
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from app.cli.logging_setup import set_up
from app.cli.printing import echo, err
from app.config import settings as configuration
from app.config.saved_servers import with_saved_servers
from app.config.secret import secret_for
from app.config.settings import Settings
from app.errors import ArgumentInvalid
from app.studies.loader import find, load_study, read_yaml
from experiments.errors import StudyError
from experiments.study.cells import parse_cell
from experiments.study.study import Study
from storage.db.database_url import sqlite_path
from storage.db.engine import Database, open_database
from storage.db.private_files import unwritable, writing
from storage.errors import StorageError
from storage.registers.origins import Origin
from storage.registers.participants import Participants
from storage.registers.studies import Studies

Result = TypeVar("Result")
STDOUT = Path("-")
INTERRUPTED = 130


def option(names: str, about: str, **more: Any) -> Any:
    """An option by its names and the word for its value, as in `-n --count N`; a flag has no such word."""
    words = names.split()
    metavar = next((word for word in words if not word.startswith("-")), None)
    return typer.Option(*(word for word in words if word.startswith("-")), metavar=metavar, help=about, **more)


def argument(metavar: str, about: str, **more: Any) -> Any:
    return typer.Argument(metavar=metavar, help=about, **more)


StudyName = Annotated[str, argument("STUDY", "The study's name, or its file.")]
StudyFile = Annotated[str, argument("STUDY", "A study file, or the name of a study that comes with Parley.")]
AnyStudy = Annotated[
    str, argument("STUDY", "A study file, or the name of a study that comes with Parley or is in the database.")
]
StudiesToServe = Annotated[
    list[str] | None,
    argument("STUDY", "Study files, or names of studies that come with Parley or are published in the database."),
]
Where = Annotated[
    list[str] | None,
    option("--where FACTOR=VALUE", "Only this value of a factor, as in `condition=answer-first`. Can be repeated."),
]
OriginOption = Annotated[
    Origin | None,
    option(
        "--origin ORIGIN",
        "Only sessions of this origin: person, import, bot, pilot or rehearsal. Default: the first of person, import "
        "and bot that the study has.",
    ),
]
Host = Annotated[
    str | None,
    option(
        "--host ADDRESS",
        "The address to listen on; 0.0.0.0 opens it to the network. Default: PARLEY_HOST.",
        show_default=False,
    ),
]
Port = Annotated[
    int | None,
    option("--port PORT", "The port to listen on. Default: the setting.", min=0, max=65_535, show_default=False),
]
DatabaseAddress = Annotated[
    str | None, option("--database URL", "The database. Default: PARLEY_DATABASE_URL.", show_default=False)
]
AsJson = Annotated[bool, option("--json", "Print JSON instead of a table.")]
Yes = Annotated[bool, option("--yes", "Ask for no confirmation.")]
Seed = Annotated[str, option("--seed SEED", "The same seed gives the same result, another seed another.")]
Language = Annotated[str, option("--language LANGUAGE", "A language of the study, such as `de`.")]
DryRun = Annotated[bool, option("--dry-run", "Only show what would be done.")]
ReplyTokens = Annotated[
    int, option("--reply-tokens N", "For the estimate of costs: the assumed length of replies, in tokens.", min=1)
]
Concurrency = Annotated[int, option("--concurrency N", "Calls at a time, for each server.", min=1)]
CostLimit = Annotated[float | None, option("--budget AMOUNT", "Limit of the cost, in the study's currency.", min=0)]
ToFile = Annotated[Path, option("-o --out FILE", "The file to write; `-` for standard output.")]


def cell_of(study: Study, where: list[str] | None) -> dict[str, str]:
    return parse_cell(where or (), study.factors, study.pools)


def require_folder(file: Path | None) -> None:
    """Raise ArgumentInvalid if the folder is missing in which a command writes its result: before what takes long."""
    if file is not None and not file.parent.is_dir():
        raise ArgumentInvalid(f"-o {file}: there is no folder {file.parent}. Make it, or name a file elsewhere")


def write_csv(to: Path, rows: Iterable[Iterable[Any]]) -> None:
    """Write rows to a file, which is whole or not there, or to standard output."""
    if to == STDOUT:
        csv.writer(sys.stdout).writerows(rows)
        return
    with writing(to) as whole, TextIOWrapper(whole, encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    echo(f"{to} is written.")


def name_of(study: str) -> str:
    return str(read_yaml(find(study)).get("study")) if study.endswith((".yaml", ".yml")) else study


def settings_in_use(**given: Any) -> Settings:
    """The settings, overridden by those `given`, with a warning for each unknown variable; raises SettingsError."""
    for warning in configuration.unknown(configuration.names_in_use()):
        err.print(warning, style="yellow", markup=False)
    settings = configuration.load(**{name: value for name, value in given.items() if value is not None})
    set_up(settings)
    return settings


def existing_database(settings: Settings | None = None) -> Database:
    """Raises StorageError if its file does not exist; commands that begin something use `open_database` instead."""
    settings = settings or settings_in_use()
    file = sqlite_path(settings.database_url)
    if file is not None and not _exists(file):
        raise StorageError(
            f"There is no database {file.resolve()}, and this command makes none. Is this the right folder? "
            f"Another database: {configuration.env_name('database_url')}=sqlite:///FILE. A new one is made by `parley "
            "serve`, `console`, `publish`, `simulate` or `import`."
        )
    return open_database(settings.database_url)


def any_study(reference: str, settings: Settings | None = None) -> Study:
    """A study from its file, one that comes with Parley, or the newest version of one in the database, by its name.
    Raises StudyError. The settings are read only for a name of neither a file nor a study of Parley's."""
    try:
        find(reference)
    except StudyError:
        _, database = with_saved(settings or settings_in_use())
        studies = Studies(database) if database else None
        if studies and studies.has(reference):
            study = studies.newest(reference)
            hashes = {one.sha256 for one in study.pictures.by_key.values()}
            found = {sha256: studies.picture(sha256) for sha256 in hashes}
            return replace(study, picture_files={sha256: one.content for sha256, one in found.items() if one})
        find(reference, studies.names() if studies else ())
    return load_study(reference)


def published_study(study: str) -> tuple[Database, Study]:
    """The database, and the newest version in it of a study given by its name or file; raises StorageError."""
    database = existing_database()
    return database, Studies(database).newest(name_of(study))


def participants() -> tuple[Database, Participants]:
    settings = settings_in_use()
    database = existing_database(settings)
    return database, Participants(database, secret_for(settings, database))


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError as error:  # a folder that may not be entered
        raise unwritable(file, error) from error


def with_saved(settings: Settings) -> tuple[Settings, Database | None]:
    """The settings with the servers saved in the database, and the database; None if it does not exist yet."""
    file = sqlite_path(settings.database_url)
    if file and not _exists(file):
        return settings, None
    database = open_database(settings.database_url)
    return with_saved_servers(settings, database), database


def finish(work: Coroutine[Any, Any, Result]) -> Result:
    """Run something to its end, on uvloop where it is installed: it makes nearly twice as many calls."""
    try:
        import uvloop
    except ImportError:  # Windows
        return asyncio.run(work)
    return uvloop.run(work)

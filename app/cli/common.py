"""What the commands share: where they write, the settings in use, and options that several of them have."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Coroutine, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from app.cli.logging_setup import set_up
from app.cli.safe_console import EscapingConsole
from app.config import settings as configuration
from app.config.saved_servers import with_saved_servers
from app.config.settings import Settings
from app.errors import ArgumentInvalid
from app.studies.loader import find, read_yaml
from storage.db.database_url import sqlite_path
from storage.db.engine import Database, open_database
from storage.db.private_files import unwritable
from storage.errors import StorageError
from storage.registers.origins import REHEARSAL, Origin

Result = TypeVar("Result")
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="The study's name, or its file.")]
StudyFile = Annotated[
    str, typer.Argument(metavar="STUDY", help="A study file, or the name of a study that comes with Parley.")
]
StudiesToServe = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="STUDY",
        help="Study files, or names of studies that come with Parley or are published in the database.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FACTOR=VALUE", help="Only this value of a factor, as in `condition=answer-first`. Can be repeated."
    ),
]
OriginOption = Annotated[
    Origin | None,
    typer.Option(
        metavar="ORIGIN",
        help="Only sessions of this origin: person, import, bot, pilot or rehearsal. Default: the first of person, "
        "import and bot that the study has.",
    ),
]
Host = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The address to listen on; 0.0.0.0 opens it to the network. Default: PARLEY_HOST.",
        show_default=False,
    ),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="PORT", help="The port to listen on. Default: the setting.", min=0, max=65_535, show_default=False
    ),
]
DatabaseAddress = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="The database. Default: PARLEY_DATABASE_URL.", show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
STDOUT = Path("-")
"""In place of a file to write."""
out = EscapingConsole()
err = EscapingConsole(stderr=True)
_COMMANDS_TERMINAL = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def print_json(value: Any) -> None:
    """Print a value as JSON, which is then all that the command prints to standard output.

    Times are ISO 8601 in UTC, and a number that is not finite is null. Characters that would command a terminal are
    escaped.
    """
    text = json.dumps(_jsonable(value), indent=2, ensure_ascii=False, allow_nan=False)
    print(_COMMANDS_TERMINAL.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def _jsonable(value: Any) -> Any:
    match value:
        case Mapping():
            return {str(name): _jsonable(part) for name, part in value.items()}
        case list() | tuple():
            return [_jsonable(part) for part in value]
        case float() if not math.isfinite(value):
            return None
        case Decimal():
            return float(value)
        case Path():
            return str(value)
        case _:
            return value


def print_rehearsal(origin: str | None) -> None:
    """Print a banner above what is shown of a rehearsal."""
    if origin == Origin.REHEARSAL:
        out.print(f"[black on yellow] REHEARSAL [/black on yellow] [yellow]{REHEARSAL}[/yellow]")


def iso(us: int | None) -> str | None:
    """A time in microseconds since 1970 as ISO 8601."""
    return None if us is None else datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="milliseconds")


def require_folder(file: Path | None) -> None:
    """Raise ArgumentInvalid if the folder is missing in which a command writes its result: before what takes long."""
    if file is not None and not file.parent.is_dir():
        raise ArgumentInvalid(f"-o {file}: there is no folder {file.parent}. Make it, or name a file elsewhere")


def name_of(study: str) -> str:
    """A study's name, given itself or by its file."""
    return str(read_yaml(find(study)).get("study")) if study.endswith((".yaml", ".yml")) else study


def settings_in_use(**given: Any) -> Settings:
    """The settings, overridden by what the command line has `given`, with a warning for each unknown variable; raises
    SettingsError."""
    for warning in configuration.unknown(configuration.names_in_use()):
        err.print(f"[yellow]{warning}[/yellow]")
    settings = configuration.load(**{name: value for name, value in given.items() if value is not None})
    set_up(settings)
    return settings


def existing_database(settings: Settings) -> Database:
    """The database, for commands that read or change what is there; raises StorageError if its file does not exist.

    Commands that begin something (serve, publish, import, ...) open a new database instead: `open_database`.
    """
    file = sqlite_path(settings.database_url)
    if file is not None and not _exists(file):
        raise StorageError(
            f"There is no database {file.resolve()}, and this command makes none. Is this the right folder? "
            f"Another database: {configuration.env_name('database_url')}=sqlite:///FILE. A new one is made by `parley "
            "serve`, `console`, `publish`, `simulate` or `import`."
        )
    return open_database(settings.database_url)


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except OSError as error:  # a folder that may not be entered
        raise unwritable(file, error) from error


def with_saved(settings: Settings) -> tuple[Settings, Database | None]:
    """The settings with the servers that are saved in the database, and the database; None if there is none yet."""
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

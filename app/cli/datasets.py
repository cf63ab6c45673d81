"""The commands that import, check and export datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import DownloadColumn, TaskID

from app.cli.commands import command
from app.cli.common import (
    INTERRUPTED,
    STDOUT,
    OriginOption,
    StudyName,
    Where,
    argument,
    existing_database,
    name_of,
    option,
    settings_in_use,
)
from app.cli.printing import echo, err, progress_bar, show, warn, warn_of_rehearsal
from app.clock import SystemClock
from app.config.secret import secret_for
from app.config.settings import Settings
from app.use_cases.export import peek_by_export, read_filter, requests_of, write_export, write_ids
from app.use_cases.imports import study_to_import, told
from experiments.errors import suggestion
from experiments.plural import count as how_many
from storage.accounts.roles import TERMINAL
from storage.datasets.describe.export_folder import edited
from storage.datasets.exports.exporter import stream
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.preview import files
from storage.datasets.exports.recruiter_ids import refuse_shared_folder
from storage.datasets.exports.session_filter import SessionFilter
from storage.datasets.imports.importer import Imported, deviations, import_files
from storage.datasets.manifest import ExportManifest
from storage.datasets.tidy.columns import NAME as TIDY
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.participants import Participants
from storage.registers.studies import Studies
from storage.schemas.registry import schemas


@command("import")
def import_(
    schema: Annotated[str, argument("SCHEMA", f"The dataset: {', '.join(sorted(schemas()))}.")],
    paths: Annotated[list[Path], argument("PATH", "Files of the release, or the folder that has them.")],
    study: Annotated[str, option("--study NAME", "The name of the study to import into. Default: the schema's.")] = "",
    check: Annotated[
        bool,
        option("--check", "Import nothing; print every cell that deviates from the schema, and exit with 1 if any."),
    ] = False,
) -> None:
    """The files become sessions of a study. If one of them has an error, nothing is imported."""
    if check:
        _check(schema, paths)
        return
    database = open_database(settings_in_use().database_url)
    name = study_to_import(database, schema, study)
    own = Studies(database).has(name)
    try:
        with _reading() as progress:
            done = import_files(database, schema, paths, name, progress)
    except KeyboardInterrupt:
        err.print("Stopped. Nothing was imported.")
        raise typer.Exit(INTERRUPTED) from None
    show(told(done), False)
    if any(file.rows for file in done):
        origin = " --origin import" if own else ""
        echo(f"To write them again: parley export {name} --schema {schema}{origin} -o FOLDER", "dim")


def _check(schema: str, paths: Sequence[Path]) -> None:
    count = files = 0
    with _reading() as progress:
        for item in deviations(schema, paths, progress):
            if isinstance(item, Imported):
                files += 1
                continue
            count += 1
            echo(str(item))
    echo(f"{how_many(count, 'deviation')} from {schema} in {how_many(files, 'file')}.")
    if count:
        raise typer.Exit(1)


SchemaOption = Annotated[
    str,
    option(
        "--schema SCHEMA",
        f"The format of a released dataset: {', '.join(sorted(schemas()))}; or {TIDY}, for plain tables of "
        f"everything, of any study. Default: all formats of the study, and {TIDY}.",
    ),
]
ToOption = Annotated[
    Path | None,
    option(
        "-o --out FOLDER",
        "The folder to write; `-` for standard output. Default: STUDY-DATE/SCHEMA. Without --schema, it has a "
        "folder for each.",
    ),
]
FileOption = Annotated[str, option("--file NAME", "With `-o -`: the file to print. Default: the first one.")]
SafeOption = Annotated[
    bool, option("--safe-for-spreadsheets", "Escape cells that a spreadsheet would run as formulas.")
]
ZippedOption = Annotated[bool, option("--zip", "Also write the folder as one zip file.")]
SinceOption = Annotated[str, option("--since TIME", "Only sessions started at this date or time (UTC) or later.")]
UntilOption = Annotated[
    str, option("--until TIME", "Only sessions started up to this date, or before this time (UTC).")
]
CompleteOption = Annotated[bool, option("--complete", "Only complete sessions.")]
LanguageOption = Annotated[str, option("--language LANGUAGE", "Only sessions in this language, such as `de`.")]
WithExcludedOption = Annotated[bool, option("--with-excluded", "Also sessions that a researcher excluded.")]
PartOption = Annotated[
    str,
    option(
        "--part PART",
        "The part of the release, such as `pilot_1_no_incentives`: the only one to write of an imported release, "
        "and the folder for a study's own sessions. Default: all, and the first.",
    ),
]
MaskOption = Annotated[
    bool,
    option(
        "--mask-personal-data",
        "Replace what looks like personal data in free text, such as addresses and phone numbers. README.md counts it.",
    ),
]
WithoutOption = Annotated[
    list[str] | None, option("--without COLUMN", "Leave this column out of every file. Can be repeated.")
]
IdsOption = Annotated[
    Path | None,
    option(
        "--recruiter-ids FILE",
        "Also write the recruiters' IDs of these sessions to this file, outside of the folder; in a study with "
        "waves with `person`, as reminders by webhook have it. It is recorded in the audit log.",
    ),
]


@command("export")
def export_(
    study: StudyName,
    schema: SchemaOption = "",
    to: ToOption = None,
    origin: OriginOption = None,
    file: FileOption = "",
    safe: SafeOption = False,
    zipped: ZippedOption = False,
    where: Where = None,
    since: SinceOption = "",
    until: UntilOption = "",
    complete: CompleteOption = False,
    language: LanguageOption = "",
    with_excluded: WithExcludedOption = False,
    part: PartOption = "",
    mask: MaskOption = False,
    without: WithoutOption = None,
    ids: IdsOption = None,
) -> None:
    name = name_of(study)
    kept = SessionFilter(complete=complete, language=language, with_excluded=with_excluded)
    request = ExportRequest(
        study=name,
        schema=schema,
        origin=origin,
        safe=safe,
        selection=read_filter(kept, where or (), since, until),
        part=part,
        mask=mask,
        without=tuple(without or ()),
    )
    _check_request(request, to, ids)
    settings = settings_in_use()
    database = existing_database(settings)
    if said := peek_by_export(database, request, TERMINAL, SystemClock().now_us()):
        warn(said)
    if to == STDOUT:
        stream(database, request, sys.stdout.buffer, file)
        return
    for each in requests_of(database, request):
        folder = to if to and schema else (to or Path(f"{name}-{datetime.now(UTC):%Y-%m-%d}")) / each.schema
        _write(settings, database, each, folder, ids, zipped=zipped)


def _write(
    settings: Settings, database: Database, request: ExportRequest, folder: Path, ids: Path | None, *, zipped: bool
) -> None:
    if ids is not None:
        refuse_shared_folder(ids, folder)
    if files(database, request, 1).is_empty:
        warn(f"No session has a row in {request.schema}, so its files are empty. The tidy tables have everything.")
    manifest, written = write_export(database, request, folder, zipped=zipped)
    warn_of_rehearsal(manifest.origin)
    _say_exported(manifest)
    if ids is not None:
        people = Participants(database, secret_for(settings, database))
        count = write_ids(database, people, request, ids, TERMINAL, SystemClock())
        echo(f"{ids}: {count:,} recruiter IDs. They identify people: do not publish this file.")
    if zipped:
        echo(f"{written}")


def _check_request(request: ExportRequest, to: Path | None, ids: Path | None) -> None:
    """Raise StorageError for an unknown schema, and for options that do not go together."""
    known = (*schemas(), TIDY)
    if request.schema and request.schema not in known:
        raise StorageError(f"no schema is called {request.schema!r}{suggestion(request.schema, known)}")
    streamed = to == STDOUT
    if streamed and not request.schema:
        raise StorageError("-o - prints one file: name its --schema")
    if ids is not None and (streamed or not request.schema):
        raise StorageError(f"--recruiter-ids goes with the --schema of a released dataset or {TIDY}, into a folder")


def _say_exported(manifest: ExportManifest) -> None:
    for file in manifest.files:
        echo(f"{manifest.folder / file.path}: {how_many(file.rows, 'row')}")
    echo(f"{how_many(manifest.sessions, 'session')} of origin {manifest.origin}; README.md describes them", "dim")
    for name in edited(manifest.folder):
        warn(f"{name} was changed by hand and is kept: it may say what these data no longer are.")
        warn("For a new one move it away and export again.")
    for why, number in manifest.selected.left_out if manifest.selected else ():
        echo(f"  left out: {number:,} {why}")
    for kept in manifest.filtered:
        echo(f"  {kept.step}: {how_many(kept.people, 'participant')}, {how_many(kept.answers, 'answer')}")
    if manifest.masked:
        found = how_many(sum(number for *_, number in manifest.personal), "item")
        echo(f"{found} of personal data masked; README.md lists the columns.")
    cells = sum(sum(file.formulas.values()) for file in manifest.files)
    if cells and not manifest.safe:
        warn(
            f"{cells:,} cells would run as formulas in a spreadsheet (README.md lists the columns); "
            "`--safe-for-spreadsheets` escapes them."
        )


@contextmanager
def _reading() -> Iterator[Callable[[Path, int], None]]:
    with progress_bar(DownloadColumn()) as bar:
        tasks: dict[Path, TaskID] = {}

        def progress(path: Path, done: int) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path.name, total=path.stat().st_size)
            bar.update(tasks[path], completed=done)

        yield progress

"""The commands that bring data in and out: import, validate, export, and what looks after the database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from app.cli.common import STDOUT, Where, app, err, name_of, out, settings_in_use
from app.config.secret import secret_for
from app.config.settings import Settings
from experiments.study.cells import parse_values
from storage.datasets.describe.markdown import count as how_many
from storage.datasets.describe.zip_file import pack
from storage.datasets.exports.chatbench_filter import Statuses, read_statuses
from storage.datasets.exports.exporter import export, stream
from storage.datasets.exports.finetuning import NAME, SHARE, TRAIN, Split, export_examples, stream_examples
from storage.datasets.exports.plan import Wish
from storage.datasets.exports.session_filter import Selection, moment_of
from storage.datasets.imports.detect_files import Found
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.manifest import Exported
from storage.db.backup import must_be_unused
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.log.projections import differences, rebuild
from storage.registers.origins import Origin
from storage.registers.participants import Participants, Person
from storage.registers.studies import Studies
from storage.schemas.registry import schemas

PROLIFIC = "prolific"

SchemaName = Annotated[str, typer.Argument(metavar="SCHEMA", help=f"One of: {', '.join(sorted(schemas()))}.")]
Paths = Annotated[
    list[Path],
    typer.Argument(metavar="PATH...", help="Files of the release, or its folder with whichever of them are there."),
]


@app.command(name="import")
def import_(
    schema: SchemaName,
    paths: Paths,
    study: Annotated[str, typer.Option(help="The study to import into; called like the schema unless given.")] = "",
) -> None:
    """Read the files of a released dataset into the database, as sessions of a study; all of it or nothing."""
    database, name = _database(), study or schema
    own = Studies(database).has(name)
    if own and not study:
        raise StorageError(
            f"{name!r} is also a study of this Parley. Say which study the files go into: --study {name}-released, or "
            f"--study {name} to have them beside its own sessions"
        )
    try:
        with _reading() as progress:
            done = import_files(database, schema, paths, name, progress)
    except KeyboardInterrupt:
        err.print("Stopped. Nothing was imported.")
        raise typer.Exit(130) from None
    for file in done:
        told = f"{file.new:,} new" if file.new else "all known, nothing to do" if file.rows else "no rows"
        out.print(f"{file.path}: {file.rows:,} rows, {told}", highlight=False)
    origin = " --origin import" if own else ""
    out.print(f"[dim]parley export {name} --schema {schema}{origin} -o FOLDER writes them again[/dim]")


@app.command()
def validate(schema: SchemaName, paths: Paths) -> None:
    """Say of every cell of a released dataset's files that is not as its schema has it; exits with 1 if any is."""
    count = files = 0
    with _reading() as progress:
        for item in deviations(schema, paths, progress):
            if isinstance(item, Found):
                files += 1
                continue
            count += 1
            out.print(str(item), markup=False, highlight=False, soft_wrap=True)
    if count:
        word = "deviation" if count == 1 else "deviations"
        out.print(f"[red]{count:,} {word}[/red] from {schema} in {files} {_files(files)}.")
        raise typer.Exit(1)
    out.print(f"No deviations from {schema} in {files} {_files(files)}.")


def _files(count: int) -> str:
    return "file" if count == 1 else "files"


@app.command(name="export")
def export_(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study's name, as in its file.")],
    schema: Annotated[
        str,
        typer.Option(help=f"The released schema: {', '.join(sorted(schemas()))}; or {NAME}, examples to train on."),
    ],
    to: Annotated[Path, typer.Option("-o", "--out", help="The folder to write into; `-` for standard output.")],
    origin: Annotated[
        str | None, typer.Option(help="Whose sessions: person, import, bot or pilot. People's, unless there are none.")
    ] = None,
    file: Annotated[str, typer.Option(help="With `-o -`: which file; the first unless given.")] = "",
    status: Annotated[
        Path | None,
        typer.Option(
            "--prolific-export",
            help="Prolific's export of the study: who counts as having completed it in the filtered file.",
        ),
    ] = None,
    safe: Annotated[
        bool,
        typer.Option("--safe-for-spreadsheets", help="Escape what a spreadsheet would run; no longer the exact data."),
    ] = False,
    zipped: Annotated[bool, typer.Option("--zip", help="Pack the folder into one zip beside it.")] = False,
    where: Where = None,
    since: Annotated[str, typer.Option(help="Only who began then or later: a date or time, UTC.")] = "",
    until: Annotated[str, typer.Option(help="Only who began on that date or earlier, or before that time, UTC.")] = "",
    complete: Annotated[bool, typer.Option("--complete", help="Only who completed the study.")] = False,
    language: Annotated[str, typer.Option(help="Only who took part in this language, such as `de`.")] = "",
    with_excluded: Annotated[
        bool, typer.Option("--with-excluded", help="Also sessions that a researcher excluded.")
    ] = False,
    user: Annotated[str, typer.Option(help="Of simulated sessions: only this kind of user's, `two_step`.")] = "",
    train: Annotated[
        float,
        typer.Option(
            "--train-share", help=f"With {NAME}: the share of the questions that are for training.", min=0, max=1
        ),
    ] = SHARE,
    seed: Annotated[str, typer.Option(help=f"With {NAME}: which questions those are.")] = "1",
) -> None:
    """Write a study's data as the released dataset's files, with a codebook, metadata and checksums."""
    settings = settings_in_use()
    database = open_database(settings.database_url)
    name = name_of(study)
    statuses = _statuses(settings, database, name, status) if status else None
    began = (moment_of(since), moment_of(until, end=True))
    selection = Selection(parse_values(where or ()), *began, complete, language, with_excluded, user)
    wish = Wish(name, schema, origin or (Origin.BOT if user else None), statuses, safe, selection)
    if schema == NAME:
        _examples(database, wish, to, file, Split(train, seed))
        return
    if to == STDOUT:
        stream(database, wish, sys.stdout.buffer, file)
        return
    exported = export(database, wish, to)
    _tell(exported, statuses)
    if zipped:
        out.print(f"{pack(to)}", highlight=False)


def _examples(database: Database, wish: Wish, to: Path, file: str, split: Split) -> None:
    """Write examples for the fine-tuning of a user simulator, and tell of how many questions they are."""
    if to == STDOUT:
        stream_examples(database, wish, sys.stdout.buffer, split, file or TRAIN)
        return
    written = export_examples(database, wish, to, split)
    for one in written.exported.files:
        about = f"{one.rows:,} examples, of {written.questions[one.path]:,} of the questions"
        out.print(f"{to / one.path}: {about}", highlight=False)
    out.print(f"[dim]{how_many(written.exported.sessions, 'session')} of origin {written.exported.origin}[/dim]")
    for why, number in sorted(written.left_out.items()):
        out.print(f"  left out: {number:,} conversations {why}", highlight=False)


def _tell(exported: Exported, statuses: Statuses | None) -> None:
    for file in exported.files:
        out.print(f"{exported.folder / file.path}: {file.rows:,} rows", highlight=False)
    out.print(
        f"[dim]{how_many(exported.sessions, 'session')} of origin {exported.origin}; README.md says what is there[/dim]"
    )
    for why, number in exported.selected.left_out if exported.selected else ():
        out.print(f"  left out: {number:,} {why}", highlight=False)
    for kept in exported.filtered:
        out.print(f"  {kept.step}: {kept.people:,} participants, {kept.answers:,} answers", highlight=False)
    if statuses and statuses.unknown:
        out.print(f"[yellow]{statuses.unknown} ids of the status file belong to no session of this study.[/yellow]")
    cells = sum(sum(file.formulas.values()) for file in exported.files)
    if cells and not exported.safe:
        out.print(
            f"[yellow]{cells:,} cells would run as formulas in a spreadsheet[/yellow] (README.md lists the columns); "
            "`--safe-for-spreadsheets` writes a variant in which they don't."
        )


def _statuses(settings: Settings, database: Database, study: str, path: Path) -> Statuses:
    people = Participants(database, secret_for(settings, database))
    return read_statuses(path, lambda id_: people.find(study, Person(PROLIFIC, id_)))


@contextmanager
def _reading() -> Iterator[Callable[[Path, int], None]]:
    """A bar for each file that is read."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        tasks: dict[Path, TaskID] = {}

        def progress(path: Path, done: int) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path.name, total=path.stat().st_size)
            bar.update(tasks[path], completed=done)

        yield progress


def _database() -> Database:
    return open_database(settings_in_use().database_url)


db = typer.Typer(help="Look after the database: migrate it, rebuild what follows from the log, or compare the two.")
app.add_typer(db, name="db")


@db.command(name="rebuild")
def db_rebuild() -> None:
    """Empty the released tables and fill them again from the log; stop the server first."""
    url = settings_in_use().database_url
    must_be_unused(url)
    count = rebuild(open_database(url, outdated=True))
    out.print(f"The released tables are rebuilt from {how_many(count, 'session')}.")


@db.command(name="verify")
def db_verify() -> None:
    """Compare the released tables with the log, say what differs, and exit with 1 if anything does."""
    count = 0
    for sentence in differences(_database()):
        out.print(sentence, markup=False, highlight=False)
        count += 1
    if count:
        out.print(f"[red]{count} differences.[/red] `parley db rebuild` makes the tables anew.")
        raise typer.Exit(1)
    out.print("The released tables are what the log implies.")

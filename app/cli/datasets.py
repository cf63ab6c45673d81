"""The commands that import, validate and export datasets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from app.cli.commands import command
from app.cli.common import (
    STDOUT,
    OriginOption,
    StudyName,
    Where,
    err,
    existing_database,
    name_of,
    out,
    print_rehearsal,
    settings_in_use,
)
from app.clock import SystemClock
from app.config.secret import secret_for
from app.config.settings import Settings
from experiments.errors import suggestion
from experiments.study.cells import parse_values
from storage.accounts.accounts import Accounts
from storage.accounts.roles import TERMINAL
from storage.datasets.describe.editable_files import NEW, new_beside_edited
from storage.datasets.describe.markdown import count as how_many
from storage.datasets.describe.zip_file import zip_export
from storage.datasets.exports.chatbench_filter import Statuses, read_statuses
from storage.datasets.exports.exporter import export, stream
from storage.datasets.exports.finetuning import NAME, SHARE, TRAIN, TrainSplit, export_examples, stream_examples
from storage.datasets.exports.formats import FORMATS
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.exports.recruiter_ids import refuse_shared_folder, write_recruiter_ids
from storage.datasets.exports.screening import MODES
from storage.datasets.exports.session_filter import SessionFilter, moment_of
from storage.datasets.imports.detect_files import ReleaseFile
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.manifest import ExportManifest
from storage.datasets.tidy.columns import NAME as TIDY
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.origins import Origin
from storage.registers.participants import ParticipantId, Participants
from storage.registers.plan_events import plan_events
from storage.registers.studies import Studies
from storage.schemas.registry import schemas

PROLIFIC = "prolific"

SchemaName = Annotated[str, typer.Argument(metavar="SCHEMA", help=f"The dataset: {', '.join(sorted(schemas()))}.")]
Paths = Annotated[
    list[Path],
    typer.Argument(metavar="PATH", help="Files of the release, or the folder that has them."),
]


@command("import")
def import_(
    schema: SchemaName,
    paths: Paths,
    study: Annotated[
        str, typer.Option(metavar="NAME", help="The name of the study to import into. Default: the schema's.")
    ] = "",
) -> None:
    """The files become sessions of a study. If one of them has an error, nothing is imported."""
    database, name = _database(), study or schema
    own = Studies(database).has(name)
    if own and not study:
        raise StorageError(
            f"This database has a study {name!r} already. To import into another study, add --study {name}-released; "
            f"to import beside its own sessions, add --study {name}"
        )
    try:
        with _reading() as progress:
            done = import_files(database, schema, paths, name, progress)
    except KeyboardInterrupt:
        err.print("Stopped. Nothing was imported.")
        raise typer.Exit(130) from None
    for file in done:
        count = f"{file.new:,} new" if file.new else "all imported before"
        rows = (
            f"{how_many(file.rows, 'row')}, {count}" if file.rows else "it has no rows, so nothing was imported from it"
        )
        out.print(f"{file.path}: {rows}", highlight=False, soft_wrap=True)
    if not any(file.rows for file in done):
        return
    origin = " --origin import" if own else ""
    out.print(f"[dim]To write them again: parley export {name} --schema {schema}{origin} -o FOLDER[/dim]")


@command("validate")
def validate(schema: SchemaName, paths: Paths) -> None:
    """Prints every cell that deviates from the schema, and exits with 1 if there is one."""
    count = files = 0
    with _reading() as progress:
        for item in deviations(schema, paths, progress):
            if isinstance(item, ReleaseFile):
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


@command("export")
def export_(
    study: StudyName,
    schema: Annotated[
        str,
        typer.Option(
            metavar="SCHEMA",
            help=f"The format of a released dataset: {', '.join(sorted(schemas()))}; {TIDY}, for plain tables of "
            f"everything, for any study; or {NAME}, for training examples.",
        ),
    ],
    to: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder to write; `-` for standard output.")
    ],
    origin: OriginOption = None,
    file: Annotated[
        str, typer.Option(metavar="NAME", help="With `-o -`: the file to print. Default: the first one.")
    ] = "",
    status: Annotated[
        Path | None,
        typer.Option(
            "--prolific-export",
            metavar="FILE",
            help="Prolific's export of the study: decides who counts as complete in the filtered file.",
        ),
    ] = None,
    safe: Annotated[
        bool,
        typer.Option("--safe-for-spreadsheets", help="Escape cells that a spreadsheet would run as formulas."),
    ] = False,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"Also write each file in this format: {', '.join(FORMATS)}. Can be given several times.",
        ),
    ] = None,
    zipped: Annotated[bool, typer.Option("--zip", help="Also write the folder as one zip file.")] = False,
    where: Where = None,
    since: Annotated[
        str, typer.Option(metavar="TIME", help="Only sessions started at this date or time (UTC) or later.")
    ] = "",
    until: Annotated[
        str, typer.Option(metavar="TIME", help="Only sessions started up to this date, or before this time (UTC).")
    ] = "",
    complete: Annotated[bool, typer.Option("--complete", help="Only complete sessions.")] = False,
    language: Annotated[
        str, typer.Option(metavar="LANGUAGE", help="Only sessions in this language, such as `de`.")
    ] = "",
    with_excluded: Annotated[
        bool, typer.Option("--with-excluded", help="Also sessions that a researcher excluded.")
    ] = False,
    part: Annotated[
        str,
        typer.Option(
            metavar="PART",
            help="The part of the release, such as `pilot_1_no_incentives`: the only one to write of an imported "
            "release, and the folder for a study's own sessions. Default: all, and the first.",
        ),
    ] = "",
    user: Annotated[
        str, typer.Option(metavar="KIND", help="Only simulated users of this kind, such as `two_step`.")
    ] = "",
    train: Annotated[
        float,
        typer.Option(
            "--train-share", metavar="SHARE", help=f"With {NAME}: the share of questions for training.", min=0, max=1
        ),
    ] = SHARE,
    seed: Annotated[str, typer.Option(metavar="SEED", help=f"With {NAME}: the seed of that split.")] = "1",
    screen: Annotated[
        str,
        typer.Option(
            metavar="|".join(MODES),
            help="Screen free text for personal data, such as addresses and phone numbers: `mark` lists the rows, "
            "`mask` replaces what is found. README.md counts it.",
        ),
    ] = "",
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Leave this column out of every file. Can be given several times."),
    ] = None,
    rounded: Annotated[
        list[str] | None,
        typer.Option(
            "--round-down",
            metavar="COLUMN=WIDTH",
            help="Round the numbers of a column down to multiples of a width, as in `age=10`. Can be given several "
            "times.",
        ),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(
            "--recruiter-ids",
            metavar="FILE",
            help="Also write the recruiters' IDs of these sessions to this file, outside of the folder. It is recorded "
            "in the audit log.",
        ),
    ] = None,
) -> None:
    """Besides the data, writes a codebook, metadata and checksums."""
    settings = settings_in_use()
    database = existing_database(settings)
    name = name_of(study)
    statuses = _statuses(settings, database, name, status) if status else None
    began = (moment_of(since), moment_of(until, end=True))
    selection = SessionFilter(parse_values(where or ()), *began, complete, language, with_excluded, user)
    request = ExportRequest(
        *(name, schema, origin or (Origin.BOT if user else None), statuses, safe, selection, part),
        *(tuple(formats or ()), _mode(screen, schema, to)),
        *(tuple(without or ()), _widths(rounded or ())),
    )
    if formats and (schema == NAME or to == STDOUT):
        raise StorageError(
            "--format writes copies beside the files of a released schema, in a folder. Leave it out for standard "
            f"output and for {NAME}"
        )
    _check_schema(request, to, ids)
    _record_peek(database, request)
    if schema == NAME:
        _examples(database, request, to, file, TrainSplit(train, seed))
        return
    if to == STDOUT:
        stream(database, request, sys.stdout.buffer, file)
        return
    if ids is not None:
        refuse_shared_folder(ids, to)
    exported = export(database, request, to)
    print_rehearsal(exported.origin)
    _print_export(exported, statuses)
    if ids is not None:
        _recruiter_ids(settings, database, request, ids)
    if zipped:
        out.print(f"{zip_export(to)}", highlight=False)


def _check_schema(request: ExportRequest, to: Path, ids: Path | None) -> None:
    known = (*schemas(), TIDY, NAME)
    if request.schema not in known:
        raise StorageError(f"no schema is called {request.schema!r}{suggestion(request.schema, known)}")
    if request.schema == NAME and (request.without or request.rounded):
        raise StorageError(f"--without and --round-down go with the export of a released dataset or of {TIDY}")
    if ids is not None and (to == STDOUT or request.schema == NAME):
        raise StorageError("--recruiter-ids goes with the export of a released dataset or of tidy into a folder")


def _record_peek(database: Database, request: ExportRequest) -> None:
    """Record an export of people's data as an unplanned look, in a preregistered study that is not over."""
    if request.origin not in (None, Origin.PERSON) or not plan_events(database, request.study).preregistrations:
        return
    from app.analysis.trial.looks import peek

    if peek(database, request.study, TERMINAL, "export", "", SystemClock().now_us()):
        err.print(
            "[yellow]The study is preregistered and not over: this export is recorded as an unplanned look at its "
            "outcomes. The report states it.[/yellow]"
        )


def _mode(screen: str, schema: str, to: Path) -> Literal["", "mark", "mask"]:
    if screen and (schema == NAME or (to == STDOUT and screen == "mark")):
        raise StorageError(
            f"--screen goes with the export of a released dataset or of {TIDY}, and `mark` only into a folder"
        )
    known: dict[str, Literal["", "mark", "mask"]] = {"": "", **{mode: mode for mode in MODES}}
    if screen not in known:
        raise StorageError(f"--screen {screen!r}{suggestion(screen, MODES)}")
    return known[screen]


def _widths(rounded: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """The columns and widths of `age=10`; raises StorageError."""
    found = []
    for text in rounded:
        name, _, width = text.rpartition("=")
        if not name or not width.isdecimal():
            raise StorageError(f"--round-down {text}: give a column and a whole number, as in --round-down age=10")
        found.append((name, int(width)))
    return tuple(found)


def _recruiter_ids(settings: Settings, database: Database, request: ExportRequest, file: Path) -> None:
    """Record it in the audit log, then write the recruiters' IDs."""
    Accounts(database, SystemClock().now_us).record(TERMINAL, "exported recruiter IDs", request.study)
    count = write_recruiter_ids(database, Participants(database, secret_for(settings, database)), request, file)
    out.print(f"{file}: {count:,} recruiter IDs. They identify people: do not publish this file.", highlight=False)


def _examples(database: Database, request: ExportRequest, to: Path, file: str, split: TrainSplit) -> None:
    """Write examples for the fine-tuning of a user simulator, and print how many."""
    if to == STDOUT:
        stream_examples(database, request, sys.stdout.buffer, split, file or TRAIN)
        return
    written = export_examples(database, request, to, split)
    for one in written.exported.files:
        about = f"{how_many(one.rows, 'example')} from {how_many(written.questions[one.path], 'question')}"
        out.print(f"{to / one.path}: {about}", highlight=False)
    out.print(f"[dim]{how_many(written.exported.sessions, 'session')} of origin {written.exported.origin}[/dim]")
    for why, number in sorted(written.left_out.items()):
        out.print(f"  left out: {how_many(number, 'conversation')} {why}", highlight=False)


def _print_export(exported: ExportManifest, statuses: Statuses | None) -> None:
    for file in exported.files:
        for path in (file.path, *(copy.path for copy in file.copies)):
            out.print(f"{exported.folder / path}: {how_many(file.rows, 'row')}", highlight=False)
    out.print(
        f"[dim]{how_many(exported.sessions, 'session')} of origin {exported.origin}; README.md describes them[/dim]"
    )
    for name in new_beside_edited(exported.folder):
        out.print(
            f"[yellow]{name} was changed by hand and is kept; the new text is in {name}{NEW}.[/yellow] "
            "Copy what you need from it, then delete it.",
            highlight=False,
        )
    for why, number in exported.selected.left_out if exported.selected else ():
        out.print(f"  left out: {number:,} {why}", highlight=False)
    for kept in exported.filtered:
        out.print(
            f"  {kept.step}: {how_many(kept.people, 'participant')}, {how_many(kept.answers, 'answer')}",
            highlight=False,
        )
    if statuses and statuses.unknown:
        out.print(f"[yellow]{statuses.unknown} IDs of Prolific's export belong to no session of this study.[/yellow]")
    _print_screening(exported)
    cells = sum(sum(file.formulas.values()) for file in exported.files)
    if cells and not exported.safe:
        out.print(
            f"[yellow]{cells:,} cells would run as formulas in a spreadsheet[/yellow] (README.md lists the columns); "
            "`--safe-for-spreadsheets` escapes them."
        )


def _print_screening(exported: ExportManifest) -> None:
    if exported.screening:
        found = how_many(sum(one.number for one in exported.personal), "item")
        out.print(f"{found} of personal data {exported.screening}ed; README.md lists the columns.", highlight=False)


def _statuses(settings: Settings, database: Database, study: str, path: Path) -> Statuses:
    people = Participants(database, secret_for(settings, database))
    return read_statuses(path, lambda id_: people.find(study, ParticipantId(PROLIFIC, id_)))


@contextmanager
def _reading() -> Iterator[Callable[[Path, int], None]]:
    """Show a progress bar for each file that is read."""
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

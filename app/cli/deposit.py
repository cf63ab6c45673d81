"""The command that deposits an export in a repository, after a gate."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from app.cli.commands import command
from app.cli.common import AsJson, err, out, print_json, settings_in_use
from app.clock import SystemClock
from app.config.settings import Settings
from app.deposit.doi import record_doi, write_doi
from app.deposit.http import RepositoryClient, token_of
from app.deposit.huggingface import HuggingFace
from app.deposit.osf import Osf
from app.deposit.repository import Advance, Repository
from app.deposit.run import DepositRequest, Done, run
from app.deposit.zenodo import Zenodo
from app.errors import DepositError
from storage.datasets.deposits.anonymity import THRESHOLD
from storage.datasets.deposits.export_folder import ExportFolder, open_export
from storage.datasets.deposits.gate import NONE, GateReport, Review, columns_of, examine
from storage.datasets.deposits.record import (
    DemographicsEntry,
    alone,
    read_record,
    record_file,
    write_record,
)
from storage.db.database_url import sqlite_path
from storage.db.engine import open_database
from storage.errors import StorageError
from storage.registers.studies import Studies

To = Literal["huggingface", "zenodo", "osf"]
TOKENS: Mapping[To, str] = {
    "huggingface": "https://huggingface.co/settings/tokens (type: write)",
    "zenodo": "https://zenodo.org/account/settings/applications/tokens/new/ (scopes: deposit:write, deposit:actions)",
    "osf": "https://osf.io/settings/tokens/ (scope: osf.full_write)",
}
"""Where the tokens are made."""
NUMBERS = ("integer", "number")
"""The types of columns that an export can round."""


@command("deposit")
def deposit(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of an export.")],
    to: Annotated[
        To | None,
        typer.Option(
            metavar="REPOSITORY", help="huggingface, zenodo or osf. Default: none, so that only the gate is shown."
        ),
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Make the deposit public, which cannot be undone. Default: a draft.")
    ] = False,
    embargo_until: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE",
            formats=["%Y-%m-%d"],
            help="Keep the files closed until this day. Zenodo opens them itself; elsewhere publish on that day.",
        ),
    ] = None,
    reviewed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="You have looked at this column, and it can be published. It is recorded. Can be given several times.",
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="NAME", help="Who decides, with --reviewed and --demographics. Default: the login.")
    ] = "",
    demographics: Annotated[
        str,
        typer.Option(
            metavar="COLUMNS",
            help="The columns that describe participants, such as `age,gender`, besides those that the schema marks; "
            f"or `{NONE}`.",
        ),
    ] = "",
    k: Annotated[
        int,
        typer.Option("--k", metavar="N", min=2, help="How many people must share each combination of values."),
    ] = THRESHOLD,
    study_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A study file into whose `dataset` the DOI is written. Default: none."),
    ] = None,
    name: Annotated[
        str,
        typer.Option(metavar="NAME", help="The repository at Hugging Face (`lab/data`), or the title at OSF."),
    ] = "",
    id_: Annotated[
        str, typer.Option("--id", metavar="ID", help="Continue in this draft, instead of creating one.")
    ] = "",
    new: Annotated[bool, typer.Option("--new", help="Make another deposit, although there is one.")] = False,
    as_json: AsJson = False,
) -> None:
    """A gate comes first: personal data, small cells and unreviewed free text each need a decision.

    The deposit is a draft that only you see, unless --publish is given.
    """
    settings = settings_in_use()
    export = open_export(folder)
    with alone(folder):
        decides = by or (_login() if reviewed or demographics else "")
        report = _gate(export, reviewed or (), demographics, decides, k)
        if not as_json:
            _print_gate(export, report)
        done = None
        if to is not None:
            _refuse_open(folder, report)
            until = embargo_until.date() if embargo_until else None
            request = DepositRequest(publish, until, name, id_, new)
            done = _deposit(settings, export, to, request, report)
    if as_json:
        print_json({"gate": _gate_json(report), "deposit": done.deposit.model_dump(mode="json") if done else None})
    elif done:
        _print_done(export, done)
    if done and done.deposit.doi:
        _write_back(settings, export, done.deposit.doi, study_file, quiet=as_json)
    if to is None and report.open:
        raise typer.Exit(1)


def _gate(export: ExportFolder, reviewed: Sequence[str], demographics: str, by: str, k: int) -> GateReport:
    """Examine the export, with the decisions that are recorded and those of this command, which are recorded."""
    before = record = read_record(export.path)
    new = [Review(column, by, _now()) for column in dict.fromkeys(reviewed)]
    if new:
        record = record.with_reviews(export.data, new)
    if demographics:
        names = tuple(dict.fromkeys(filter(None, (part.strip() for part in demographics.split(",")))))
        record = record.with_demographics(DemographicsEntry(data=export.data, columns=names, by=by, at=_now()))
    report = examine(export, record.reviews_of(export.data), record.demographics_of(export.data), k)
    if record != before:
        write_record(export.path, record)
    return report


def _login() -> str:
    """The name of the account that runs this; raises DepositError where the system has none, as in a container."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise DepositError("Who decides? --reviewed and --demographics need --by NAME here") from None


def _deposit(settings: Settings, export: ExportFolder, to: To, request: DepositRequest, report: GateReport) -> Done:
    with _repository(settings, to) as repository, _progress() as start:
        try:
            return run(export, repository, request, report, _now, start)
        except KeyboardInterrupt:
            err.print("Stopped. Nothing was published. Run the same command again: it continues where it stopped.")
            raise typer.Exit(130) from None


@contextmanager
def _repository(settings: Settings, to: To) -> Iterator[Repository]:
    """The repository, with the token of the settings; raises SettingsError if there is none."""
    setting = f"{to}_token"
    token, url = token_of(getattr(settings, setting), setting, TOKENS[to]), str(getattr(settings, f"{to}_url"))
    if to == "huggingface":
        yield HuggingFace(url, token)
        return
    client = RepositoryClient({"zenodo": "Zenodo", "osf": "The OSF"}[to], url, token, setting)
    try:
        yield Zenodo(client, url) if to == "zenodo" else Osf(client, url)
    finally:
        client.close()


@contextmanager
def _progress() -> Iterator[Callable[[Mapping[str, Path]], Advance]]:
    """Show one progress bar for all files, in bytes."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:

        def start(files: Mapping[str, Path]) -> Advance:
            task = bar.add_task(f"{len(files)} files", total=sum(file.stat().st_size for file in files.values()))
            return lambda path, sent: bar.update(task, advance=sent, description=escape(path))

        yield start


def _refuse_open(folder: Path, report: GateReport) -> None:
    if report.open:
        raise DepositError(f"The gate has open findings ({len(report.open)}), so nothing is deposited from {folder}")


def _print_gate(export: ExportFolder, report: GateReport) -> None:
    """Print the findings as a table, the k-anonymity, and what to do about open findings."""
    if report.simulated:
        out.print("No person took part in these sessions: the gate has nothing to examine.")
        return
    table = Table("finding", "columns", "detail", "decision")
    for one in report.findings:
        examples = "".join(f"\n[dim]{escape(text)}[/dim]" for text in one.examples)
        reviews = "\n".join(f"{escape(review.by)}, {review.at[:10]}" for review in one.reviews)
        decision = f"[green]reviewed[/green]\n{reviews}" if one.resolved else "[red]open[/red]"
        table.add_row(one.kind, escape("\n".join(one.columns)), f"{escape(one.detail)}{examples}", decision)
    if report.findings:
        out.print(table)
    if report.k is not None:
        said = f"k-anonymity of {', '.join(report.demographics)}: k = {report.k}, of {report.people:,} people"
        out.print(f"{escape(said)} (wanted: {report.threshold} or more).", highlight=False)
    others = export.others
    if others:
        out.print(f"Not part of the export, so not deposited: {escape(', '.join(others))}", highlight=False)
    if report.open:
        _print_advice(export, report)
    else:
        out.print("[green]The gate is passed.[/green]")


def _print_advice(export: ExportFolder, report: GateReport) -> None:
    out.print("\nWhat to do about open findings:", highlight=False)
    kinds = {one.kind for one in report.open}
    columns = columns_of(report.open)
    again = f"parley export {export.study} --schema {export.schema} -o ANOTHER_FOLDER"
    if "demographics" in kinds:
        _say(f"  Name the columns that describe participants: --demographics age,gender; or --demographics {NONE}")
    if "personal data" in kinds:
        _say(f"  Mask personal data in free text: {again} --screen mask")
    if columns:
        _say(f"  Leave a column out: {again} --without {quote(columns[0])}")
        if numbers := _open_numbers(export, columns):
            _say(f"  Or round its numbers: {again} --round-down {quote(f'{numbers[0]}=10')}")
        _say(f"  Or look at a column, and say that it can be published: --reviewed {quote(columns[0])}")


def _open_numbers(export: ExportFolder, names: Sequence[str]) -> list[str]:
    """Those of the columns whose numbers an export can round: `value` has numbers in one file and texts in another."""
    columns = [one for file in export.files for one in file.columns]
    others = {one.name for one in columns if one.type not in NUMBERS or one.closed}
    return [name for name in names if name not in others]


def _print_done(export: ExportFolder, done: Done) -> None:
    made = done.deposit
    if done.unchanged:
        _say(f"This export was published before: {made.url}")
    elif made.state == "published":
        _say(f"Published: {made.url}")
        if made.embargo_until:
            _say(f"The files are closed until {made.embargo_until}.")
    else:
        _say(f"Deposited as a draft that only you see: {made.url}")
        if made.reserved_doi:
            _say(f"Reserved DOI, which works once it is published: {made.reserved_doi}")
        _say(f"Look at it there, then publish it: parley deposit {quote(str(export.path))} --to {made.to} --publish")
    if done.next:
        _say(done.next)
    _say(f"Recorded in {record_file(export.path)}")


def _write_back(settings: Settings, export: ExportFolder, doi: str, study_file: Path | None, *, quiet: bool) -> None:
    """Write the DOI into the metadata of the study and into its file, or say what to write where."""
    for line in _written_back(settings, export, doi, study_file):
        (err if quiet else out).print(line, markup=False, highlight=False, soft_wrap=True)


def _written_back(settings: Settings, export: ExportFolder, doi: str, study_file: Path | None) -> Iterator[str]:
    yield f"DOI: {doi}"
    known = _recorded(settings, export.study, doi)
    if known == doi:
        yield f"It is in the publication metadata of {export.study}, so the next export has it."
    elif known:
        yield f"The publication metadata of {export.study} have another DOI, {known}, which was kept."
    else:
        yield f"There is no database with {export.study} here: record it by `parley metadata {export.study} FILE`."
    if study_file is None:
        yield f"In the study file, write below `dataset:`: `doi: {doi}` (or give --study-file FILE)."
        return
    written = write_doi(study_file, doi)
    if written == doi:
        yield f"It is in {study_file}. The study's version and hash are the same as before."
    else:
        yield f"{study_file} has another DOI, {written}, which was kept."


def _recorded(settings: Settings, study: str, doi: str) -> str:
    """The DOI in the metadata of the study in the database, after this one was recorded; empty without the study."""
    file = sqlite_path(settings.database_url)
    if file is not None and not file.exists():
        return ""
    with suppress(StorageError):
        database = open_database(settings.database_url)
        if study in Studies(database).names():
            return record_doi(database, study, doi, SystemClock().now_us())
    return ""


def _gate_json(report: GateReport) -> dict[str, Any]:
    return {
        "passed": not report.open,
        "k": report.k,
        "threshold": report.threshold,
        "people": report.people,
        "demographics": report.demographics,
        "findings": [
            {
                "kind": one.kind,
                "columns": one.columns,
                "files": one.files,
                "detail": one.detail,
                "resolved": one.resolved,
                "reviews": [{"column": r.column, "by": r.by, "at": r.at} for r in one.reviews],
            }
            for one in report.findings
        ],
    }


def _now() -> str:
    return datetime.fromtimestamp(SystemClock().now_us() / 1e6, UTC).isoformat(timespec="milliseconds")


def _say(words: str) -> None:
    out.print(words, markup=False, highlight=False, soft_wrap=True)

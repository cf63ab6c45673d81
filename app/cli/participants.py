"""The commands about people: personal links, who was returned to the recruiter, who withdraws; and `verify`."""

from __future__ import annotations

import csv
import sys
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.cli.common import STDOUT, StudyName, app, err, name_of, out, settings_in_use
from app.cli.session_actions import act_on
from app.clock import WorldClock
from app.config.secret import secret_for
from app.errors import SettingsError
from app.session.service import Sessions
from app.web.participant.recruiter_links import ID, LAB, SIGNED, signed
from experiments.errors import allowed
from experiments.study.resolve import Study
from storage.db.engine import open_database, writer
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.log.seats import release
from storage.payments.prolific import OVER, PROLIFIC, statuses
from storage.registers.participants import Participants, Person
from storage.registers.studies import Studies
from storage.reports.find_sessions import sessions_called
from storage.reports.reproducibility import verify as verify_study


@app.command()
def links(
    study: StudyName,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=10_000, help="How many links.")] = 10,
    prefix: Annotated[str, typer.Option(help="What the labels begin with; a number follows.")] = "P",
    sign: Annotated[
        Path | None,
        typer.Option("--ids", help="Sign the links of these ids instead: a file of a recruiter's ids, one a line."),
    ] = None,
    recruiter: Annotated[
        str, typer.Option(help=f"Whose ids they are: {', '.join(SIGNED)}; the study's own unless given.")
    ] = "",
    to: Annotated[Path, typer.Option("-o", "--out", help="A csv to write; `-` for standard output.")] = STDOUT,
) -> None:
    """Make links that prove who comes: each leads one person to one session, from any device. Personal links for a lab
    or a list of people, or, with `--ids`, signed links for the ids of a recruiter.

    The same labels and ids give the same links again; nobody can make one without the deployment's secret.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    found = Studies(database).newest(name_of(study))
    people = Participants(database, secret_for(settings, database))
    if not ID.fullmatch(prefix or "0"):
        raise SettingsError(f"--prefix {prefix!r}: letters, digits and . _ - are allowed")
    if sign is not None:
        recruiter = _recruiter(found, recruiter)
        made = [(id_, signed(people, found, recruiter, id_)) for id_ in _ids(sign)]
    else:
        labels = [f"{prefix}{number:0{len(str(count))}}" for number in range(1, count + 1)]
        made = [(label, f"{LAB}={people.link(found.name, label)}") for label in labels]
    address = f"{settings.address}/s/{found.name}"
    rows = [("label" if sign is None else "id", "link"), *((called, f"{address}?{query}") for called, query in made)]
    if to == STDOUT:
        csv.writer(sys.stdout).writerows(rows)
        return
    with writing(to) as whole, TextIOWrapper(whole, encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    out.print(f"{to}: {len(made):,} links. Whoever has one is taken for that person: hand them out one by one.")


def _recruiter(study: Study, given: str) -> str:
    """Whose ids are signed: the study's own recruiter's, unless another is given that it lets in."""
    by = study.file.recruitment.channels
    fit = [name for name in SIGNED if not by or name in by]
    if given in fit or (not given and len(fit) == 1):
        return given or fit[0]
    if given in SIGNED or not fit:
        raise SettingsError(f"{study.name} lets in nobody by such links: its recruitment is by {', '.join(by)}")
    raise SettingsError(f"--recruiter {given!r}{allowed(given, fit)}")


def _ids(file: Path) -> list[str]:
    """The ids in a file; raises SettingsError where there are none, or one that no link can have."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--ids {file}: cannot be read: {error}") from None
    found = {number: line.strip() for number, line in enumerate(lines, start=1) if line.strip()}
    wrong = [f"line {number}: {id_!r}" for number, id_ in found.items() if not ID.fullmatch(id_)]
    if wrong or not found:
        raise SettingsError(
            f"--ids {file}: one id a line is needed, of up to 100 letters, digits and . _ @ : + = ~ -", *wrong[:5]
        )
    return list(dict.fromkeys(found.values()))


@app.command(name="release-places")
def returns(
    study: StudyName,
    export: Annotated[Path, typer.Argument(metavar="EXPORT", help="Prolific's export of the study, a csv.")],
) -> None:
    """Give the places of those whom Prolific has returned, timed out or rejected to others, by its export file."""
    settings = settings_in_use()
    database = open_database(settings.database_url)
    name = Studies(database).newest(name_of(study)).name
    people = Participants(database, secret_for(settings, database))
    back = [id_ for id_, status in statuses(export).items() if status in OVER]
    theirs = [people.sessions(name, Person(PROLIFIC, id_)) for id_ in back]
    now_us = WorldClock().now_us()
    with writer(database) as connection, connection.begin():
        released = sum(release(connection, stream, now_us) for streams in theirs for stream in streams)
    out.print(
        f"{len(back):,} were returned, timed out or rejected; {released:,} places are free again. "
        "(The others had ended otherwise, or their places were free already.)"
    )
    if strangers := theirs.count([]):
        out.print(f"[yellow]{strangers:,} of these ids belong to no session of this study.[/yellow]")


@app.command()
def withdraw(
    person: Annotated[str, typer.Argument(metavar="ID", help="A recruiter's id, a session's, or one in the data.")],
    study: Annotated[str, typer.Option(help="Only in this study; in any unless given.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Erase what somebody gave: their session's facts and rows. A tombstone stays, and no later export has them."""
    settings = settings_in_use()
    database = open_database(settings.database_url)
    people = Participants(database, secret_for(settings, database))
    found = sessions_called(database, people, person, name_of(study) if study else "")
    if not found:
        raise StorageError(f"no session is called {person!r}: give a recruiter's id, a session's or one in the data")
    for stream in found:
        if not yes and not typer.confirm(f"Erase session {stream} for good?"):
            continue
        if act_on(database, partial(Sessions.withdraw, stream=stream)):
            out.print(f"Session {stream} is erased. Files that were exported before still have it: export anew.")
        else:
            out.print(f"Session {stream} was erased before.")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


@app.command()
def verify(study: StudyName) -> None:
    """Derive each assignment and draw of a study again from seed and log, and say what differs; exits with 1 then."""
    database = open_database(settings_in_use().database_url)
    name = Studies(database).newest(name_of(study)).name
    with _progress() as bar:
        task = bar.add_task(f"{name}: sessions")
        done = verify_study(database, name, lambda number, total: bar.update(task, completed=number, total=total))
    for sentence in done.differences:
        out.print(sentence, markup=False, highlight=False, soft_wrap=True)
    counted = f"{done.assignments:,} assignments and {done.draws:,} draws of {done.sessions:,} sessions"
    if done.differences:
        out.print(f"[red]{len(done.differences):,} differences[/red] in {counted}.")
        raise typer.Exit(1)
    out.print(f"{escape(counted)} follow from their seeds and facts.")

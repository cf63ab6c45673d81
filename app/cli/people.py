"""The commands about people: personal links, who was returned to the recruiter, who withdraws; and `verify`."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.cli.common import STDOUT, StudyName, app, err, name_of, out, settings_in_use
from app.clock import WorldClock
from app.counting import Live, written
from app.errors import SettingsError
from app.web.links import ID, LAB
from app.web.secret import secret_for
from experiments.core.events import Action
from experiments.core.session import decide, fold
from storage.engine import Database, open_database, writer
from storage.errors import Conflict, StorageError
from storage.finding import sessions_called
from storage.log import Log
from storage.participants import Participants, Person
from storage.prolific import OVER, PROLIFIC, statuses
from storage.seats import release
from storage.studies import Studies
from storage.verify import verify as verify_study

TRIES = 20


@app.command()
def links(
    study: StudyName,
    count: Annotated[int, typer.Option("-n", "--count", min=1, max=10_000, help="How many links.")] = 10,
    prefix: Annotated[str, typer.Option(help="What the labels begin with; a number follows.")] = "P",
    to: Annotated[Path, typer.Option("-o", "--out", help="A csv to write; `-` for standard output.")] = STDOUT,
) -> None:
    """Make personal links for a lab or a list of people: each leads one person to one session, from any device.

    The same labels give the same links again; nobody can make one without the deployment's secret.
    """
    settings = settings_in_use()
    database = open_database(settings.database_url)
    found = Studies(database).newest(name_of(study))
    people = Participants(database, secret_for(settings, database))
    if not ID.fullmatch(prefix or "0"):
        raise SettingsError(f"--prefix {prefix!r}: letters, digits and . _ - are allowed")
    digits = len(str(count))
    labels = [f"{prefix}{number:0{digits}}" for number in range(1, count + 1)]
    rows = [(label, f"{settings.address}/s/{found.name}?{LAB}={people.link(found.name, label)}") for label in labels]
    if to == STDOUT:
        csv.writer(sys.stdout).writerows([("label", "link"), *rows])
        return
    with to.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("label", "link"), *rows])
    out.print(f"{to}: {count:,} links. Whoever has one is taken for that person: hand them out one by one.")


@app.command()
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
    streams = [people.find(name, Person(PROLIFIC, id_)) for id_ in back]
    now_us = WorldClock().now_us()
    with writer(database) as connection, connection.begin():
        released = sum(release(connection, stream, now_us) for stream in streams if stream)
    out.print(
        f"{len(back):,} were returned, timed out or rejected; {released:,} places are free again. "
        "(The others had ended otherwise, or their places were free already.)"
    )
    if strangers := streams.count(None):
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
        if _withdraw(database, stream):
            out.print(f"Session {stream} is erased. Files that were exported before still have it: export anew.")
        else:
            out.print(f"Session {stream} was erased before.")


def _withdraw(database: Database, stream: str) -> bool:
    """Whether there was something to erase; a server at work on it notices by the number of the fact."""
    log = Log(database)
    try:
        for _ in range(TRIES):
            state = fold(log.load(stream))
            if state.outcome == "withdrawn":
                return False
            live = Live(stream, Studies(database).get(state.enrolled["hash"]), state)
            action = Action("withdraw", "", {}, WorldClock().now_us(), by="researcher")
            try:
                after = live.after(decide(live.study, state, action))
                log.append(written(live, after, action)).result()
            except Conflict:
                continue
            return True
        raise StorageError(f"{stream}: other writers were first {TRIES} times; try again")
    finally:
        log.close()


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

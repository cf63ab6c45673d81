"""The commands about participants: links, returned submissions, withdrawal; and `verify`."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.cli.commands import command
from app.cli.common import STDOUT, AsJson, StudyName, err, existing_database, name_of, out, print_json, settings_in_use
from app.cli.session_actions import act_on
from app.clock import SystemClock
from app.config.secret import secret_for
from app.errors import SettingsError
from app.session.service import Sessions
from app.web.participant.link_ids import ID, clean_id
from app.web.participant.recruiter_links import LAB, SIGNED, signed
from experiments.errors import suggestion
from experiments.study.study import Study
from problems.errors import ProblemError
from problems.text import read_text
from storage.datasets.describe.markdown import count as how_many
from storage.db.engine import writer
from storage.db.private_files import writing
from storage.log.seats import release
from storage.payments.prolific import OVER, PROLIFIC, statuses
from storage.registers.participants import ParticipantId, Participants
from storage.registers.studies import Studies
from storage.reports.reproducibility import recompute_draws
from storage.reports.sessions import find_sessions, not_found


@command("links")
def links(
    study: StudyName,
    count: Annotated[int, typer.Option("-n", "--count", metavar="N", min=1, max=10_000, help="Number of links.")] = 10,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="The beginning of each label; a number follows.")] = "P",
    sign: Annotated[
        Path | None,
        typer.Option(
            "--ids", metavar="FILE", help="Create signed links for the recruiter's IDs in this file, one a line."
        ),
    ] = None,
    recruiter: Annotated[
        str, typer.Option(metavar="NAME", help=f"With --ids: {', '.join(SIGNED)}. Default: the study's recruiter.")
    ] = "",
    to: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="The csv file to write; `-` for standard output.")
    ] = STDOUT,
) -> None:
    """Each link gives one participant one session, from any device, and proves who they are.

    The same labels and IDs always give the same links. Links cannot be made without the deployment's secret.
    """
    settings = settings_in_use()
    database = existing_database(settings)
    found = Studies(database).newest(name_of(study))
    people = Participants(database, secret_for(settings, database))
    if not ID.fullmatch(prefix or "0"):
        raise SettingsError(f"--prefix {prefix!r}: allowed are letters, digits and . _ -")
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
    out.print(
        f"{to}: {len(made):,} links. A link admits anyone who has it as that participant: send each to one person."
    )


def _recruiter(study: Study, given: str) -> str:
    """The recruiter whose IDs are signed: the one given if the study accepts it, else the study's own."""
    by = study.file.recruitment.channels
    fit = [name for name in SIGNED if not by or name in by]
    if given in fit or (not given and len(fit) == 1):
        return given or fit[0]
    if given in SIGNED or not fit:
        raise SettingsError(
            f"{study.name} does not accept signed links: its recruitment has `channels: {', '.join(by)}`"
        )
    raise SettingsError(f"--recruiter {given!r}{suggestion(given, fit)}")


def _ids(file: Path) -> list[str]:
    """The IDs in a file; raises SettingsError if there are none, or one that a link cannot have."""
    try:
        lines = read_text(file).split("\n")
    except ProblemError as error:
        raise SettingsError(f"--ids {error}") from None
    found = {number: line.strip() for number, line in enumerate(lines, start=1) if line.strip()}
    wrong = [f"line {number}: {id_!r}" for number, id_ in found.items() if not clean_id(id_)]
    if wrong or not found:
        raise SettingsError(
            f"--ids {file}: needs one ID a line, of up to 128 letters, digits and . _ @ : + = ~ * / -", *wrong[:5]
        )
    return list(dict.fromkeys(map(clean_id, found.values())))


@command("release-places")
def returns(
    study: StudyName,
    export: Annotated[Path, typer.Argument(metavar="FILE", help="Prolific's export of the study, a csv file.")],
) -> None:
    """Submissions that were returned, timed out or rejected no longer count against quotas, so others can start."""
    settings = settings_in_use()
    database = existing_database(settings)
    name = Studies(database).newest(name_of(study)).name
    people = Participants(database, secret_for(settings, database))
    back = [id_ for id_, status in statuses(export).items() if status in OVER]
    sessions = [people.sessions(name, ParticipantId(PROLIFIC, id_)) for id_ in back]
    now_us = SystemClock().now_us()
    with writer(database) as connection, connection.begin():
        released = sum(release(connection, stream, now_us) for streams in sessions for stream in streams)
    out.print(
        f"{len(back):,} submissions were returned, timed out or rejected; {released:,} places are free again. "
        "(The other sessions had ended, or their places were free already.)"
    )
    if strangers := sessions.count([]):
        out.print(f"[yellow]{strangers:,} of these IDs belong to no session of this study.[/yellow]")


@command("withdraw")
def withdraw(
    person: Annotated[
        str, typer.Argument(metavar="ID", help="A recruiter's ID, a session's ID, or an ID in exported data.")
    ],
    study: Annotated[str, typer.Option(metavar="STUDY", help="Only in this study. Default: in all.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Deletes the events and rows of their sessions. A tombstone stays; later exports leave the sessions out."""
    settings = settings_in_use()
    database = existing_database(settings)
    people = Participants(database, secret_for(settings, database))
    found = find_sessions(database, people, person, name_of(study) if study else "")
    if not found:
        raise not_found(person)
    for stream in found:
        if not yes and not typer.confirm(f"Erase session {stream} permanently?"):
            continue
        if act_on(database, partial(Sessions.withdraw, stream=stream)):
            out.print(f"Session {stream} was erased. Files exported earlier still contain it: export again.")
        else:
            out.print(f"Session {stream} had been erased before.")


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


@command("verify")
def verify(study: StudyName, as_json: AsJson = False) -> None:
    """Prints the differences, and exits with 1 if there are any."""
    database = existing_database(settings_in_use())
    name = Studies(database).newest(name_of(study)).name
    with _progress() as bar:
        task = bar.add_task(f"{name}: sessions")
        done = recompute_draws(database, name, lambda number, total: bar.update(task, completed=number, total=total))
    if as_json:
        print_json({"study": name, **asdict(done)})
        raise typer.Exit(1 if done.differences else 0)
    for sentence in done.differences:
        out.print(sentence, markup=False, highlight=False, soft_wrap=True)
    drawn = f"{how_many(done.assignments, 'assignment')} and {how_many(done.draws, 'draw')}"
    counted = f"{drawn} of {how_many(done.sessions, 'session')}"
    if done.differences:
        out.print(f"[red]{how_many(len(done.differences), 'difference')}[/red] in {counted}.")
        raise typer.Exit(1)
    out.print(f"{escape(counted)} match their seeds and events.")

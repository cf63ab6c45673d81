"""The commands that annotate a session: `note` and `exclude`."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.commands import command
from app.cli.common import StudyName, existing_database, name_of, out, settings_in_use
from app.cli.session_actions import act_on
from app.clock import SystemClock
from experiments.session.remarks import Kind
from storage.accounts.roles import TERMINAL
from storage.registers.studies import Studies
from storage.reports.sessions import read_session

Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The session's number in the study.")]


@command("note")
def note(
    study: StudyName,
    number: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The note.")],
) -> None:
    """Participants never see notes."""
    _add(study, number, "noted", text)
    out.print(f"Added a note to session {number}.", highlight=False)


@command("exclude")
def exclude(
    study: StudyName,
    number: Number,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="The reason, which is recorded. Required.")
    ] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Include the session again, for this reason.")] = False,
) -> None:
    """Exports and reports leave out excluded sessions. Their events stay in the log."""
    _add(study, number, "included" if undo else "excluded", reason)
    out.print(f"Session {number} is {'included again' if undo else 'excluded'}.", highlight=False)


def _add(study: str, number: int, kind: Kind, text: str) -> None:
    database = existing_database(settings_in_use())
    found = read_session(database, Studies(database), name_of(study), number, SystemClock().now_us())
    act_on(database, lambda sessions: sessions.remark(found.entry.stream, kind, text, TERMINAL))

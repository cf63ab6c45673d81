"""The commands that say something about a session: `note`, and `exclude` with its undoing."""

from __future__ import annotations

from typing import Annotated

import typer

from app.cli.common import StudyName, app, name_of, out, settings_in_use
from app.cli.session_actions import act_on
from app.clock import WorldClock
from experiments.session.remarks import Kind
from storage.accounts.roles import TERMINAL
from storage.db.engine import open_database
from storage.registers.studies import Studies
from storage.reports.sessions import read

Number = Annotated[int, typer.Argument(metavar="NUMBER", help="The session's number in the study, as in `No. 12`.")]


@app.command()
def note(
    study: StudyName,
    number: Number,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is to be remembered.")],
) -> None:
    """Write a note on a session; participants never see it, and it disturbs nobody."""
    _say(study, number, "noted", text)
    out.print(f"Noted on session {number}.", highlight=False)


@app.command()
def exclude(
    study: StudyName,
    number: Number,
    why: Annotated[str, typer.Option("--reason", help="The reason, which is recorded; it must be given.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Include it again, for this reason.")] = False,
) -> None:
    """Exclude a session from the data, with a reason, or include it again. Its facts stay as they are."""
    _say(study, number, "included" if undo else "excluded", why)
    out.print(f"Session {number} is {'included again' if undo else 'excluded'}.", highlight=False)


def _say(study: str, number: int, kind: Kind, text: str) -> None:
    database = open_database(settings_in_use().database_url)
    found = read(database, Studies(database), name_of(study), number, WorldClock().now_us())
    act_on(database, lambda sessions: sessions.remark(found.entry.stream, kind, text, TERMINAL))

"""`parley session`: notes and exclusions; and how commands act on sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, TypeVar

from app.cli.commands import group
from app.cli.common import StudyName, argument, existing_database, name_of, option
from app.cli.printing import echo
from app.clock import SystemClock
from app.session.service import Sessions
from experiments.session.remarks import Kind
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.reports.sessions import read_session

Result = TypeVar("Result")
Number = Annotated[int, argument("NUMBER", "The session's number in the study.")]

commands = group("session")


@commands.command("note")
def note(study: StudyName, number: Number, text: Annotated[str, argument("TEXT", "The note.")]) -> None:
    """Add a note to a session. Participants never see notes."""
    _add(study, number, "noted", text)


@commands.command("exclude")
def exclude(
    study: StudyName,
    number: Number,
    reason: Annotated[str, option("--reason TEXT", "The reason, which is recorded. Required.")] = "",
) -> None:
    """Exclude a session: exports and reports leave it out. Its events stay in the log."""
    _add(study, number, "excluded", reason)


@commands.command("include")
def include(
    study: StudyName,
    number: Number,
    reason: Annotated[str, option("--reason TEXT", "The reason, which is recorded. Required.")] = "",
) -> None:
    """Include an excluded session again."""
    _add(study, number, "included", reason)


def _add(study: str, number: int, kind: Kind, text: str) -> None:
    database = existing_database()
    found = read_session(database, Studies(database), name_of(study), number, SystemClock().now_us())
    act_on(database, lambda sessions: sessions.remark(found.entry.stream, kind, text, TERMINAL))
    echo(f"Session {number}: {kind}.")


def act_on(database: Database, work: Callable[[Sessions], Coroutine[Any, Any, Result]]) -> Result:
    """Let a command act on the sessions of a database; returns when all is written."""

    async def acting() -> Result:
        sessions = Sessions(database, SystemClock())
        try:
            return await work(sessions)
        finally:
            await sessions.close()

    return asyncio.run(acting())

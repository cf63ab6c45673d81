"""`parley session`: notes, exclusions and the live desk; and how commands act on sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

from app.cli.commands import group
from app.cli.common import StudyName, argument, existing_database, name_of, option, participants
from app.cli.printing import echo
from app.clock import SystemClock
from app.session.service import Sessions
from app.use_cases.sessions import add_remark
from experiments.session.desk import Kind
from storage.accounts.roles import TERMINAL
from storage.db.engine import Database
from storage.registers.studies import Studies
from storage.reports.sessions import find_sessions, not_found, read_session

Result = TypeVar("Result")
Named = Annotated[str, argument("SESSION", "The session's number in the study, or an ID in exported data.")]

commands = group("session")


@commands.command("note")
def note(study: StudyName, session: Named, text: Annotated[str, argument("TEXT", "The note.")]) -> None:
    """Add a note to a session. Participants never see notes."""
    _add(study, session, "noted", text)


@commands.command("exclude")
def exclude(
    study: StudyName,
    session: Named,
    reason: Annotated[str, option("--reason TEXT", "The reason, which is recorded. Required.")] = "",
) -> None:
    """Exclude a session: exports and reports leave it out. Its events stay in the log."""
    _add(study, session, "excluded", reason)


@commands.command("include")
def include(
    study: StudyName,
    session: Named,
    reason: Annotated[str, option("--reason TEXT", "The reason, which is recorded. Required.")] = "",
) -> None:
    """Include an excluded session again."""
    _add(study, session, "included", reason)


@commands.command("answer")
def answer(study: StudyName, session: Named, text: Annotated[str, argument("TEXT", "The answer.")]) -> None:
    """Answer a request for help. Participants see the answer, and not who wrote it."""
    _add(study, session, "helped", text)


@commands.command("give-time")
def give_time(
    study: StudyName, session: Named, minutes: Annotated[str, argument("MINUTES", "Number of minutes.")]
) -> None:
    """Let the time limits of the current screen and of the session end later."""
    _add(study, session, "time_given", minutes)


@commands.command("end")
def end(study: StudyName, session: Named, outcome: Annotated[str, argument("OUTCOME", "Such as complete.")]) -> None:
    """End a session at its current screen, with an outcome of the study: its last page and its code are shown."""
    _add(study, session, "finished", outcome)


def _add(study: str, session: str, kind: Kind, text: str) -> None:
    database, done = existing_database(), set[str]()
    for stream in _streams(database, name_of(study), session):
        work = partial(add_remark, database=database, stream=stream, kind=kind, text=text, who=TERMINAL)
        done |= {*act_on(database, work)} if stream not in done else set()
    echo(f"Session {session}: {kind}." + (f" With all waves: {len(done)} sessions." if len(done) > 1 else ""))


def _streams(database: Database, study: str, session: str) -> tuple[str, ...]:
    """The sessions of an ID, of which a person can have several; raises StorageError if there is none."""
    if session.isdecimal():
        return (read_session(database, Studies(database), study, int(session), SystemClock().now_us()).entry.stream,)
    _, people = participants()  # needs the secret
    found = find_sessions(database, people, session, study)
    if not found:
        raise not_found(session)
    return found


@asynccontextmanager
async def sessions_of(database: Database) -> AsyncIterator[Sessions]:
    """The sessions of a database; ends when all is written."""
    sessions = Sessions(database, SystemClock())
    try:
        yield sessions
    finally:
        await sessions.close()


def act_on(database: Database, work: Callable[[Sessions], Coroutine[Any, Any, Result]]) -> Result:
    """Let a command act on the sessions of a database; returns when all is written."""

    async def acting() -> Result:
        async with sessions_of(database) as sessions:
            return await work(sessions)

    return asyncio.run(acting())

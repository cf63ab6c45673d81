"""Act on sessions and on the people behind them; each act is in the audit log."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

from app.clock import Clock
from app.session.service import Sessions
from experiments.errors import NotPossible
from experiments.events import ASKED
from experiments.session.desk import Kind, unanswered
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.log.erasure import unlink_identities
from storage.log.event_log import load
from storage.log.writer import is_erased
from storage.payments.retention import unpaid_streams
from storage.registers.participants import Participants
from storage.registers.persons import person_of
from storage.registers.studies import Studies
from storage.reports.person import PersonSessions, person_data
from storage.reports.sessions import session_label

DONE: Mapping[Kind, str] = {
    "noted": "added a note to a session",
    "excluded": "excluded a session",
    "included": "included a session again",
    "helped": "answered a request for help",
    "time_given": "gave a session more time",
    "finished": "ended a session",
}


async def add_remark(
    sessions: Sessions, database: Database, stream: str, kind: Kind, text: str, who: str, on: str = ""
) -> tuple[str, ...]:
    """An exclusion is of all waves of a person, and an answer also reaches who has gone on to a later one; returns the
    sessions. `on` is the ground in the audit log. Raises NotPossible, or Refused if the session is withdrawn."""
    person = person_of(database, stream) if kind in ("excluded", "included", "helped") else None
    streams = list(person.streams.values()) if person else []
    if kind == "helped":
        if not any(event.kind == ASKED for one in {stream, *streams} for event in load(database, one)):
            raise NotPossible("nobody asked for help in this session, so no one would see an answer")
        newest = streams[-1:]
        streams = newest if any(unanswered(load(database, one)) for one in {stream, *newest}) else []
    await sessions.remark(stream, kind, text, who)
    others = [other for other in streams if other != stream]
    for other in others:
        with suppress(NotPossible):  # it was before
            await sessions.remark(other, kind, text, who)
    _audit(database, sessions, who, DONE[kind] + on, [stream, *others])
    return stream, *others


async def withdraw(sessions: Sessions, database: Database, streams: Collection[str], who: str) -> list[str]:
    """Erase sessions on their participant's behalf; returns those that were not erased before."""
    with database.connect() as connection:
        there = [stream for stream in streams if not is_erased(connection, stream)]
    for stream in there:  # the first of a person erases their other waves, too
        await sessions.withdraw(stream)
    if there:
        _audit(database, sessions, who, "withdrew a session", there)
    return there


def export_person(
    database: Database, participants: Participants, person: PersonSessions, who: str, clock: Clock
) -> dict[str, Any]:
    """All that is stored of a person, as JSON; raises StorageError if the recruiter's ID cannot be read."""
    data = person_data(database, participants, person, clock.now_us())
    _audit(database, clock, who, "exported a person's data", person.streams)
    return data


def require_paid(database: Database, participants: Participants, person: PersonSessions) -> None:
    """Raise NotPossible while a person's bonus is not paid: without the ID it never can be."""
    names = Studies(database).names()
    waiting = {stream for name in names for stream in unpaid_streams(database, participants, name)}
    if unpaid := sorted(waiting.intersection(person.streams)):
        raise NotPossible(
            f"A bonus for {', '.join(unpaid)} is not paid yet, and without the ID it never can be. Nothing was "
            "deleted. Create the payment files first (parley payments STUDY)."
        )


def delete_recruiter_id(
    database: Database, participants: Participants, person: PersonSessions, who: str, clock: Clock
) -> int:
    """Keep the data; returns the number of sessions that had an ID. Raises NotPossible while a bonus is not paid."""
    require_paid(database, participants, person)
    _audit(database, clock, who, "deleted a recruiter ID", person.streams)
    return unlink_identities(database, person.streams)


def _audit(database: Database, clock: Clock | Sessions, who: str, what: str, streams: Iterable[str]) -> None:
    about = ", ".join(session_label(database, stream) for stream in streams)
    AuditLog(database, clock.now_us).record(who, what, about)

"""A session found by whatever somebody calls it: its own name, a recruiter's id, or the id under which data have it."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from storage import tables
from storage.db.engine import Database
from storage.registers.origins import Origin
from storage.registers.participants import Participants
from storage.schemas.registry import schemas

_session = tables.sessions.c


def sessions_called(database: Database, people: Participants, name: str, study: str = "") -> tuple[str, ...]:
    """The streams of the sessions that are called so, in one study or in any; imported ones are nobody's here."""
    with database.connect() as connection:
        ours = select(_session.stream, _session.study).where(_session.origin != Origin.IMPORT)
        studies = {row.stream: row.study for row in connection.execute(ours)}
        found = dict.fromkeys(_called(connection, people, name, {study} if study else set(studies.values())))
    return tuple(stream for stream in found if stream in studies and study in ("", studies[stream]))


def _called(connection: Connection, people: Participants, name: str, studies: set[str]) -> Iterator[str]:
    yield name
    for study in sorted(studies):
        yield from people.called(study, name)
    for released in (table for schema in schemas().values() for table in schema.tables if table.person):
        own = released.table().c
        column = next(column.sql for column in released.columns if column.name == released.person)
        yield from connection.execute(select(own["_session"]).where(own[column] == name).distinct()).scalars()

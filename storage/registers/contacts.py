"""Addresses for reminders of a study with waves: mail addresses that people gave for it, and ids at Prolific.

Both are sealed, and outside the log and every export. A mail address is a row of `participant_identity` that is no
session's: its stream is MAIL and the person's random id. It goes when the person unsubscribes or withdraws, and with
the recruiter's id (storage/log/erasure.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from secrets import token_hex
from typing import Literal

from sqlalchemy import Connection, delete, insert, select

from experiments.study.sections.reminders import Channel
from storage import tables
from storage.db.engine import Database, writer
from storage.registers.participants import Participants
from storage.registers.persons import Person

MAIL: Literal["mail"] = "mail"
PROLIFIC: Literal["prolific"] = "prolific"
_identity, _session, _later = tables.identities.c, tables.sessions.c, tables.sessions.alias("later").c
# The last session of each person; with it the mail address goes.
LAST_SESSIONS = select(_session.stream).where(
    _session.person.is_not(None),
    ~select(_later.stream).where(_later.person == _session.person, _later.ordinal > _session.ordinal).exists(),
)
ADDRESSED = LAST_SESSIONS.join(tables.identities, _identity.stream == MAIL + _session.person)


class Contacts:
    def __init__(self, database: Database, participants: Participants) -> None:
        self.database, self._participants = database, participants

    def save_address(self, study: str, person: str, address: str) -> None:
        """Store a person's mail address in place of an earlier one."""
        row = {"stream": MAIL + person, "study": study, "recruiter": MAIL, "digest": token_hex(32)}
        with writer(self.database) as connection, connection.begin():
            connection.execute(delete(tables.identities).where(_identity.stream == MAIL + person))
            connection.execute(insert(tables.identities), {**row, "sealed": self._participants.seal(address)})

    def forget_address(self, person: str) -> None:
        with writer(self.database) as connection, connection.begin():
            connection.execute(delete(tables.identities).where(_identity.stream == MAIL + person))

    def reach(self, person: Person, channel: Channel) -> str | None:
        """A person's address or id for a channel, empty if it needs none; None if there is none."""
        if channel == MAIL:
            with self.database.connect() as connection:
                return mail_address(connection, self._participants, person.id)
        if channel == PROLIFIC:
            known = self._participants.reveal(person.first)
            return known.id if known is not None and known.recruiter == PROLIFIC else None
        return ""


def mail_address(connection: Connection, participants: Participants, person: str) -> str | None:
    """The address that a person gave; None without one, or if it was sealed under another secret."""
    sealed = connection.execute(select(_identity.sealed).where(_identity.stream == MAIL + person)).scalar()
    return participants.unseal(sealed) if sealed else None


def reachable(database: Database, study: str) -> Mapping[Channel, frozenset[str]]:
    """The people of a study with a mail address, and with an id at Prolific."""
    mail = select(_identity.stream).where(_identity.study == study, _identity.recruiter == MAIL)
    prolific = select(_session.person).join(tables.identities, _identity.stream == _session.stream)
    prolific = prolific.where(_session.study == study, _identity.recruiter == PROLIFIC, _identity.sealed != b"")
    with database.connect() as connection:
        by_mail = frozenset(stream.removeprefix(MAIL) for stream in connection.execute(mail).scalars())
        return {MAIL: by_mail, PROLIFIC: frozenset(connection.execute(prolific).scalars())}

"""Invitations: a link with which one person makes one account, once and within a day."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from sqlalchemy import ColumnElement, Connection, and_, insert, or_, select, update

from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.accounts.login_sessions import TOKEN_BYTES, digest
from storage.accounts.roles import FIRST, TERMINAL, Role, role_for
from storage.db.engine import Database, writer
from storage.errors import AccountError

LASTS_US = 24 * 3600 * 1_000_000
SPENT = (
    "This link has been used, has expired after 24 hours, or was revoked. Ask the person who sent it for a new one. "
    "On the command line, `parley accounts invite` prints one."
)
_who, _invited = tables.researchers.c, tables.invitations.c
ANYBODY = select(_who.name).exists()
_OWNER = select(_who.name).where(_who.name == _invited.by, _who.role == "owner", _who.removed_us.is_(None)).exists()
_HONOURED = or_(_invited.by == TERMINAL, and_(_invited.by == FIRST, ~ANYBODY), _OWNER)
"""An owner's invitations are worth nothing once that person is no owner, nor the first one's once there is somebody."""


class Invitations:
    def __init__(self, database: Database, clock_us: Callable[[], int], deeds: AuditLog) -> None:
        self._database = database
        self._clock_us = clock_us
        self._deeds = deeds

    def make(self, role: str, by: str) -> str:
        token, known = secrets.token_urlsafe(TOKEN_BYTES), role_for(role)
        row = {"digest": digest(token), "role": known, "by": by, "expires_us": self._clock_us() + LASTS_US}
        with writer(self._database) as connection, connection.begin():
            connection.execute(insert(tables.invitations), [row])
            self._deeds.forward(connection, by, "created an invitation", known)
        return token

    def first(self) -> str | None:
        """An invitation for the first owner, for whoever started Parley; None once there has been an account."""
        with self._database.connect() as connection:
            there = connection.execute(select(ANYBODY)).scalar()
        return None if there else self.make("owner", FIRST)

    def role(self, token: str) -> Role | None:
        """What a token still invites to; None if it was used, is too old or nobody's."""
        with self._database.connect() as connection:
            found = connection.execute(select(_invited.role).where(self._good(token))).scalar()
        return role_for(found) if found else None

    def use(self, connection: Connection, token: str) -> None:
        """Take an invitation, or raise AccountError; it is as it was if the transaction fails."""
        used = update(tables.invitations).where(self._good(token)).values(used_us=self._clock_us())
        if not connection.execute(used).rowcount:
            raise AccountError(SPENT)

    def _good(self, token: str) -> ColumnElement[bool]:
        fresh = and_(_invited.digest == digest(token), _invited.used_us.is_(None))
        return and_(fresh, _invited.expires_us > self._clock_us(), _HONOURED)

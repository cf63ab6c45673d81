"""The accounts of the console, and the invitations to them: a link makes one account, once and within a day. Each
change is one transaction with its entry in the audit log, and owners are counted under a lock: one always stays."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.accounts.login_sessions import TOKEN_BYTES, LoginSessions, digest
from storage.accounts.passwords import Passwords, refuse_weak
from storage.accounts.roles import FIRST, ROLES, STRANGER, TERMINAL, Role, name_for, role_for, role_label
from storage.db.engine import Database, advisory_xact_lock, writer
from storage.errors import AccountError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LASTS_US = 24 * 3600 * 1_000_000
SPENT = (
    "This link has been used, has expired after 24 hours, or was revoked. Ask the person who sent it for a new one. "
    "On the command line, `parley accounts invite` prints one."
)
_who, _invited = tables.researchers.c, tables.invitations.c
ANYBODY = select(_who.name).exists()
_OWNER = select(_who.name).where(_who.name == _invited.by, _who.role == "owner", _who.removed_us.is_(None)).exists()
# An owner's invitations are worth nothing once that person is no owner, nor the first one's once there is somebody.
_HONOURED = or_(_invited.by == TERMINAL, and_(_invited.by == FIRST, ~ANYBODY), _OWNER)


class Invitations:
    def __init__(self, database: Database, clock_us: Callable[[], int], audit_log: AuditLog) -> None:
        self._database = database
        self._clock_us = clock_us
        self._audit_log = audit_log

    def make(self, role: str, by: str) -> str:
        token, known = secrets.token_urlsafe(TOKEN_BYTES), role_for(role)
        row = {"digest": digest(token), "role": known, "by": by, "expires_us": self._clock_us() + LASTS_US}
        with writer(self._database) as connection, connection.begin():
            connection.execute(insert(tables.invitations), [row])
            self._audit_log.forward(connection, by, "created an invitation", known)
        return token

    def first(self) -> str | None:
        """An invitation for the first owner, for the person who started Parley; None once there has been an account."""
        with self._database.connect() as connection:
            there = connection.execute(select(ANYBODY)).scalar()
        return None if there else self.make("owner", FIRST)

    def role(self, token: str) -> Role | None:
        """The role to which a token still invites; None if it was used, is too old or unknown."""
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


ONE_AT_A_TIME = 0xACC0
_login = tables.logins.c


@dataclass(frozen=True, slots=True)
class Account:
    """A user of the console; `seen_us` is None before the first login."""

    name: str
    role: Role
    made_us: int
    seen_us: int | None


class Accounts:
    """The accounts in a database. `by` is always who does it: an account's name, or `TERMINAL`."""

    def __init__(
        self, database: Database, clock_us: Callable[[], int], *, hasher: PasswordHasher | None = None
    ) -> None:
        self._database = database
        self._clock_us = clock_us
        self._passwords = Passwords(hasher)
        self.audit_log = AuditLog(database, clock_us)
        self.logins = LoginSessions(database, clock_us, self._passwords, self.audit_log)
        self.invitations = Invitations(database, clock_us, self.audit_log)

    def everybody(self) -> tuple[Account, ...]:
        """All accounts that there are, owners first."""
        seen = select(func.max(_login.seen_us)).where(_login.researcher == _who.name).scalar_subquery()
        wanted = select(_who.name, _who.role, _who.made_us, seen).where(_who.removed_us.is_(None))
        with self._database.connect() as connection:
            found = [Account(*row) for row in connection.execute(wanted)]
        return tuple(sorted(found, key=lambda account: (ROLES.index(account.role), account.name)))

    def actors(self) -> tuple[str, ...]:
        """Return everybody who can have acted: all who have or had an account, and those without one."""
        with self._database.connect() as connection:
            names = connection.execute(select(_who.name).order_by(_who.name)).scalars().all()
        return (*names, TERMINAL, FIRST, STRANGER)

    def add(self, name: str, password: str, role: str, by: str) -> None:
        row = self._row(name, password, role)
        with writer(self._database) as connection, connection.begin():
            self._make(connection, row, by)

    def accept(self, token: str, name: str, password: str) -> None:
        """Make the account that an invitation is for; where that is refused, the invitation is still good."""
        role = self.invitations.role(token)
        if role is None:
            raise AccountError(SPENT)
        row = self._row(name, password, role)
        with writer(self._database) as connection, connection.begin():
            advisory_xact_lock(connection, ONE_AT_A_TIME)
            self.invitations.use(connection, token)
            self._make(connection, row, row["name"])

    def set_password(self, name: str, password: str, by: str, *, keep: str = "") -> None:
        """Give an account another password, and end its logins but the one that is kept."""
        name = role_label(name)
        refuse_weak(password, name)
        kept = self._passwords.kept(password)
        with writer(self._database) as connection, connection.begin():
            self._change(connection, name, {"password": kept})
            self.logins.end(connection, name, but=keep)
            self.audit_log.forward(connection, by, "changed a password", name)

    def change_password(self, name: str, old: str, new: str, *, keep: str) -> None:
        self.logins.check(name, old)
        self.set_password(name, new, name, keep=keep)

    def change_role(self, name: str, role: str, by: str) -> None:
        name, known = role_label(name), role_for(role)
        with writer(self._database) as connection, connection.begin():
            if known != "owner":
                self._refuse_last(connection, name)
            self._change(connection, name, {"role": known})
            self.audit_log.forward(connection, by, "changed a role", f"{name}: {known}")

    def remove(self, name: str, by: str) -> None:
        """Remove an account at once; its entries in the audit log stay."""
        name = role_label(name)
        with writer(self._database) as connection, connection.begin():
            self._refuse_last(connection, name)
            self._change(connection, name, {"removed_us": self._clock_us()})
            self.logins.end(connection, name)
            self.audit_log.forward(connection, by, "removed an account", name)

    def _row(self, name: str, password: str, role: str) -> dict[str, Any]:
        name, known = name_for(name), role_for(role)
        refuse_weak(password, name)
        return {"name": name, "password": self._passwords.kept(password), "role": known, "made_us": self._clock_us()}

    def _make(self, connection: Connection, row: dict[str, Any], by: str) -> None:
        try:
            connection.execute(insert(tables.researchers), [row])
        except IntegrityError:
            raise AccountError(
                f"There is, or was, an account {row['name']!r}. A name is used only once, because the audit "
                "log refers to it. Choose another name."
            ) from None
        self.audit_log.forward(connection, by, "created an account", f"{row['name']}: {row['role']}")

    def _change(self, connection: Connection, name: str, values: dict[str, Any]) -> None:
        there = and_(_who.name == name, _who.removed_us.is_(None))
        if not connection.execute(update(tables.researchers).where(there).values(values)).rowcount:
            raise AccountError(f"There is no account {name!r}. `parley accounts list` lists the accounts.")

    def _refuse_last(self, connection: Connection, name: str) -> None:
        """Raise AccountError if no owner would be left to invite others."""
        advisory_xact_lock(connection, ONE_AT_A_TIME)
        owners = select(_who.name).where(_who.role == "owner", _who.removed_us.is_(None))
        if connection.execute(owners).scalars().all() == [name]:
            raise AccountError(f"{name} is the only owner, and there must be one. Make another account an owner first.")

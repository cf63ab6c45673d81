"""Logins: a browser holds a random token and the database its digest, so that a login ends here and at once.

Wrong passwords are limited by network, for whatever account: an account has no limit of its own, as strangers would
lock its owner out by it. A password has 10^8 guesses or more (passwords.py), which take one network decades; many
networks together are held by the two checks at once of a server.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import Connection, and_, bindparam, insert, select, update
from sqlalchemy.exc import OperationalError

from storage import tables
from storage.accounts.audit_log import AuditLog
from storage.accounts.passwords import Passwords
from storage.accounts.roles import NAME, STRANGER, Role, role_label
from storage.client_networks import AddressLimiter, GcraLimiter, client_network
from storage.db.engine import Database, writer
from storage.errors import AccountError, LoginRefused, TooMany

log = logging.getLogger(__name__)
IDLE_US = 30 * 60 * 1_000_000
LONGEST_US = 12 * 3600 * 1_000_000
SEEN_EVERY_US = 60 * 1_000_000
TOKEN_BYTES = 32
MINUTE_US = 60 * 1_000_000
# How many wrong passwords a network may try at once, and how long it takes until it has one more.
MOST_TRIES, TRY_EACH_S = 5, 12
LONGEST_TOKEN = 100
# What stands for a name that no account has. No account can be called so, as names have no blanks.
NOBODY = "an unknown name"
WRONG = (
    "The name or the password is wrong. A forgotten one is set anew on the server: parley accounts password NAME. "
    "Ask whoever runs it."
)
_who, _login = tables.researchers.c, tables.logins.c
_LOOK = select(_who.name, _who.role, _login.made_us, _login.seen_us).where(
    _login.digest == bindparam("login"),
    _login.ended_us.is_(None),
    _who.name == _login.researcher,
    _who.removed_us.is_(None),
)


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A user's login; `login` names it among the others and is no token."""

    name: str
    role: Role
    login: str


class LoginSessions:
    def __init__(
        self, database: Database, clock_us: Callable[[], int], passwords: Passwords, audit_log: AuditLog
    ) -> None:
        self._database, self._clock_us, self._passwords, self._audit_log = database, clock_us, passwords, audit_log
        self._tries = AddressLimiter(1 / TRY_EACH_S, MOST_TRIES)
        self._own_tries = GcraLimiter(1 / TRY_EACH_S, MOST_TRIES)
        self._lock = threading.Lock()
        self._told_us: dict[str, int] = {}

    def log_in(self, name: str, password: str, address: str) -> str:
        """A new token for who knows a password; raises LoginRefused, or TooMany where it was tried too often."""
        name, near = role_label(name), client_network(address)
        self._refuse_flood(self._tries, address, name, near)
        kept = self._kept(name)
        if not self._passwords.fits(kept, password) or kept is None:
            # A name that nobody has is not kept: it may be a password, typed into the wrong box.
            self._audit_log.record(STRANGER, "failed to log in", f"as {name if kept else NOBODY}, from {near}")
            raise LoginRefused(WRONG)
        with self._lock:
            self._tries.refund(address)
        return self._begin(name, near, kept, self._passwords.anew(kept, password))

    def check(self, name: str, password: str) -> None:
        """Raise AccountError unless this is the account's present password; tries are counted as for logging in."""
        # only who is logged in comes here: no stranger can use it up
        self._refuse_flood(self._own_tries, name, name, "the console")
        if not self._passwords.fits(self._kept(name), password):
            raise AccountError("That is not your current password, so nothing was changed. Try again.")
        with self._lock:
            self._own_tries.refund(name)

    def visitor(self, token: str) -> LoginSession | None:
        """The login of a token; None if it is unknown, too old, or was not used for too long."""
        if not token or len(token) > LONGEST_TOKEN:
            return None
        login, now_us = digest(token), self._clock_us()
        with self._database.connect() as connection:
            found = connection.execute(_LOOK, {"login": login}).first()
        if found is None or now_us - found.made_us >= LONGEST_US or now_us - found.seen_us >= IDLE_US:
            return None
        if now_us - found.seen_us >= SEEN_EVERY_US:
            self._saw(login, now_us)
        return LoginSession(found.name, found.role, login)

    def log_out(self, token: str) -> None:
        known = and_(_login.digest == digest(token), _login.ended_us.is_(None))
        with writer(self._database) as connection, connection.begin():
            name = connection.execute(select(_login.researcher).where(known)).scalar()
            if name is not None:
                connection.execute(update(tables.logins).where(known).values(ended_us=self._clock_us()))
                self._audit_log.forward(connection, name, "logged out")

    def end(self, connection: Connection, name: str, *, but: str = "") -> None:
        other_logins = and_(_login.researcher == name, _login.ended_us.is_(None), _login.digest != but)
        connection.execute(update(tables.logins).where(other_logins).values(ended_us=self._clock_us()))

    def _kept(self, name: str) -> str | None:
        if not NAME.fullmatch(name):  # nobody's, and maybe nothing that a database can be asked for
            return None
        wanted = select(_who.password).where(_who.name == name, _who.removed_us.is_(None))
        with self._database.connect() as connection:
            return connection.execute(wanted).scalar()

    def _refuse_flood(self, tries: AddressLimiter | GcraLimiter, key: str, name: str, near: str) -> None:
        """Count a try, or raise TooMany. Logged once a minute for each account; an unknown name may be a password."""
        now_us = self._clock_us()
        with self._lock:
            if tries.allow(key, now_us / 1e6):
                return
        account = name if self._kept(name) else NOBODY
        if now_us - self._told_us.get(account, 0) >= MINUTE_US:
            self._told_us[account] = now_us
            log.warning("too many failed logins as %s, the last from %s", account, near)
        raise TooMany(f"Too many attempts. Please try again in {TRY_EACH_S} seconds.", TRY_EACH_S)

    def _begin(self, name: str, near: str, kept: str, anew: str) -> str:
        token, now_us = secrets.token_urlsafe(TOKEN_BYTES), self._clock_us()
        row = {"digest": digest(token), "researcher": name, "made_us": now_us, "seen_us": now_us}
        with writer(self._database) as connection, connection.begin():
            there = and_(_who.name == name, _who.password == kept, _who.removed_us.is_(None))
            if not connection.execute(update(tables.researchers).where(there).values(password=anew)).rowcount:
                raise LoginRefused(WRONG)  # changed or removed while it was checked
            connection.execute(insert(tables.logins), [row])
            self._audit_log.forward(connection, name, "logged in", f"from {near}")
        return token

    def _saw(self, login: str, now_us: int) -> None:
        late = and_(_login.digest == login, _login.seen_us <= now_us - SEEN_EVERY_US)
        try:
            with writer(self._database) as connection, connection.begin():
                connection.execute(update(tables.logins).where(late).values(seen_us=now_us))
        except OperationalError as error:  # a database that is busy for long throws nobody out
            log.warning("failed to record that a login is in use: %s", error.orig)


def digest(token: str) -> str:
    """The stored form of a token, by which it is recognised. It is random, so that one round of SHA-256 hides it."""
    return sha256(token.encode(errors="replace")).hexdigest()

"""Browsers that were logged in before: each keeps a signed cookie for every account that it was logged in to.

The cookie does not log in. Failed logins from such a browser are counted separately, so that a stranger who guesses
passwords cannot lock the account's owner out. A link of `parley accounts unlock` makes a further browser known.
"""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Any

from itsdangerous import BadSignature, TimestampSigner, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from app.clock import Clock
from experiments.errors import suggestion
from storage.accounts.accounts import Accounts
from storage.accounts.roles import NAME, role_label
from storage.errors import AccountError

SECOND_US = 1_000_000


class _Signer(TimestampSigner):
    def __init__(self, *args: Any, clock: Clock, **options: Any) -> None:
        super().__init__(*args, **options)
        self._clock = clock

    def get_timestamp(self) -> int:
        return self._clock.now_us() // SECOND_US


def with_expiry(secret: str, salt: str, clock: Clock) -> URLSafeTimedSerializer:
    """Signs and reads values for one purpose, which the `salt` names."""
    return URLSafeTimedSerializer(secret, salt=salt, signer=_Signer, signer_kwargs={"clock": clock})


KNOWN_S = 365 * 24 * 3600
LINK_S = 24 * 3600
ID_BYTES = 16
PATH = "/known"


class KnownBrowsers:
    """Reads and sets the cookies; `secure` if browsers use https, and the path below which the console is."""

    def __init__(self, secret: str, clock: Clock, cookie: str, *, secure: bool, path: str = "/") -> None:
        self._secret = secret
        self._clock = clock
        self._cookie = cookie
        self._secure, self._cookie_path = secure, path

    def read(self, request: Request, name: str) -> str:
        """The identifier of a browser that was logged in to the account before; empty for any other."""
        if not NAME.fullmatch(role_label(name)):
            return ""
        try:
            signed = request.cookies.get(self._named(name), "")
            return str(self._browser(name).loads(signed, max_age=KNOWN_S))
        except BadSignature:
            return ""

    def write(self, request: Request, response: Response, name: str) -> None:
        browser_id = self.read(request, name) or secrets.token_urlsafe(ID_BYTES)
        response.set_cookie(
            self._named(name),
            str(self._browser(name).dumps(browser_id)),
            max_age=KNOWN_S,
            httponly=True,
            secure=self._secure,
            samesite="strict",
            path=self._cookie_path,
        )

    def _browser(self, name: str) -> URLSafeTimedSerializer:
        return with_expiry(self._secret, f"parley console browser of {role_label(name)}", self._clock)

    def _named(self, name: str) -> str:
        """A cookie for each account, as several people may use a browser; without the account's name."""
        return f"{self._cookie}-known-{sha256(role_label(name).encode()).hexdigest()[:16]}"


def link(secret: str, clock: Clock, name: str) -> str:
    return f"{PATH}/{_links(secret, clock).dumps(role_label(name))}"


def unlock(accounts: Accounts, secret: str, clock: Clock, name: str, by: str) -> str:
    """The path of a login link for an account, once that is in the audit log; raises AccountError if there is none."""
    known = [account.name for account in accounts.everybody()]
    if role_label(name) not in known:
        raise AccountError(f"There is no account {role_label(name)!r}{suggestion(role_label(name), known)}")
    accounts.audit_log.record(by, "created a login link", role_label(name))
    return link(secret, clock, name)


def signed_link(secret: str, clock: Clock, token: str) -> str | None:
    """The account in a link's token; None if the token is invalid or older than a day."""
    try:
        name = str(_links(secret, clock).loads(token, max_age=LINK_S))
    except BadSignature:
        return None
    return name if NAME.fullmatch(name) else None


def _links(secret: str, clock: Clock) -> URLSafeTimedSerializer:
    return with_expiry(secret, "parley console link for a browser", clock)

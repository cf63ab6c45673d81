"""Tickets: signed values in the form of a start page, so that only its button starts a session, and only one."""

from __future__ import annotations

import secrets
from uuid import NAMESPACE_URL, uuid5

from itsdangerous import BadSignature, URLSafeTimedSerializer

LASTS_S = 24 * 3600
"""How long a ticket is valid. After that, the button shows the start page again."""


class Tickets:
    """Creates and verifies tickets with the deployment's secret. No ticket is stored."""

    def __init__(self, secret: str) -> None:
        self._signer = URLSafeTimedSerializer(secret, salt="parley ticket")

    def new(self, study: str, *, with_cookie: bool = False) -> str:
        """A ticket for one session of a study; `with_cookie` says that a cookie was set together with it."""
        return str(self._signer.dumps([study, secrets.token_urlsafe(16), with_cookie]))

    def session(self, ticket: str, study: str) -> str:
        """The stream of the session that a ticket starts, the same each time; empty if the ticket is invalid, expired
        or for another study."""
        named, nonce, _ = self._read(ticket)
        return str(uuid5(NAMESPACE_URL, f"parley:ticket:{nonce}")) if named == study else ""

    def with_cookie(self, ticket: str) -> bool:
        """Whether a cookie was set together with the ticket. A browser that sends the ticket alone keeps no cookies."""
        return self._read(ticket)[2]

    def _read(self, ticket: str) -> tuple[str, str, bool]:
        try:
            study, nonce, with_cookie = self._signer.loads(ticket, max_age=LASTS_S)
        except (BadSignature, ValueError):
            return "", "", False
        return study, nonce, with_cookie

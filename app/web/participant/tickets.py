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

    def new(self, study: str) -> str:
        """A ticket for one session of a study."""
        return str(self._signer.dumps([study, secrets.token_urlsafe(16)]))

    def session(self, ticket: str, study: str) -> str:
        """The stream of the session that a ticket starts, the same each time; empty if the ticket is invalid, expired
        or for another study."""
        try:
            named, nonce = self._signer.loads(ticket, max_age=LASTS_S)
        except (BadSignature, ValueError):
            return ""
        return str(uuid5(NAMESPACE_URL, f"parley:ticket:{nonce}")) if named == study else ""

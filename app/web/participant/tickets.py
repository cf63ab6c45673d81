"""Tickets: only the button of a start page begins a session, and each page's button begins one."""

from __future__ import annotations

import secrets
from uuid import NAMESPACE_URL, uuid5

from itsdangerous import BadSignature, URLSafeTimedSerializer

LASTS_S = 24 * 3600
"""For how long a start page may lie open before its button shows it anew."""


class Tickets:
    """Makes and reads the signed tickets of start pages, under the deployment's secret. None is stored."""

    def __init__(self, secret: str) -> None:
        self._signer = URLSafeTimedSerializer(secret, salt="parley ticket")

    def new(self, study: str) -> str:
        """A ticket for one session of a study."""
        return str(self._signer.dumps([study, secrets.token_urlsafe(16)]))

    def session(self, ticket: str, study: str) -> str:
        """The name of the session that a ticket begins, always the same; empty where it is none of ours for the study,
        or too old."""
        try:
            named, nonce = self._signer.loads(ticket, max_age=LASTS_S)
        except (BadSignature, ValueError):
            return ""
        return str(uuid5(NAMESPACE_URL, f"parley:ticket:{nonce}")) if named == study else ""

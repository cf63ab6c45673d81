"""Who is asking: a signed cookie that names a session, and nothing else.

Under https its name begins with `__Host-`, which browsers tie to this host. The session's name is a random UUID of 122
bits; the signature keeps others from trying.
"""

from __future__ import annotations

from functools import lru_cache

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

MOST_KNOWN = 10_000
"""So many browsers' cookies are not read again: what they say does not change, and checking takes as long as a look."""
MOST_CHARS = 4_096
"""Longer ones are read each time, as whoever sends thousands of them would fill the memory."""
READ = "parley.cookies"
"""Where a request keeps what its cookies were found to say."""


def session_of(request: Request) -> str:
    """The session that a request was found to belong to, for the log."""
    found: dict[str, str | None] = request.scope.get(READ, {})
    return next((stream for stream in found.values() if stream), "none")


class SessionCookie:
    """Signs and reads the participant's cookie."""

    def __init__(self, secret: str, *, secure: bool) -> None:
        self._signer = URLSafeSerializer(secret, salt="parley participant")
        self.secure = secure
        self._known = lru_cache(MOST_KNOWN)(self._checked)
        self.name = "__Host-parley" if secure else "parley"

    def read(self, request: Request, study: str = "") -> str | None:
        """The session that the request belongs to, or the browser's last one in a study; None without our cookie."""
        name = self._named(study)
        read: dict[str, str | None] = request.scope.setdefault(READ, {})  # the gate and the API ask the same
        if name not in read:
            signed = request.cookies.get(name, "")
            read[name] = (self._known if len(signed) <= MOST_CHARS else self._checked)(signed)
        return read[name]

    def _checked(self, signed: str) -> str | None:
        try:
            stream = self._signer.loads(signed)
        except BadSignature:
            return None
        return stream if isinstance(stream, str) else None

    def write(self, response: Response, stream: str, study: str = "") -> None:
        """Let the browser keep the session for a month: as the present one, and as the one in a study if it is said."""
        signed = str(self._signer.dumps(stream))
        for name in dict.fromkeys((self.name, self._named(study))):
            response.set_cookie(
                name,
                signed,
                max_age=30 * 24 * 3600,
                httponly=True,
                secure=self.secure,
                samesite="lax",
                path="/",
            )

    def _named(self, study: str) -> str:
        return f"{self.name}-{study}" if study else self.name

"""Who is asking: a signed cookie that names a session, and nothing else.

Under https its name begins with `__Host-`, which browsers tie to this host. The session's name is a random UUID of 122
bits; the signature keeps others from trying.
"""

from __future__ import annotations

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response


class Cookies:
    """Signs and reads the participant's cookie."""

    def __init__(self, secret: str, *, secure: bool) -> None:
        self._signer = URLSafeSerializer(secret, salt="parley participant")
        self._secure = secure
        self.name = "__Host-parley" if secure else "parley"

    def read(self, request: Request) -> str | None:
        """The session that the request belongs to; None without a cookie of ours."""
        try:
            stream = self._signer.loads(request.cookies.get(self.name, ""))
        except BadSignature:
            return None
        return stream if isinstance(stream, str) else None

    def write(self, response: Response, stream: str) -> None:
        """Let the browser keep the session for a month."""
        response.set_cookie(
            self.name,
            str(self._signer.dumps(stream)),
            max_age=30 * 24 * 3600,
            httponly=True,
            secure=self._secure,
            samesite="lax",
            path="/",
        )

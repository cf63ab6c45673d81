"""The participant's signed cookie, which contains the name of the session and nothing else; and the cookie by which
the start page finds out whether the browser keeps cookies.

Under https the cookie's name starts with `__Host-`, so browsers send it to this host only; with `__Secure-` if Parley
is served below a path. The session's name is a UUID with 122 random bits; the signature prevents guessing.
"""

from __future__ import annotations

from functools import lru_cache

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

from app.web.sub_path import cookie_name

MOST_KNOWN = 10_000
"""The size of the cache of verified cookies. Verification takes as long as a request for a screen."""
MOST_CHARS = 4_096
"""Longer cookies are not cached, because thousands of them would fill the memory."""
READ = "parley.cookies"
"""The key in a request's scope under which the contents of its cookies are cached."""


def session_of(request: Request) -> str:
    """The session of a request whose cookie was read before, for the log."""
    found: dict[str, str | None] = request.scope.get(READ, {})
    return next((stream for stream in found.values() if stream), "none")


class SessionCookie:
    """Signs and reads the participant's cookie: `secure` if browsers use https, and the path below which Parley is."""

    def __init__(self, secret: str, *, secure: bool, path: str = "/") -> None:
        self._signer = URLSafeSerializer(secret, salt="parley participant")
        self.secure = secure
        self._path = path
        self._known = lru_cache(MOST_KNOWN)(self._checked)
        self.name = cookie_name("parley", secure=secure, path=path)
        self._test = f"{self.name}.test"  # no study's name has a dot

    def read(self, request: Request, study: str = "") -> str | None:
        """The session of the request, or with `study` the browser's last session of that study; None without a valid
        cookie."""
        name = self._named(study)
        read: dict[str, str | None] = request.scope.setdefault(READ, {})  # read by the middleware and by the API
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
        """Set the cookies for a month: the browser's current session, and with `study` its session of that study."""
        signed = self.signed(stream)
        for name in dict.fromkeys((self.name, self._named(study))):
            response.set_cookie(
                name,
                signed,
                max_age=30 * 24 * 3600,
                httponly=True,
                secure=self.secure,
                samesite="lax",
                path=self._path,
            )

    def signed(self, stream: str) -> str:
        """The value of a session's cookie."""
        return str(self._signer.dumps(stream))

    def write_test(self, response: Response) -> None:
        """Set a cookie without content, which shows at the next request whether the browser keeps cookies."""
        response.set_cookie(self._test, "1", httponly=True, secure=self.secure, samesite="lax", path=self._path)

    def kept_by(self, request: Request) -> bool:
        """Whether the browser has sent a cookie of Parley's, and so keeps cookies."""
        return any(name.startswith(self.name) for name in request.cookies)

    def _named(self, study: str) -> str:
        return f"{self.name}-{study}" if study else self.name

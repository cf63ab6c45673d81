"""The participant's signed cookie, which contains the name of the session and nothing else; and the cookie by which
the start page finds out whether the browser keeps cookies.

In a page of another site (`embed` in the study file) a browser may keep no cookies for us. So an embedded page has the
signed name of its session as a token, which it sends with every request in a header; the cookie beside it, of another
name, leads back to the session after the page around it was loaded again, and lets pictures load. It is partitioned:
the browser sends it only below the site in whose page it was set. It allows nothing else, so another site that made a
browser send it would gain nothing.

Under https the cookie's name starts with `__Host-`, so browsers send it to this host only; with `__Secure-` if Parley
is served below a path. The session's name is a UUID with 122 random bits; the signature prevents guessing.
"""

from __future__ import annotations

from functools import lru_cache

from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request
from starlette.responses import Response

from app.web.sub_path import cookie_name

# The size of the cache of verified cookies. Verification takes as long as a request for a screen.
MOST_KNOWN = 10_000
# Longer cookies are not cached, because thousands of them would fill the memory.
MOST_CHARS = 4_096
# The key in a request's scope under which the contents of its cookies are cached.
READ = "parley.cookies"
# The header with the token of an embedded page. If there is one, no cookie is read in its place. A page of another
# origin cannot send it: browsers ask the server before, which does not allow it.
TOKEN_HEADER = "x-parley-session"  # noqa: S105  (the name of a header)

# The attribute of CHIPS, which `http.cookies` of Python knows only from 3.14 on.
PARTITIONED = b"; Partitioned"


def is_embedded(request: Request) -> bool:
    """Return True if an embedded page has sent the request, or says so."""
    return TOKEN_HEADER in request.headers


def session_of(request: Request) -> str:
    """The session of a request whose cookie was read before, for the log."""
    found: dict[str, str | None] = request.scope.get(READ, {})
    return next((stream for stream in found.values() if stream), "none")


class SessionCookie:
    def __init__(self, secret: str, *, secure: bool, path: str = "/") -> None:
        self._signer = URLSafeSerializer(secret, salt="parley participant")
        self._framed = URLSafeSerializer(secret, salt="parley participant in a frame")
        self.secure = secure
        self._path = path
        self._known = lru_cache(MOST_KNOWN)(self._checked)
        self.name = cookie_name("parley", secure=secure, path=path)
        self._test = f"{self.name}.test"  # no study's name has a dot

    def read(self, request: Request, study: str = "", *, framed: bool = False) -> str | None:
        """The session; with `study` the last one of that. None without a valid token or cookie. `framed`: in a
        frame."""
        read: dict[str, str | None] = request.scope.setdefault(READ, {})  # read by the middleware and by the API
        name = TOKEN_HEADER if is_embedded(request) else self._named(study, framed)
        if name not in read:
            signed = request.headers[name] if name == TOKEN_HEADER else request.cookies.get(name, "")
            read[name] = self.session(signed, framed=framed or name == TOKEN_HEADER)
        return read[name]

    def read_any(self, request: Request) -> str | None:
        """The session of a request that only loads something: that of `read`, or of the cookie of frames."""
        return self.read(request) or self.read(request, framed=True)

    def sessions(self, request: Request) -> dict[str, str]:
        """The browser's last session of each study, by the study's name; a trial has a name of its own, with a dot."""
        start = f"{self.name}-"
        named = {name.removeprefix(start): one for name, one in request.cookies.items() if name.startswith(start)}
        read = {name: self.session(signed, framed=False) for name, signed in named.items()}
        return {name: stream for name, stream in read.items() if stream}

    def session(self, signed: str, *, framed: bool) -> str | None:
        """The session in a cookie, or in the cookie or token of a frame; None if the signature is not valid."""
        return (self._known if len(signed) <= MOST_CHARS else self._checked)(signed, framed)

    def _checked(self, signed: str, framed: bool) -> str | None:
        try:
            stream = (self._framed if framed else self._signer).loads(signed)
        except BadSignature:
            return None
        return stream if isinstance(stream, str) else None

    def token(self, stream: str) -> str:
        return str(self._framed.dumps(stream))

    def write(self, response: Response, stream: str, study: str = "", *, framed: bool = False) -> None:
        signed = self.token(stream) if framed else self.signed(stream)
        for name in dict.fromkeys((self._named("", framed), self._named(study, framed))):
            response.set_cookie(
                name,
                signed,
                max_age=30 * 24 * 3600,
                httponly=True,
                secure=self.secure or framed,
                samesite="none" if framed else "lax",
                path=self._path,
            )
            if framed:
                name_of_header, value = response.raw_headers.pop()
                response.raw_headers.append((name_of_header, value + PARTITIONED))

    def signed(self, stream: str) -> str:
        return str(self._signer.dumps(stream))

    def write_test(self, response: Response) -> None:
        """Set a cookie without content, which shows at the next request whether the browser keeps cookies."""
        response.set_cookie(self._test, "1", httponly=True, secure=self.secure, samesite="lax", path=self._path)

    def kept_by(self, request: Request) -> bool:
        """Return True if the browser has sent a cookie of Parley's, and so keeps cookies."""
        return any(name.startswith(self.name) for name in request.cookies)

    def _named(self, study: str, framed: bool) -> str:
        name = f"{self.name}.framed" if framed else self.name
        return f"{name}-{study}" if study else name

"""The security middleware in front of all routes of the participants' server.

It has an allow-list of routes (others get 404), limits the size of bodies and the rate of requests, checks the Origin,
and sets the security headers of every response: a content-security policy with a nonce for each page, no-store,
no-referrer. It knows no study and no session. SECURITY.md explains each measure.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import ANOTHER_SITE
from app.i18n.negotiation import from_accept_language
from app.web.frames import FRAMED_BY
from app.web.gradio_page import ASKED, COMPILES, SCRIPT
from app.web.throttled_log import ELSEWHERE, TOO_MANY, ThrottledWarning
from storage.client_networks import AddressLimiter, GcraLimiter

# The largest body of a request, in bytes: a draft twice as long as the longest message, in any script.
MOST_BODY = 192 * 1024
# The largest body by path, for those who have a session: a file has at most 20 MB (`max_mb` of `attach_limits`).
LARGER: Mapping[str, int] = {"/api/picture": 20_000_000}
# So many of those at once, as each is in memory as a whole.
LARGER_AT_ONCE = 8
ALLOWED: Mapping[str, re.Pattern[str]] = {
    "GET": re.compile(
        r"/|/s/[\w-]{1,60}(/(calendar\.ics|reminders))?|/walk/[\w.-]{1,200}|/out|/next|/api/reply|/parley/[\w.-]+|/(picture|attached)/[0-9a-f]{64}|/healthz(/(live|ready))?|/robots\.txt|"
        + ASKED
    ),
    "POST": re.compile(r"/s/[\w-]{1,60}(/reminders)?|/api/(look|act|draft|preview|telemetry|picture)|/hook/prolific"),
}
CSP = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'{more}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'self'; frame-ancestors {framed_by}"
)
# Paths with a separate rate limit per person, so that they do not use up the limit for actions; each with the suffix of
# its key in the limiter.
APART: Mapping[str, str] = {"/": " page", "/api/telemetry": " telemetry"}
FOREVER = "public, max-age=31536000, immutable"
X_FRAME_OPTIONS = b"x-frame-options"
# The headers of every response; they replace those of the application.
HEADERS: Mapping[bytes, bytes] = {
    b"x-content-type-options": b"nosniff",
    X_FRAME_OPTIONS: b"DENY",
    b"referrer-policy": b"no-referrer",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
    b"cross-origin-opener-policy": b"same-origin",
}
PRIVATE = {**HEADERS, b"cache-control": b"no-store"}
# The headers of pages with a form of ours. With `no-referrer` the browser would post the form with Origin: null, which
# could not be checked.
OWN_FORM = {**PRIVATE, b"referrer-policy": b"same-origin"}
_IMMUTABLE = {**HEADERS, b"cache-control": FOREVER.encode()}
# For what only this participant may load: no cache that others share keeps it.
_OWN_IMMUTABLE = {**HEADERS, b"cache-control": b"private, max-age=31536000, immutable"}
# The prefix of CORS headers, which are removed: Gradio adds them for any site that asks.
_SHARING = b"access-control-"


def is_route(path: str) -> bool:
    """Return True if the participants' server has this path, for some method."""
    return any(allowed.fullmatch(path) for allowed in ALLOWED.values())


class SecurityMiddleware:
    """`rate` (requests per second) and `burst` limit one person, whom `known` identifies by a signed cookie: otherwise
    each request of a flood could claim a new identity. One address may have `people` times as much; unidentified
    requests and starts of sessions have a separate limit of that size, so that a flood of them does not block
    participants. A valid value in a header of `exempt` lifts limits of rates. `address` is the public one, and
    `failure_page` answers a start from another origin."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        known: Callable[[Request], str | None],
        exempt: Mapping[str, Callable[[str], bool]],
        failure_page: Callable[[Request], Awaitable[Response]],
        address: str,
        rate: float,
        burst: int,
        people: int,
    ) -> None:
        self._app = app
        self._known = known
        self._exempt = exempt
        self._failure_page = failure_page
        self._address = address
        self._person = GcraLimiter(rate, burst)
        self._strangers = AddressLimiter(people * rate, people * burst)
        self._neighbours = AddressLimiter(people * rate, people * burst)
        self._larger = asyncio.Semaphore(LARGER_AT_ONCE)
        self._elsewhere, self._many = ThrottledWarning(ELSEWHERE), ThrottledWarning(TOO_MANY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            scripts = COMPILES if scope["path"] == "/" else ""
            await self._http(scope, receive, HeaderInjector(scope, send, headers_of, scripts))

    async def _http(self, scope: Scope, receive: Receive, injector: HeaderInjector) -> None:
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, injector)
            return
        if scope["method"] != "POST":
            await self._app(scope, receive, injector)
            return
        async with self._larger if scope["path"] in LARGER else nullcontext():
            body = await whole_body(receive, self._most(scope))
            if body is None:
                await PlainTextResponse("too large", 413)(scope, receive, injector)
            else:
                await self._app(scope, replay_body(body, receive), injector)

    def _most(self, scope: Scope) -> int:
        larger = LARGER.get(scope["path"])
        return larger if larger and self._known(Request(scope)) is not None else MOST_BODY

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        path = scope["path"]
        if method not in ALLOWED or not ALLOWED[method].fullmatch(path) or "/." in path or "//" in path:
            return PlainTextResponse("not found", 404)
        if method == "POST":
            headers = Headers(scope=scope)
            if "origin" in headers and not is_own_origin(scope, headers, self._address):
                self._elsewhere.warn(headers["origin"], f"{scope['scheme']}://{headers.get('host')}")
                return self._from_elsewhere if path.startswith("/s/") else PlainTextResponse(ANOTHER_SITE, 403)
            if int(headers.get("content-length") or 0) > self._most(scope):
                return PlainTextResponse("too large", 413)
        if (path == "/" or path.startswith(("/api/", "/s/", "/walk/", "/hook/"))) and self._floods(scope):
            wait = {"retry-after": "2"}
            say = from_accept_language(Request(scope))
            return JSONResponse({"note": say("There were too many requests. Please wait a moment.")}, 429, wait)
        return None

    async def _from_elsewhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The failure page: most likely it is no attack, but a proxy that does not pass the header Host on."""
        response = await self._failure_page(Request(scope))
        await response(scope, receive, send)

    def _floods(self, scope: Scope) -> bool:
        request, path = Request(scope), scope["path"]
        if any(name in request.headers and valid(request.headers[name]) for name, valid in self._exempt.items()):
            return False
        person = self._known(request) if path == "/" or path.startswith("/api/") else None
        address, now_s = (scope.get("client") or ("unknown",))[0], time.monotonic()
        if person is not None and not self._person.allow(person + APART.get(path, ""), now_s):
            return True
        if (self._strangers if person is None else self._neighbours).allow(address, now_s):
            return False
        self._many.warn()
        return True


def is_own_origin(scope: Scope, headers: Headers, address: str) -> bool:
    """True if the Origin has the server's scheme and host; `address` is the public one. A proxy that ends TLS may not
    report the scheme. Browsers report it, and no page of another site can set their header; nor X-Forwarded-Proto,
    which counts from any proxy."""
    scheme, _, host = headers.get("origin", "").partition("://")
    if host != headers.get("host"):
        return False
    if headers.get("sec-fetch-site") == "same-origin":
        return True
    public = urlsplit(address)
    if public.netloc == host:
        return scheme == public.scheme
    return scheme == headers.get("x-forwarded-proto", scope["scheme"]).partition(",")[0].strip()


class HeaderInjector:
    """Wraps `send`: sets the headers that `protect` returns for the path and the status, and adds the nonce to a page.
    `scripts` are further sources for `script-src` in the page's policy."""

    def __init__(
        self, scope: Scope, send: Send, protect: Callable[[str, int], Mapping[bytes, bytes]], scripts: str = ""
    ) -> None:
        self._scripts = scripts
        self._scope = scope
        self._path = scope["path"]
        self._send = send
        self._protect = protect
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        """Send a message of the response; an HTML body is held back until it is complete."""
        if message["type"] == "http.response.start":
            ours = self._protect(self._path, message["status"])
            kept = [
                (name, value)
                for name, value in message["headers"]
                if name not in ours and name != b"server" and not name.startswith(_SHARING)
            ]
            message["headers"] = [*kept, *ours.items()]
            if self._framed_by():
                message["headers"].remove((X_FRAME_OPTIONS, HEADERS[X_FRAME_OPTIONS]))  # it cannot name an origin
            theirs = dict(kept)
            if theirs.get(b"content-type", b"").startswith(b"text/html") and b"content-disposition" not in theirs:
                self._start = message
                return
        elif self._start is not None:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._send_page(self._start)
            return
        await self._send(message)

    def _framed_by(self) -> Sequence[str]:
        origins: Sequence[str] = self._scope.get(FRAMED_BY, ())
        return origins

    async def _send_page(self, start: Message) -> None:
        nonce = secrets.token_urlsafe(16)
        page = b"".join(self._parts).replace(SCRIPT, SCRIPT + f' nonce="{nonce}"'.encode())
        headers = MutableHeaders(raw=start["headers"])
        if page and "gzip" in Headers(scope=self._scope).get("accept-encoding", ""):
            page = gzip.compress(page)
            headers["content-encoding"] = "gzip"
            headers.add_vary_header("Accept-Encoding")
        framed_by = " ".join(self._framed_by()) or "'none'"
        headers["content-security-policy"] = CSP.format(nonce=nonce, more=self._scripts, framed_by=framed_by)
        if "content-length" in headers and headers["content-length"] != "0" and page:
            headers["content-length"] = str(len(page))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": page})


def headers_of(path: str, status: int) -> Mapping[bytes, bytes]:
    if path.startswith("/s/"):
        return OWN_FORM
    if path.startswith("/assets/") and status == 200:
        return _IMMUTABLE
    if path.startswith("/picture/") and status == 200:
        return _OWN_IMMUTABLE
    return HEADERS if path.startswith(("/parley/", "/static/", "/theme.css", "/favicon.ico")) else PRIVATE


async def whole_body(receive: Receive, most: int) -> bytes | None:
    """The complete body; None if it has more than `most` bytes, empty if the client has disconnected."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the body once and then the messages of the original one."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return first.pop() if first else await receive()

    return given

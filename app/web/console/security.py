"""The security middleware of the console: without a login, only the login pages are available.

It has an allow-list of routes and the security headers of the participants' server, and a stricter rule for requests
that change something: they must come from a page of this host. It stores the CurrentUser in the request's scope.
Responses to requests without a login do not reveal which routes exist.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from app.web.console.current_user import VISITOR, CurrentUser
from app.web.gradio_page import ASKED, COMPILES, EVENTS, RECONNECTS
from app.web.security import HEADERS, HeaderInjector, is_own_origin, replay_body, whole_body
from app.web.throttled_log import ELSEWHERE, ThrottledWarning
from problems.pictures import MOST_BYTES

MOST_BODY = 1024 * 1024
# Bytes of a file of a release.
MOST_RELEASED = 100_000_000
LARGER: Mapping[str, int] = {"/console/picture": MOST_BYTES, "/console/release": MOST_RELEASED}
OPEN: Mapping[str, re.Pattern[str]] = {
    "GET": re.compile(r"/login|/welcome/[\w-]{1,100}|/healthz"),
    "POST": re.compile(r"/login|/welcome/[\w-]{1,100}"),
}
KNOWN: Mapping[str, re.Pattern[str]] = {
    "GET": re.compile(
        r"/|/(console|parley)/[\w.-]+|/(picture|attached)/[0-9a-f]{64}|/(download|report)/[\w./=~-]{1,500}|"
        + f"{RECONNECTS}|{ASKED}"
    ),
    "POST": re.compile("/logout|/console/(picture|release)|" + EVENTS),
}
FOREVER = b"private, max-age=31536000, immutable"


class ConsoleSecurity:
    """ASGI middleware; `visitor` returns the user of a request, None without a login. `address` is the public one."""

    def __init__(self, app: ASGIApp, visitor: Callable[[Request], CurrentUser | None], address: str) -> None:
        self._app = app
        self._address = address
        self._visitor = visitor
        self._elsewhere = ThrottledWarning(ELSEWHERE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            scripts = COMPILES if scope["path"] == "/" else ""
            await self._http({**scope, VISITOR: None}, receive, HeaderInjector(scope, send, _protect, scripts))

    async def _http(self, scope: Scope, receive: Receive, injector: HeaderInjector) -> None:
        refusal = await self._refusal(scope, Headers(scope=scope))
        if refusal is not None:
            await refusal(scope, receive, injector)
            return
        if scope["method"] == "POST":
            body = await whole_body(receive, LARGER.get(scope["path"], MOST_BODY))
            if body is None:
                await PlainTextResponse("too large", 413)(scope, receive, injector)
                return
            receive = replay_body(body, receive)
        await self._app(scope, receive, injector)

    async def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        if scope["method"] == "POST" and not _from_here(scope, headers, self._address):
            self._elsewhere.warn(headers.get("origin"), f"{scope['scheme']}://{headers.get('host')}")
            return JSONResponse(
                {"note": "Requests from other sites are not accepted. Open the console and try again there."}, 403
            )
        if not _listed(OPEN, scope):
            request = Request(scope)
            scope[VISITOR] = await asyncio.to_thread(self._visitor, request)
            if scope[VISITOR] is None:
                return _to_login(scope, headers)
            if not _listed(KNOWN, scope):
                return PlainTextResponse("not found", 404)
        if int(headers.get("content-length") or 0) > LARGER.get(scope["path"], MOST_BODY):
            return PlainTextResponse("too large", 413)
        return None


def is_route(path: str) -> bool:
    return any(allowed.fullmatch(path) for allowed in (*OPEN.values(), *KNOWN.values()))


def _listed(allowed: Mapping[str, re.Pattern[str]], scope: Scope) -> bool:
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    path = scope["path"]
    return method in allowed and bool(allowed[method].fullmatch(path)) and "/." not in path and "//" not in path


def _from_here(scope: Scope, headers: Headers, address: str) -> bool:
    """True if a page of this host sent the request: by Origin, or by Sec-Fetch-Site if the browser hides the Origin."""
    if headers.get("origin", "null") == "null":
        return headers.get("sec-fetch-site") == "same-origin"
    return is_own_origin(scope, headers, address)


def _to_login(scope: Scope, headers: Headers) -> ASGIApp:
    """The response without a login: a redirect to the login for pages, else a refusal that is equal for all routes."""
    looks = scope["method"] in ("GET", "HEAD") and "text/html" in headers.get("accept", "")
    if looks or scope["path"] in ("/", "/logout"):
        query = scope["query_string"].decode("latin-1") if scope["path"] == "/" else ""
        return RedirectResponse(f"/login?{query}".rstrip("?"), 303)
    return JSONResponse({"note": "Please log in.", "login": "/login"}, 401)


def _protect(path: str, status: int) -> Mapping[bytes, bytes]:
    ours = dict(HEADERS)
    if path.startswith(("/login", "/welcome/")):
        # With `no-referrer`, a page's form would be posted with Origin: null; pages with forms use `same-origin`.
        ours[b"referrer-policy"] = b"same-origin"
    if path.startswith(("/assets/", "/picture/")) and status == 200:
        ours[b"cache-control"] = FOREVER
    elif not path.startswith(("/console/", "/static/", "/theme.css", "/favicon.ico")) or status != 200:
        ours[b"cache-control"] = b"no-store"
    return ours

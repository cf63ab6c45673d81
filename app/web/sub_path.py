"""Serving below a path of a host name, as at `https://lab.example.org/study/`.

The path is that of PARLEY_PUBLIC_URL, or of PARLEY_CONSOLE_URL. Pages and scripts of Parley refer to each other by
relative addresses, so nothing else knows the path but the cookies and Gradio's page.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCATION = b"location"


class SubPath:
    """A middleware around a server that knows only its own paths. A proxy may leave the `prefix` (such as `/study`) in
    the path of a request: it is removed if what remains is a path of the server's, for which `is_route` is true, as a
    prefix may be the beginning of such a path. Redirects to a path get the prefix."""

    def __init__(self, app: ASGIApp, prefix: str, is_route: Callable[[str], bool]) -> None:
        self._app = app
        self._prefix = prefix
        self._is_route = is_route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, rest = scope["path"], scope["path"].removeprefix(self._prefix)
        if not rest and not self._is_route(path):
            query = scope["query_string"].decode("latin-1")
            await RedirectResponse(f"{self._prefix}/?{query}".rstrip("?"), 308)(scope, receive, send)
            return
        if rest.startswith("/") and self._is_route(rest):
            raw = scope.get("raw_path", path.encode()).removeprefix(self._prefix.encode())
            scope = {**scope, "path": rest, "raw_path": raw}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name, self._outside(value) if name == LOCATION else value) for name, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, answer)

    def _outside(self, location: bytes) -> bytes:
        same_host = location.startswith(b"/") and not location.startswith(b"//")
        return self._prefix.encode() + location if same_host else location


def cookie_name(name: str, *, secure: bool, path: str) -> str:
    """A name with a prefix of RFC 6265bis: `__Host-` if https and the path is `/`, `__Secure-` if only https."""
    if not secure:
        return name
    return f"__Host-{name}" if path == "/" else f"__Secure-{name}"

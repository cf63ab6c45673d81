"""One kept-alive connection to a server, as thin as it can be: what is measured shares a machine with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httptools

PATIENCE_S = 60.0


class Wire(asyncio.Protocol):
    """Asks one thing after another; a connection that was closed in between is opened anew."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._heard: Callable[[bytes], None] = lambda piece: None
        self._parts: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)
        self.cookies: dict[str, str] = {}

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        status: int = 200,
        heard: Callable[[bytes], None] = lambda piece: None,
    ) -> bytes:
        """Send a request and wait for the whole answer, which must have this status; `heard` gets each piece of it."""
        loop = asyncio.get_running_loop()
        if self._transport is None or self._transport.is_closing():
            await loop.create_connection(lambda: self, "127.0.0.1", self._port)
        assert self._transport is not None
        head = [f"{method} {path} HTTP/1.1", f"host: 127.0.0.1:{self._port}", "accept-encoding: identity"]
        head += ["cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items())] * bool(self.cookies)
        kind = "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"
        head += [f"content-type: {kind}", f"content-length: {len(body)}"] if body is not None else []
        self._answer, self._heard = loop.create_future(), heard
        self._transport.write("\r\n".join((*head, "\r\n")).encode() + (body or b""))
        async with asyncio.timeout(PATIENCE_S):
            told = await self._answer
        if (found := self._parser.get_status_code()) != status:
            raise RuntimeError(f"answered {found}, not {status}: {told[:200].decode(errors='replace')}")
        return told

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._parser = httptools.HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the server has closed the connection"))

    def on_message_begin(self) -> None:
        self._parts = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"set-cookie":
            kept, _, told = value.decode("latin-1").partition(";")[0].partition("=")
            self.cookies[kept] = told

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        self._heard(body)

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(b"".join(self._parts))

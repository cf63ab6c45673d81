"""One kept-alive connection to a server, as thin as it can be: what is measured shares a machine with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import httptools

Heard = Callable[[bytes], None]
PATIENCE_S = 60.0


@dataclass(slots=True)
class Reply:
    """What was answered."""

    status: int = 0
    body: bytes = b""
    location: str = ""


class Wire(asyncio.Protocol):
    """Asks one thing after another; a connection that was closed in between is opened anew."""

    def __init__(self, host: str, port: int) -> None:
        self._at = (host, port)
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Reply] | None = None
        self._heard: Heard | None = None
        self._reply = Reply()
        self._parts: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)
        self.cookies: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._transport is not None:
            self._transport.close()

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        heard: Heard | None = None,
        *,
        kind: str = "application/json",
    ) -> Reply:
        """Send a request and wait for the whole answer; `heard` gets each piece of it as it comes."""
        if self._transport is None or self._transport.is_closing():
            await asyncio.get_running_loop().create_connection(lambda: self, *self._at)
        head = [f"{method} {path} HTTP/1.1", f"host: {self._at[0]}:{self._at[1]}", "accept-encoding: identity"]
        if self.cookies:
            head.append("cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        if body is not None:
            head += [f"content-type: {kind}", f"content-length: {len(body)}"]
        self._answer, self._heard = asyncio.get_running_loop().create_future(), heard
        assert self._transport is not None
        self._transport.write("\r\n".join((*head, "\r\n")).encode() + (body or b""))
        async with asyncio.timeout(PATIENCE_S):
            reply = await self._answer
        return reply

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
        self._reply, self._parts = Reply(), []

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"set-cookie":
            kept, _, told = value.decode("latin-1").partition(";")[0].partition("=")
            self.cookies[kept] = told
        elif name.lower() == b"location":
            self._reply.location = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._reply.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)
        if self._heard is not None:
            self._heard(body)

    def on_message_complete(self) -> None:
        self._reply.body = b"".join(self._parts)
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(self._reply)

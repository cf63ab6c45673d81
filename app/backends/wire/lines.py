"""Connections to one model server for whole answers, each for one call at a time: what a batch asks by.

aiohttp takes half of the time of a call that Parley does not need (docs/decisions/0003); this knows one method, one
server, answers in one piece, and no proxy. Nothing is asked twice: a connection that the server closed in the moment
in which it was used again is a connection that broke. Whoever leaves early closes the connection, so that no answer is
taken for that to another question.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Mapping

from aiohappyeyeballs import start_connection
from yarl import URL

from app.backends.wire.answers import Answer, Answers, BadBody, Unreadable
from app.backends.wire.errors import broken, late, unpackable, unreachable
from app.servers import Server

KEPT_S = 4.0
"""How long a connection is kept that nobody uses: servers close it after 5 s (uvicorn, node) or later."""
SECOND_ADDRESS_S = 0.25
"""How long the first address of a server is tried before the next is tried beside it."""
CLOSED = "the server closed it before its answer was whole"
FRAMING = ("host", "connection", "content-length", "transfer-encoding")


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self) -> None:
        self._answers = Answers()
        self._waiting: asyncio.Future[Answer] | None = None
        self._transport: asyncio.Transport
        self.closed = False
        self.used_s = 0.0
        """When it was last used."""

    async def ask(self, request: bytes) -> Answer:
        """Send a request, give its answer; raises OSError, Unreadable or BadBody."""
        if self.closed:
            raise ConnectionResetError(CLOSED)
        self._answers.expect()
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._waiting
        finally:
            self._waiting = None

    @property
    def free(self) -> bool:
        """Whether it can be used again."""
        return not self.closed and self._answers.over and self._answers.clean

    def close(self) -> None:
        """Let go of it, whatever is on its way."""
        self.closed = True
        self._transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It is open."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Bytes of the answer; of nothing, if nobody asked."""
        try:
            self._answers.feed(data)
        except (Unreadable, BadBody) as error:
            self._tell(error)
        else:
            if self._answers.over:
                self._tell()

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed, which may be how the answer ends."""
        self.closed = True
        try:
            ended = error is None and self._answers.end()
        except BadBody as bad:
            self._tell(bad)
        else:
            self._tell(None if ended else error or ConnectionResetError(CLOSED))

    def _tell(self, error: Exception | None = None) -> None:
        waiting = self._waiting
        if waiting is None or waiting.done():
            return
        if error is None:
            waiting.set_result(self._answers.answer)
        else:
            waiting.set_exception(error)


class Lines:
    """All connections to a server; they belong to the event loop that asks first."""

    def __init__(self, server: Server, tls: ssl.SSLContext | None, connect_timeout_s: float) -> None:
        self._server, self._tls, self._connect_timeout_s = server, tls, connect_timeout_s
        self._free: deque[Line] = deque()

    async def ask(self, request: bytes) -> Answer:
        """Send a request and give its answer; raises BackendUnavailable or BackendBroken."""
        line = self._kept() or await self._connected()
        try:
            return await line.ask(request)
        except (OSError, Unreadable) as error:
            raise broken(self._server, error) from None
        except BadBody as error:
            raise unpackable(self._server, error) from None
        finally:
            if line.free:
                line.used_s = asyncio.get_running_loop().time()
                self._free.append(line)
            else:
                line.close()

    def close(self) -> None:
        """Close those that are kept; the others are closed by those who use them."""
        while self._free:
            self._free.pop().close()

    def _kept(self) -> Line | None:
        """The connection that was used last, as the server has kept it most likely; those too old are closed."""
        oldest_s = asyncio.get_running_loop().time() - KEPT_S
        while self._free and (self._free[0].closed or self._free[0].used_s < oldest_s):
            self._free.popleft().close()
        while self._free:
            line = self._free.pop()
            if line.free:
                return line
            line.close()
        return None

    async def _connected(self) -> Line:
        """A new connection."""
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                return await self._connect()
        except TimeoutError:
            raise late(self._server, "timeout_connect") from None
        except OSError as error:
            raise unreachable(self._server, error) from None

    async def _connect(self) -> Line:
        loop, url = asyncio.get_running_loop(), URL(self._server.url)
        host, port = url.raw_host or "", url.port or 0
        places = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        opened = await start_connection(places, happy_eyeballs_delay=SECOND_ADDRESS_S, loop=loop)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        name = host if self._tls else None
        _, line = await loop.create_connection(Line, sock=opened, ssl=self._tls, server_hostname=name)
        return line


def head(url: URL, headers: Mapping[str, str]) -> bytes:
    """A request up to the length of its body, which follows with two ends of lines; raises ValueError."""
    given = {name.lower(): value for name, value in headers.items()}
    own = {"host": given.get("host", url.host_port_subcomponent or "")}
    lines = [f"{name}: {value}" for name, value in (own | given).items() if name in own or name not in FRAMING]
    for line in lines:
        if not line.isprintable():
            raise ValueError("a header holds what cannot be sent")
    return "\r\n".join([f"POST {url.raw_path_qs} HTTP/1.1", *lines, "content-length: "]).encode("latin-1")

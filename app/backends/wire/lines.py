"""Connections to one model server, each for one call at a time: an answer is asked for whole, or read as it comes.

aiohttp takes most of the time of a call, and of a piece of a reply, that Parley does not need (docs/decisions/0003);
this knows one method, one server, and no proxy. Nothing is asked twice: a connection that the server closed in the
moment in which it was used again is a connection that broke. Whoever leaves early closes the connection, so that no
answer is taken for that to another question.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiohappyeyeballs import start_connection
from yarl import URL

from app.backends.wire.answers import MULTIPLE_CHOICES, Answer, Answers, BadBody, Coming, Unreadable
from app.backends.wire.errors import broken, late, refused, unpackable, unreachable
from app.backends.wire.rests import Rests
from app.errors import BackendError
from app.pause import Pause
from app.servers import Server

KEPT_S = 4.0
"""How long a connection is kept that nobody uses: servers close it after 5 s (uvicorn, node) or later."""
SECOND_ADDRESS_S = 0.25
"""How long the first address of a server is tried before the next is tried beside it."""
CLOSED = "the server closed it before its answer was whole"
BREAKS = (OSError, Unreadable, BadBody)
"""What a connection raises."""
FRAMING = ("host", "connection", "content-length", "transfer-encoding")


class Line(asyncio.Protocol):
    """One connection. What is asked is waited for whole by `ask`, or begun and read as it comes by `more`."""

    def __init__(self, rests: Rests) -> None:
        self._rests, self._rest_s = rests, 0.0
        self._answers = Answers()
        self._waiting: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._transport: asyncio.Transport
        self.closed = False
        self.used_s = 0.0
        """When it was last used."""
        self.pause = Pause()
        """In which more of an answer gathers; over when it is whole, or broken."""
        self._in_pieces = False

    async def ask(self, request: bytes) -> Answer:
        """Send a request, give its answer; raises OSError, Unreadable or BadBody."""
        self._send(request)
        await self._news()
        if self._error is not None:
            raise self._error
        return self._answers.answer

    async def begin(self, request: bytes) -> Answer | None:
        """Send a request; give its answer where that is a refusal, or else nothing, as it is to be read by `more`."""
        self._send(request, in_pieces=True)
        await self._news()
        answer = self._answers.answer if self._answers.over else None
        return answer if answer and answer.status >= MULTIPLE_CHOICES else None

    async def more(self) -> bytes:
        """The next bytes of an answer; none once it is over. Raises OSError, Unreadable or BadBody."""
        if not self._answers.comes and not self._answers.over and self._error is None:
            await self._news()
        if not self._answers.comes and self._error is not None:
            raise self._error
        return self._answers.take()

    def rest(self, seconds: float) -> None:
        """Read what comes of this answer only so often; 0 is at once, as it was before."""
        self._rest_s = seconds
        if not seconds and not self.closed:
            self._transport.resume_reading()

    def _send(self, request: bytes, *, in_pieces: bool = False) -> None:
        if self.closed:
            raise ConnectionResetError(CLOSED)
        self._answers.expect()
        self._rest_s = 0.0
        self._error, self._in_pieces, self.pause = None, in_pieces, Pause()
        self._transport.write(request)

    async def _news(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
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
            if self._answers.over or (self._in_pieces and self._answers.comes):
                self._tell()
            if self._rest_s and not self._answers.over:
                self._rests.rest(self._transport, self._rest_s)

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed, which may be how the answer ends."""
        self.closed = True
        if self._answers.over:
            return
        try:
            ended = error is None and self._answers.end()
        except BadBody as bad:
            self._tell(bad)
        else:
            self._tell(None if ended else error or ConnectionResetError(CLOSED))

    def _tell(self, error: Exception | None = None) -> None:
        self._error = self._error or error
        if self._error is not None or self._answers.over:
            self.pause.end()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class Lines:
    """All connections to a server; they belong to the event loop that asks first."""

    def __init__(self, server: Server, tls: ssl.SSLContext | None, connect_timeout_s: float) -> None:
        self._server, self._tls, self._connect_timeout_s = server, tls, connect_timeout_s
        self._free: deque[Line] = deque()
        self._rests = Rests()

    async def ask(self, request: bytes) -> Answer:
        """Send a request and give its answer; raises BackendUnavailable or BackendBroken."""
        line = await self._line()
        try:
            return await line.ask(request)
        except BREAKS as error:
            raise self._told(error) from None
        finally:
            self._leave(line)

    @asynccontextmanager
    async def open(self, request: bytes) -> AsyncIterator[Coming]:
        """Send a request and give its answer as it comes; raises a BackendError, as a refusal is."""
        line = await self._line()
        try:
            refusal = await line.begin(request)
            if refusal is not None:
                raise refused(*refusal)
            yield Coming(line.more, line.pause, line.rest)
        except BREAKS as error:
            raise self._told(error) from None
        finally:
            self._leave(line)

    async def _line(self) -> Line:
        """A connection for one call."""
        return self._kept() or await self._connected()

    def _leave(self, line: Line) -> None:
        """Keep a connection after its call, or close it, if it can bear no other."""
        if line.free:
            line.used_s = asyncio.get_running_loop().time()
            self._free.append(line)
        else:
            line.close()

    def _told(self, error: OSError | Unreadable | BadBody) -> BackendError:
        """What breaks on a connection, in our words."""
        return (unpackable if isinstance(error, BadBody) else broken)(self._server, error)

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
        _, line = await loop.create_connection(
            lambda: Line(self._rests), sock=opened, ssl=self._tls, server_hostname=name
        )
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

"""uvicorn as all servers of Parley use it, and what it has no setting for: a client that is slow, or sends without end.

uvicorn bounds a request's header where h11 reads it, and what is written and not read. It waits for ever for a request
that does not come whole, keeps whatever is sent behind one, and takes as many connections as there are files.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.config.settings import Settings
from storage.accounts.login_throttle import neighbourhood

log = logging.getLogger(__name__)

WHOLE_S = 30.0
"""For how long a request may be on its way."""
UNREAD_S = 60.0
"""For how long a client may leave unread what was sent to it."""
MOST, OF_ONE = 4_000, 1_000
"""Connections, and those of one address: a class of 60 whose browsers open six each are 360."""
SPARE = 200
"""Files that are not for connections: the database's, the model servers', the log."""
HEADER_BYTES = 16 * 1024
MOST_HEADERS = 100
AHEAD_BYTES = 128 * 1024
"""How much may come behind a request before it is answered."""
WRITTEN_BYTES = 16 * 1024
"""How much is kept of what a client does not read, beside the piece that is being sent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes: `most` connections, so many of one `address`, each request whole within `whole_s`, each
    answer read within `unread_s`."""

    most: int
    address: int | None
    whole_s: float = WHOLE_S
    unread_s: float = UNREAD_S


def limits(*, proxied: bool) -> Limits:
    """As many as the system gives; of one address a part, unless everybody comes from that of a proxy."""
    most = max(SPARE, min(MOST, (_files() - SPARE) // 2))  # a file that is sent is open as well
    return Limits(most, None if proxied else min(OF_ONE, most // 2))


def _files() -> int:
    """How many files this process may open, once it asks for as many as it may."""
    wanted = 2 * MOST + SPARE
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def made(server: ASGIApp, settings: Settings, port: int, within: Limits | None = None) -> uvicorn.Server:
    """uvicorn as all servers of Parley use it, `within` these limits or as many as the system gives."""
    found = within or limits(proxied=bool(settings.trusted_proxies))
    held: Counter[str] = Counter()

    class Bounded(Connection):
        """What uvicorn makes for each connection."""

        def __init__(self, **known: Any) -> None:
            super().__init__(H11Protocol(**known), found, held)

    config = uvicorn.Config(
        Whole(server),
        host=settings.host,
        port=port,
        http=Bounded,
        ws="none",
        log_config=None,  # as everything else is logged
        log_level=settings.log_level.lower(),
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        limit_concurrency=found.most,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=3,
    )
    return uvicorn.Server(config)


class Connection(asyncio.Protocol):
    """A connection that `http` serves, within limits. `held` counts those of each address."""

    def __init__(self, http: asyncio.Protocol, limits: Limits, held: Counter[str]) -> None:
        self._http, self._limits, self._held = http, limits, held
        self._taken = False
        self._late: asyncio.TimerHandle | None = None
        """Fires where a request is not whole in time."""
        self._ahead: int | None = None
        """How many bytes have come behind the request that is being answered; None while none is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, or close it at once."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._address = neighbourhood(peer[0]) if peer else ""
        self._held[self._address] += 1
        if self._limits.address is not None and self._held[self._address] > self._limits.address:
            log.warning("one address holds %d connections; no more are taken from there", self._limits.address)
            transport.abort()
            return
        self._taken = True
        transport.set_write_buffer_limits(high=WRITTEN_BYTES)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux closes it where nothing is read for so long
            unread_ms = round(self._limits.unread_s * 1000)
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread_ms)
        self._http.connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.whole()
        self._held[self._address] -= 1
        if not self._held[self._address]:
            del self._held[self._address]
        if self._taken:
            self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand it on in pieces, so that none is larger than a header may be."""
        if self._ahead is not None:
            self._ahead += len(data)
            if self._ahead > AHEAD_BYTES:
                self._transport.abort()
        elif self._late is None:
            self._wait()
        before = _served.set(self)
        for begin in range(0, len(data), HEADER_BYTES):
            if not self._transport.is_closing():
                self._http.data_received(data[begin : begin + HEADER_BYTES])
        _served.reset(before)

    def eof_received(self) -> bool | None:
        """Nothing more comes."""
        return self._http.eof_received()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is sent to."""
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """It reads on."""
        self._http.resume_writing()

    def whole(self) -> None:
        """A request is there, all of it."""
        self._ahead = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def answered(self) -> None:
        """It has its answer."""
        self._ahead = None

    def _wait(self) -> None:
        self._late = asyncio.get_running_loop().call_later(self._limits.whole_s, self._transport.abort)


_served: ContextVar[Connection] = ContextVar("_served")
"""The connection on which the request came that is being answered."""


class Whole:
    """An application before another: tells a connection when a request is whole, and refuses too many headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if len(scope["headers"]) > MOST_HEADERS:
            await PlainTextResponse("too many headers", 431, {"connection": "close"})(scope, receive, send)
            return
        connection = _served.get()

        async def received() -> Message:
            message = await receive()
            if not message.get("more_body"):
                connection.whole()
            return message

        if not any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]):
            connection.whole()  # it has no body
        try:
            await self._app(scope, received, send)
        finally:
            connection.answered()

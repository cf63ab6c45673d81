"""How many connections a server holds, and for how long it waits for a request that does not come whole.

uvicorn waits for ever for a request whose header never ends or whose body drips, and takes as many connections as the
system gives it files. One machine could so hold all there are.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass
from importlib.metadata import version
from socket import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from app.settings import Settings
from storage.accounts.tries import neighbourhood

log = logging.getLogger(__name__)

WHOLE_S = 30.0
"""For how long a request may be on its way."""
MOST = 10_000
SPARE = 200
"""Files that are not for connections: the database's, the model servers', the log."""
TICKS = 10
"""uvicorn ticks ten times a second."""
TAKEN = 16
"""So many new connections are taken in a turn of the event loop. libuv takes one for each socket that listens, so that
with 2,000 at once, where turns are long, who came or came back waited 10 s before anything was asked."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server takes: `most` connections, so many of one `address`, each request whole within `whole_s`."""

    most: int
    address: int | None
    whole_s: float = WHOLE_S


def limits(*, proxied: bool) -> Limits:
    """As many as the system gives; of one address half of them, unless everybody comes from that of a proxy."""
    most = max(SPARE, min(MOST, _files() - SPARE))
    return Limits(most, None if proxied else most // 2)


def _files() -> int:
    """How many files this process may open, once it asks for as many as it may."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST + SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + SPARE if hard == resource.RLIM_INFINITY else min(MOST + SPARE, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MOST + SPARE
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def made(server: ASGIApp, settings: Settings, port: int, within: Limits | None = None) -> Server:
    """uvicorn as all servers of Parley use it, `within` these limits or as many as the system gives."""
    config = uvicorn.Config(
        server,
        host=settings.host,
        port=port,
        log_config=None,  # as everything else is logged
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=3,
    )
    return Server(config, within or limits(proxied=bool(settings.trusted_proxies)))


class Server(uvicorn.Server):
    """uvicorn that closes connections of which it holds too many, and those whose request does not come whole."""

    def __init__(self, config: uvicorn.Config, limits: Limits) -> None:
        super().__init__(config)
        config.load()
        config.limit_concurrency = limits.most
        config.http_protocol_class = _bounded(config.http_protocol_class, limits)
        self._whole_s = limits.whole_s

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            await self._listen_more()
            log.info("Parley %s listens on %s:%d", version("parley"), self.config.host, self.config.port)

    async def _listen_more(self) -> None:
        """Let more sockets listen where one does; on Windows there is no libuv, and none is needed."""
        if sys.platform == "win32":
            return
        config, loop = self.config, asyncio.get_running_loop()

        def protocol() -> asyncio.Protocol:
            state = {"server_state": self.server_state, "app_state": self.lifespan.state}
            return config.http_protocol_class(config=config, **state)  # type: ignore[call-arg]

        for listening in [one for server in self.servers for one in server.sockets]:
            for _ in range(TAKEN - 1):
                more = socket(fileno=os.dup(listening.fileno()))
                self.servers.append(await loop.create_server(protocol, sock=more, backlog=config.backlog))

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Answer what has come, take no more, and end."""
        log.info("stopping")
        await super().shutdown(sockets)
        log.info("stopped")

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections once a second."""
        if counter % TICKS == 0:
            now_s = time.monotonic()
            for connection in tuple(self.server_state.connections):
                if connection.late_s(now_s) > self._whole_s:  # type: ignore[union-attr]
                    connection.transport.abort()
        return await super().on_tick(counter)


def _bounded(kind: Any, limits: Limits) -> Any:
    """uvicorn's protocol, whichever of its two is in use, that counts connections by address."""
    held: Counter[str] = Counter()

    class Bounded(kind):  # type: ignore[misc]
        """A connection."""

        _address = ""
        _since_s: float | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            """Take it, or close it at once."""
            super().connection_made(transport)
            self._address = neighbourhood(self.client[0]) if self.client else ""
            held[self._address] += 1
            if limits.address is not None and held[self._address] > limits.address:
                log.warning("%s holds %d connections; no more are taken from there", self._address, limits.address)
                transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            """Forget it."""
            held[self._address] -= 1
            if not held[self._address]:
                del held[self._address]
            super().connection_lost(error)

        def late_s(self, now_s: float) -> float:
            """For how long a request has been on its way; 0 while it is answered, and between two."""
            cycle = self.cycle
            between = cycle is not None and cycle.response_complete and self.timeout_keep_alive_task is not None
            answered = cycle is not None and not cycle.response_complete and not cycle.more_body
            self._since_s = None if between or answered else self._since_s or now_s
            return now_s - self._since_s if self._since_s else 0.0

    return Bounded

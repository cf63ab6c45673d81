"""The HTTP server of every Parley process: uvicorn, with limits that it has no setting for, and its start and end.

uvicorn bounds a request's header where h11 reads it, and what is written and not read. It waits for ever for a request
that does not come whole, keeps whatever is sent behind one, and takes as many connections as there are files.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.config.settings import Settings, env_name, reachable_url
from app.errors import SettingsError
from storage.client_networks import client_networks

log = logging.getLogger(__name__)

WHOLE_S = 30.0
UNREAD_S = 60.0
# Connections, and those of one address: a class of 60 whose browsers open six each are 360.
MOST, OF_ONE = 4_000, 1_000
# Files that are not for connections: the database's, the model servers', the log.
SPARE = 200
HEADER_BYTES = 16 * 1024
MOST_HEADERS = 100
# How much may come behind a request before it is answered.
AHEAD_BYTES = 128 * 1024
# How much is kept of what a client does not read, beside the piece that is being sent.
WRITTEN_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Connections in all and of one `address`; seconds until a request must be whole and an answer read."""

    most: int
    address: int | None
    whole_s: float = WHOLE_S
    unread_s: float = UNREAD_S


def limits(*, proxied: bool) -> ConnectionLimits:
    """As many as the system gives; of one address a part, unless everybody comes from that of a proxy."""
    most = max(SPARE, min(MOST, (_files() - SPARE) // 2))  # a file that is sent is open as well
    return ConnectionLimits(most, None if proxied else min(OF_ONE, most // 2))


def _files() -> int:
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


def made(
    server: ASGIApp, settings: Settings, port: int, connection_limits: ConnectionLimits | None = None
) -> uvicorn.Server:
    """uvicorn as all servers of Parley use it, `connection_limits` these limits or as many as the system gives."""
    found = connection_limits or limits(proxied=bool(settings.trusted_proxies))
    held: Counter[str] = Counter()

    def connection(**known: Any) -> Connection:
        return Connection(H11Protocol(**known), found, held)

    config = uvicorn.Config(
        RequestGuard(server),
        host=settings.host,
        port=port,
        http=connection,  # type: ignore[arg-type]
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
    """A connection that `http` serves, within limits. `held` counts those of each address, or network of IPv6."""

    def __init__(self, http: asyncio.Protocol, limits: ConnectionLimits, held: Counter[str]) -> None:
        self._http, self._limits, self._held = http, limits, held
        self._taken = False
        self._late: asyncio.TimerHandle | None = None
        self._ahead: int | None = None
        """Bytes behind the request that is being answered; None while none is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._networks = client_networks(peer[0]) if peer else (("", 1),)
        self._held.update(name for name, _ in self._networks)
        most = self._limits.address
        if most is not None and any(self._held[name] > most * times for name, times in self._networks):
            log.warning("one address holds %d connections; refusing more from it", most)
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
        self.whole()
        for name, _ in self._networks:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]
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
        return self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def whole(self) -> None:
        self._ahead = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def answered(self) -> None:
        self._ahead = None

    def _wait(self) -> None:
        self._late = asyncio.get_running_loop().call_later(self._limits.whole_s, self._transport.abort)


_served: ContextVar[Connection] = ContextVar("_served")


class RequestGuard:
    """An application before another: notifies a connection when a request is complete, and refuses too many headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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


# The exit code of a server of which a thread has failed (EX_SOFTWARE of sysexits.h).
FAILED = 70
# After how many new objects Python looks for garbage: with its own 700 that took 5 % of a busy server's time.
COLLECT_AFTER = 50_000
NOT_STARTED = 3
# By how much a process gives way, from 0 to 19. With 10, Linux gives it a tenth of the time that it gives to another
# process.
BEHIND = 10
PORTS = {"port": 7870, "console_port": 7871}


def listen(server: ASGIApp, settings: Settings, port: int, listening: socket.socket | None = None) -> None:
    """Serve until stopped, at a port, or at a socket that is `listening` already."""

    running = made(server, settings, port)
    threading.excepthook = _end
    gc.freeze()  # what is there now stays, and need not be looked through again
    gc.set_threshold(COLLECT_AFTER)
    with suppress(KeyboardInterrupt):
        running.run([listening] if listening is not None else None)
    if not running.started:
        sys.exit(NOT_STARTED)


def _end(failed: threading.ExceptHookArgs) -> None:
    """End the process if a thread failed that no other one waits for, such as the writer: the rest would answer and
    store nothing. Its supervisor starts a new one."""
    log.critical(
        "the thread %s has failed, so this process ends",
        failed.thread.name if failed.thread else "",
        exc_info=failed.exc_value,
    )
    os._exit(FAILED)


def lower_priority() -> None:
    """Lower this process's priority: participants come first."""
    if hasattr(os, "nice"):
        os.nice(BEHIND)


def require_free_port(settings: Settings, name: str) -> None:
    """Raise SettingsError where something else already listens on the port that a setting of that `name` says."""
    port = getattr(settings, name)
    with socket.socket(family_of(settings.host)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, port))
        except OSError as error:
            raise SettingsError(
                f"Parley cannot listen on {settings.host}:{port} ({error.strerror}). Stop what is there, "
                f"or choose another port: --port {PORTS[name]}, or {env_name(name)}={PORTS[name]}"
            ) from None


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def end_with_parent() -> None:
    """Let this process stop in order when the one that started it is gone: it would serve beside the next server."""
    if (parent := multiprocessing.parent_process()) is None:
        return

    def watch() -> None:
        parent.join()
        log.error("the parent process has exited; stopping")
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parley-parent", daemon=True).start()


def when_up(settings: Settings, port: int, act: Callable[[], object]) -> None:
    """Do something as soon as a server listens on this port, however long a busy machine takes."""
    while True:
        try:
            socket.create_connection((reachable_url(settings.host), port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            act()
            return

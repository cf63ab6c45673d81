"""The way to one model server: an httpx client over aiohttp, below which its secrets are added and its errors named.

The openai SDK and the other backends send through this client. What leaves is decided here: the server's own headers
and parameters and none that a library adds, so that no message or log line of a library can hold a secret, and no
variable of the machine's decides anything. No redirect is followed, no cookie kept, and a request is made once. One
exception: where a connection that was kept turns out to be closed before the first byte of an answer, it is made again
on a new one. An answer with another status than success is raised as the error that it is.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import certifi
import httpx2
from aiohttp.http_exceptions import ContentEncodingError

from app.backends.wire.error_mapping import connect_failed, connection_lost, refused, timeout, too_long, unpackable
from app.backends.wire.sse import MAX_BODY_BYTES
from app.backends.wire.streaming import WHOLE, words_of
from app.config.model_servers import Server, plain_values
from app.config.settings import Settings
from app.errors import BackendError, SettingsError

MAX_REFUSAL_BYTES = 20_000
MULTIPLE_CHOICES = 300
KEPT_S = 4.0
"""How long a connection is kept that nobody uses: servers close it after 5 s (uvicorn, node) or later."""
GATHER_S, LONGEST_GATHER_S, MOST_READS = 0.05, 0.4, 250
"""After so long what has come of a stream is read; with many streams less often, so that all together are read so often
a second. A read for each word would cost most of a reply's processor time."""
ENOUGH_BYTES = 16_000
"""After so many at once nothing is waited for."""
NOT_PASSED_ON = ("content-encoding", "content-length", "set-cookie", "transfer-encoding")
"""Headers of an answer that are dealt with here."""


def client(settings: Settings, server: Server, headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client of one server, for one event loop; `headers` are the backend's own, over which the server's win."""
    for name in ("httpx2", "openai"):  # at INFO they log each address
        logging.getLogger(name).setLevel(logging.WARNING)
    transport = Transport(settings, server, headers)
    return httpx2.AsyncClient(base_url=server.url, transport=transport, timeout=None, trust_env=False)


def batching_s(streams: int) -> float:
    """For how long the words of a stream gather while so many come in."""
    return min(max(GATHER_S, streams / MOST_READS), LONGEST_GATHER_S)


class Transport(httpx2.AsyncBaseTransport):
    """What sends the requests of a client of one server, and gives their answers or raises a BackendError."""

    def __init__(self, settings: Settings, server: Server, headers: Mapping[str, str]) -> None:
        self._server, self._query = server, plain_values(server.query)
        self._connect_s = settings.connect_timeout_s
        own = {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "parley"}
        self._headers = httpx2.Headers(own | dict(headers))
        self._headers.update({name: value for name, value in plain_values(server.headers).items() if _may_set(name)})
        self._tls = trusted() if server.url.startswith("https:") else True
        self._proxy = proxy_of(server.url)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self.streams = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body, sent = await request.aread(), SimpleNamespace(kept=False)
        try:
            try:
                answer = await self._send(request, body, sent, keep=True)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not sent.kept:
                    raise
                answer = await self._send(request, body, sent, keep=False)
        except (aiohttp.ClientError, OSError) as error:
            raise self.error_of(error) from None
        if answer.status >= MULTIPLE_CHOICES:
            raise await self._refusal(answer)
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() not in NOT_PASSED_ON]
        stream = request.headers.get("accept") != WHOLE["accept"]
        return httpx2.Response(answer.status, headers=headers, stream=_Body(self, answer, stream=stream))

    def error_of(self, error: Exception) -> BackendError:
        why = str(error) or type(error).__name__
        if login := urlsplit(self._proxy or "").netloc.rpartition("@")[0]:
            why = why.replace(login, "***")
        match error:
            case aiohttp.ConnectionTimeoutError():
                return timeout(self._server, "timeout_connect")
            case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError() | ssl.SSLError():
                return connect_failed(self._server, why)
            case _ if isinstance(error.__cause__, ContentEncodingError):
                return unpackable(self._server, why)
            case _:
                return connection_lost(self._server, why)

    async def aclose(self) -> None:
        for session in self._sessions.values():
            await session.close()

    async def _send(
        self, request: httpx2.Request, body: bytes, sent: SimpleNamespace, *, keep: bool
    ) -> aiohttp.ClientResponse:
        return await self._session(keep).request(
            request.method,
            str(request.url.copy_merge_params(self._query)) if self._query else str(request.url),
            data=body,
            headers=self._headers.multi_items(),
            proxy=self._proxy,
            allow_redirects=False,
            trace_request_ctx=sent,
        )

    def _session(self, keep: bool) -> aiohttp.ClientSession:
        """The session whose connections are kept, or that which opens one for each request."""
        if keep not in self._sessions:
            kept: dict[str, Any] = {"keepalive_timeout": KEPT_S} if keep else {"force_close": True}
            trace = aiohttp.TraceConfig()
            trace.on_connection_reuseconn.append(_note_kept)
            self._sessions[keep] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._tls, **kept),
                cookie_jar=aiohttp.DummyCookieJar(),
                # Who asks limits what a reply may take.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
                trace_configs=[trace],
            )
        return self._sessions[keep]

    async def _refusal(self, answer: aiohttp.ClientResponse) -> BackendError:
        content = b""
        try:
            while len(content) < MAX_REFUSAL_BYTES and (piece := await answer.content.readany()):
                content += piece
        except (aiohttp.ClientError, OSError) as error:
            return self.error_of(error)
        finally:
            answer.close()
        mapped = refused(answer.status, answer.headers, content[:MAX_REFUSAL_BYTES])
        mapped.raw = words_of(content[:MAX_REFUSAL_BYTES])
        return mapped


class _Body(httpx2.AsyncByteStream):
    """The body of an answer: of a limited size, or a stream, whose pieces gather for a moment."""

    def __init__(self, transport: Transport, answer: aiohttp.ClientResponse, *, stream: bool) -> None:
        self._transport, self._answer, self._stream = transport, answer, stream
        self._over = asyncio.Event()
        answer.content.on_eof(self._over.set)
        transport.streams += stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            while piece := await self._answer.content.readany():
                yield piece
                if self._stream and len(piece) < ENOUGH_BYTES:
                    await self._gather()
                elif not self._stream and (size := size + len(piece)) > MAX_BODY_BYTES:
                    raise too_long()
        except (aiohttp.ClientError, OSError) as error:
            raise self._transport.error_of(error) from None

    async def _gather(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(batching_s(self._transport.streams)):
                await self._over.wait()

    async def aclose(self) -> None:
        self._transport.streams -= self._stream
        self._stream = False
        self._answer.close()


def _may_set(name: str) -> bool:
    """Whether a deployment may set this header: where a request ends is not its business."""
    return name.lower() not in ("connection", "content-length", "transfer-encoding")


async def _note_kept(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.kept = True


def trusted() -> ssl.SSLContext:
    """The authorities that the machine trusts, or SSL_CERT_FILE's, and Mozilla's, as some machines have none. Reading
    them takes 50 ms."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address, with or without `http://`; raises SettingsError."""
    server = urlsplit(url)
    named = None if proxy_bypass(server.netloc) else getproxies().get(server.scheme)
    if named is None:
        return None
    proxy = urlsplit(named if "://" in named else f"http://{named}")
    if proxy.scheme not in ("http", "https"):
        raise SettingsError(
            f"{server.scheme.upper()}_PROXY names a {proxy.scheme} proxy for {url}; Parley can use an http or https "
            "proxy. Name another one, or add the server to NO_PROXY."
        )
    return proxy.geturl()

"""The way to a model server by aiohttp: for replies in pieces, each of which costs it a tenth of what it costs httpx2,
and through a proxy. A batch needs neither, and is spared the import.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, suppress

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError
from yarl import URL

from app.backends.base import Delta, End
from app.backends.wire.answers import MAX_BODY_BYTES, MAX_REFUSAL_BYTES, MULTIPLE_CHOICES, Answer
from app.backends.wire.decoder import Decoder, gathered
from app.backends.wire.errors import broken, late, refused, unpackable, unreachable
from app.errors import BackendError
from app.pause import Pause
from app.servers import Server
from app.settings import Settings

DRAIN_S = 0.1
GATHER_S, LONGEST_GATHER_S = 0.05, 0.2
"""After so long what has come is read, and at once where the reply is whole; piece by piece would cost twice that."""
MOST_READS = 400
"""How often a second all replies together are read, as far as `LONGEST_GATHER_S` lets them: with many, words come in
larger pieces, so that clicks need not wait."""


def gather_s(replies: int) -> float:
    """For how long the words of a reply gather while so many come in."""
    return min(max(GATHER_S, replies / MOST_READS), LONGEST_GATHER_S)


class Pieces:
    """A client of one server, with the headers that all requests have."""

    def __init__(
        self,
        settings: Settings,
        server: Server,
        headers: Mapping[str, str],
        tls: ssl.SSLContext | None,
        proxy: str | None,
    ) -> None:
        self._server, self._proxy = server, proxy
        self._replies = 0
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=settings.connect_timeout_s, sock_read=settings.reply_timeout_s
        )
        self._patient = aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout_s)
        """For whole replies, which whoever asks has to limit: a clock for each piece costs as much as reading it."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=self._timeout,
        )

    async def stream(self, method: str, url: URL, body: bytes, decoder: Decoder) -> AsyncGenerator[Delta]:
        """Give the reply as it comes; leaving early closes the connection. Raises a BackendError."""
        self._replies += 1
        try:
            async with self._send(method, url, body, self._timeout) as response:
                if response.status >= MULTIPLE_CHOICES:
                    raise refused(response.status, response.headers, await _beginning(response))
                chunks = response.content.iter_any()
                pause = Pause()
                response.content.on_eof(pause.end)
                async for chunk in chunks:
                    came = False
                    for delta in gathered(decoder.feed(chunk)):
                        if isinstance(delta, End):
                            await _drain(chunks)
                            yield delta
                            return
                        came = True
                        yield delta
                    if came:
                        await pause.last(gather_s(self._replies))
            for delta in decoder.end():
                yield delta
        except (aiohttp.ClientError, OSError) as error:
            raise _no_connection(error, self._server) from None
        finally:
            self._replies -= 1

    async def ask(self, url: URL, body: bytes) -> Answer:
        """Give a whole answer; raises a BackendError."""
        try:
            async with self._send("POST", url, body, self._patient) as response:
                most = MAX_REFUSAL_BYTES if response.status >= MULTIPLE_CHOICES else MAX_BODY_BYTES + 1
                return Answer(response.status, response.headers, await _beginning(response, most))
        except (aiohttp.ClientError, OSError) as error:
            raise _no_connection(error, self._server) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _send(
        self, method: str, url: URL, data: bytes, timeout: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session.request(method, url, data=data, timeout=timeout, allow_redirects=False, proxy=self._proxy)


def _no_connection(error: Exception, server: Server) -> BackendError:
    """The error that the connection raised."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return late(server, "timeout_connect")
        case TimeoutError():
            return late(server, "timeout_read")
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError() | ssl.SSLError():
            return unreachable(server, error)
        case _ if isinstance(error.__cause__, ContentEncodingError) or isinstance(error, aiohttp.InvalidURL):
            return unpackable(server, error)
        case _:
            return broken(server, error)


async def _beginning(response: aiohttp.ClientResponse, limit: int = 20_000) -> bytes:
    """The first bytes of a body, however long it is."""
    content = b""
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) >= limit:
            break
    return content[:limit]


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the end of a reply, so that the connection can be used again instead of being closed."""
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass

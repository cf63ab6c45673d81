"""The way to a model server by aiohttp: through a proxy, and by other methods than POST.

Who needs neither, as nearly all, is spared the import.
"""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
from aiohttp.http_exceptions import ContentEncodingError
from yarl import URL

from app.backends.wire.answers import MAX_BODY_BYTES, MAX_REFUSAL_BYTES, MULTIPLE_CHOICES, Answer, Coming
from app.backends.wire.errors import broken, late, refused, unpackable, unreachable
from app.errors import BackendError
from app.pause import Pause
from app.servers import Server
from app.settings import Settings


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
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=tls or True),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            # Whoever asks has to limit what a reply may take: a clock for each piece costs as much as reading it.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout_s),
        )

    @asynccontextmanager
    async def open(self, method: str, url: URL, body: bytes) -> AsyncIterator[Coming]:
        """Send a request, give its answer as it comes; leaving early closes the connection. Raises a BackendError."""
        try:
            async with self._send(method, url, body) as response:
                if response.status >= MULTIPLE_CHOICES:
                    raise refused(response.status, response.headers, await _beginning(response))
                pause = Pause()
                response.content.on_eof(pause.end)
                yield Coming(response.content.readany, pause, _never)
        except (aiohttp.ClientError, OSError) as error:
            raise _no_connection(error, self._server) from None

    async def ask(self, url: URL, body: bytes) -> Answer:
        """Give a whole answer; raises a BackendError."""
        try:
            async with self._send("POST", url, body) as response:
                most = MAX_REFUSAL_BYTES if response.status >= MULTIPLE_CHOICES else MAX_BODY_BYTES + 1
                return Answer(response.status, response.headers, await _beginning(response, most))
        except (aiohttp.ClientError, OSError) as error:
            raise _no_connection(error, self._server) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    def _send(self, method: str, url: URL, data: bytes) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._session.request(method, url, data=data, allow_redirects=False, proxy=self._proxy)


def _no_connection(error: Exception, server: Server) -> BackendError:
    """The error that the connection raised."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return late(server, "timeout_connect")
        case aiohttp.ClientConnectorError() | aiohttp.ClientHttpProxyError() | ssl.SSLError():
            return unreachable(server, error)
        case _ if isinstance(error.__cause__, ContentEncodingError) or isinstance(error, aiohttp.InvalidURL):
            return unpackable(server, error)
        case _:
            return broken(server, error)


def _never(_: float) -> None:
    """aiohttp reads what comes as it comes."""


async def _beginning(response: aiohttp.ClientResponse, limit: int = 20_000) -> bytes:
    """The first bytes of a body, however long it is."""
    content = b""
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) >= limit:
            break
    return content[:limit]

"""The way to one model server over HTTP, which all backends that have servers share: JSON goes there, bytes come back.

Connections are kept and shared by all sessions. Nothing is retried (the runtime does, and logs each attempt), no
redirect is followed (it would carry the key elsewhere), no cookie is kept (it would join people's conversations), and
nothing leaves here with a secret of the server in it. aiohttp, as a piece of a reply costs it a tenth of what it costs
httpx2; whole answers go past it by `lines`, which cost a fifth again (docs/decisions/0003).
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import certifi
import orjson
from multidict import CIMultiDict
from yarl import URL

from app.backends.base import Delta, End, Whole
from app.backends.wire.answers import MAX_BODY_BYTES, MAX_REFUSAL_BYTES, MULTIPLE_CHOICES, Answer
from app.backends.wire.errors import beginning, masked, no_connection, refused
from app.backends.wire.lines import Lines, head
from app.errors import BackendBroken, BackendError, BackendRejected
from app.servers import Server, revealed
from app.settings import Settings

DRAIN_S = 0.1
RATE_LIMITS = ("x-ratelimit-", "anthropic-ratelimit-")
"""How the names of headers begin that tell of a server's rate limits."""


class Decoder(Protocol):
    """What reads the bytes of one reply; pure."""

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Take the next bytes, give the deltas that they complete; nothing is fed after the `End`."""
        ...

    def end(self) -> Iterator[Delta]:
        """Give what is left once the body is over, the `End` last; raise a BackendError if it was cut off."""
        ...


class Transport:
    """A client of one server; `headers` are the backend's own, over which the server's win."""

    def __init__(self, settings: Settings, server: Server, headers: Mapping[str, str]) -> None:
        self._server = server
        self._query = revealed(server.query)
        self._headers = CIMultiDict(
            {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "parley", **headers}
        )
        self._headers.update(revealed(server.headers))
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=settings.connect_timeout_s, sock_read=settings.reply_timeout_s
        )
        self._patient = aiohttp.ClientTimeout(total=None, sock_connect=settings.connect_timeout_s)
        """For whole replies, which whoever asks has to limit: a clock for each piece costs as much as reading it."""
        self._tls = _trusted() if server.url.startswith("https:") else None
        self._proxy = _proxy_of(server.url)
        self._urls: dict[str, URL] = {}
        self._heads: dict[str, bytes] = {}
        self._lines = Lines(server, self._tls, settings.connect_timeout_s)
        self._session: aiohttp.ClientSession | None = None

    async def stream(
        self, path: str, body: Mapping[str, Any], decoder: Decoder, method: str = "POST"
    ) -> AsyncGenerator[Delta]:
        """Send `body` to `path`, give the reply as it comes; leaving early closes the connection."""
        try:
            async with self._send(method, path, _json(body), self._timeout) as response:
                if response.status >= MULTIPLE_CHOICES:
                    raise refused(response.status, response.headers, await beginning(response))
                chunks = response.content.iter_any()
                async for chunk in chunks:
                    for delta in decoder.feed(chunk):
                        if isinstance(delta, End):
                            await _drain(chunks)
                            yield delta
                            return
                        yield delta
            for delta in decoder.end():
                yield delta
        except BackendError as error:
            raise masked(error, self._server) from None
        except (aiohttp.ClientError, OSError) as error:
            raise masked(no_connection(error, self._server), self._server) from None

    async def fetch(self, path: str, body: Mapping[str, Any], read: Callable[[bytes], tuple[str, End]]) -> Whole:
        """Send `body` to `path` and `read` the whole answer; a BackendError has with it what was sent and came."""
        sent, raw = _json(body), b""
        try:
            status, headers, raw = await self._ask(path, sent)
            if status >= MULTIPLE_CHOICES:
                raise refused(status, headers, raw)
            if len(raw) > MAX_BODY_BYTES:
                raise BackendBroken("The model server's answer is longer than 8 MB.", reason="too_long")
            text, end = read(raw)
            return Whole(text, end, self._server.mask(_words(raw)), _words(sent), _rate_limits(headers))
        except BackendError as error:
            raise masked(error, self._server, _words(sent), _words(raw)) from None

    async def close(self) -> None:
        """Close all connections."""
        self._lines.close()
        if self._session is not None:
            await self._session.close()

    async def _ask(self, path: str, body: bytes) -> Answer:
        """Give a whole answer: past aiohttp, but for a proxy, which `lines` does not know."""
        if self._proxy is not None:
            return await self._ask_by_proxy(path, body)
        if path not in self._heads:
            self._heads[path] = head(self._url(path), self._headers)
        return await self._lines.ask(b"%b%d\r\n\r\n%b" % (self._heads[path], len(body), body))

    async def _ask_by_proxy(self, path: str, body: bytes) -> Answer:
        try:
            async with self._send("POST", path, body, self._patient) as response:
                most = MAX_REFUSAL_BYTES if response.status >= MULTIPLE_CHOICES else MAX_BODY_BYTES + 1
                return Answer(response.status, response.headers, await beginning(response, most))
        except (aiohttp.ClientError, OSError) as error:
            raise no_connection(error, self._server) from None

    def _send(
        self, method: str, path: str, data: bytes, timeout: aiohttp.ClientTimeout
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        url = self._url(path)
        return self._open().request(method, url, data=data, timeout=timeout, allow_redirects=False, proxy=self._proxy)

    def _url(self, path: str) -> URL:
        if path not in self._urls:
            self._urls[path] = URL(self._server.url + path).update_query(self._query)
        return self._urls[path]

    def _open(self) -> aiohttp.ClientSession:
        """The session, which belongs to the event loop that first asks for it."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=self._tls or True),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=self._headers,
                timeout=self._timeout,
            )
        return self._session


def bearer(server: Server) -> dict[str, str]:
    """The header with a server's key, where it has one."""
    return {"authorization": f"Bearer {server.key.get_secret_value()}"} if server.key else {}


def _words(data: bytes) -> str:
    """Bytes as text that every database takes."""
    return data.decode(errors="replace").replace("\x00", "")


def _rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    return {key: value for name, value in headers.items() if (key := name.lower()).startswith(RATE_LIMITS)}


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise BackendRejected(f"The request cannot be written as JSON: {error}.", reason="bad_request") from None


def _trusted() -> ssl.SSLContext:
    """The authorities that the machine trusts, and Mozilla's, as some machines have none. Takes a tenth of a second."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _proxy_of(url: str) -> str | None:
    """The proxy that the machine's environment names for an address."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the end of a reply, so that the connection can be used again instead of being closed."""
    with suppress(TimeoutError, aiohttp.ClientError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass

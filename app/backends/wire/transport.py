"""The way to one model server over HTTP, which all backends that have servers share: JSON goes there, bytes come back.

Connections are kept and shared by all sessions. Nothing is retried (the runtime does, and logs each attempt), no
redirect is followed (it would carry the key elsewhere), no cookie is kept (it would join people's conversations), and
nothing leaves here with a secret of the server in it.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Protocol

import httpx2
import orjson

from app.backends.base import Delta, End
from app.backends.wire.errors import beginning, masked, no_connection, refused
from app.errors import BackendError, BackendRejected
from app.servers import Server, revealed
from app.settings import Settings

CONNECTIONS = httpx2.Limits(max_connections=None, max_keepalive_connections=200)
DRAIN_S = 0.1


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
        sent = httpx2.Headers({"accept-encoding": "identity", "content-type": "application/json", **headers})
        sent.update(revealed(server.headers))
        self._client = httpx2.AsyncClient(
            headers=sent,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            limits=CONNECTIONS,
            timeout=httpx2.Timeout(settings.reply_timeout_s, connect=settings.connect_timeout_s),
        )

    async def stream(
        self, path: str, body: Mapping[str, Any], decoder: Decoder, method: str = "POST"
    ) -> AsyncGenerator[Delta]:
        """Send `body` to `path`, give the reply as it comes; leaving early closes the connection."""
        try:
            async with self._client.stream(
                method,
                httpx2.URL(self._server.url + path).copy_merge_params(self._query),
                content=_json(body),
            ) as response:
                if not response.is_success:
                    raise refused(response.status_code, response.headers, await beginning(response))
                chunks = response.aiter_bytes()
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
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, ssl.SSLError) as error:
            raise masked(no_connection(error, self._server), self._server) from None

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def bearer(server: Server) -> dict[str, str]:
    """The header with a server's key, where it has one."""
    return {"authorization": f"Bearer {server.key.get_secret_value()}"} if server.key else {}


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise BackendRejected(f"The request cannot be written as JSON: {error}.", reason="bad_request") from None


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what follows the end of a reply, so that the connection can be used again instead of being closed."""
    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass

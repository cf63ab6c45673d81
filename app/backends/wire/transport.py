"""The way to one model server over HTTP, which all backends that have servers share: JSON goes there, bytes come back.

Connections are kept and shared by all sessions. Nothing is retried (the runtime does, and logs each attempt), no
redirect is followed (it would carry the key elsewhere), no cookie is kept (it would join people's conversations), and
nothing leaves here with a secret of the server in it. Answers come by `lines`, whole or in pieces, at a fifth of what
aiohttp costs (docs/decisions/0003), which `pieces` has for what `lines` does not know.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import orjson
from multidict import CIMultiDict
from yarl import URL

from app.backends.base import Delta, End, Whole
from app.backends.wire.answers import MAX_BODY_BYTES, MULTIPLE_CHOICES, Answer, Coming
from app.backends.wire.decoder import Decoder, gathered
from app.backends.wire.errors import masked, refused
from app.backends.wire.lines import Lines, head
from app.backends.wire.rests import rest_s
from app.errors import BackendBroken, BackendError, BackendRejected
from app.servers import Server, revealed
from app.settings import Settings

if TYPE_CHECKING:
    from app.backends.wire.pieces import Pieces

DRAIN_S = 0.1
"""How long what follows the end of a reply is waited for, so that the connection can be used again."""
GATHER_S, LONGEST_GATHER_S = 0.05, 0.4
"""After so long what has come is read, and at once where the reply is whole; piece by piece would cost twice that."""
MOST_READS = 400
"""How often a second all replies together are read, as far as `LONGEST_GATHER_S` lets them: with many, words come in
larger pieces, so that clicks need not wait."""
RATE_LIMITS = ("x-ratelimit-", "anthropic-ratelimit-")
"""How the names of headers begin that tell of a server's rate limits."""


def gather_s(replies: int) -> float:
    """For how long the words of a reply gather while so many come in."""
    return min(max(GATHER_S, replies / MOST_READS), LONGEST_GATHER_S)


class Transport:
    """A client of one server; `headers` are the backend's own, over which the server's win."""

    def __init__(self, settings: Settings, server: Server, headers: Mapping[str, str]) -> None:
        self._settings, self._server = settings, server
        self._query = revealed(server.query)
        self._headers = CIMultiDict(
            {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "parley", **headers}
        )
        self._headers.update(revealed(server.headers))
        self._tls = _trusted() if server.url.startswith("https:") else None
        self._proxy = _proxy_of(server.url)
        self._urls: dict[str, URL] = {}
        self._heads: dict[str, bytes] = {}
        self._lines = Lines(server, self._tls, settings.connect_timeout_s)
        self._pieces: Pieces | None = None
        self._replies = 0
        """How many are coming in."""

    async def stream(
        self, path: str, body: Mapping[str, Any], decoder: Decoder, method: str = "POST"
    ) -> AsyncGenerator[Delta]:
        """Send `body` to `path`, give the reply as it comes; leaving early closes the connection."""
        self._replies += 1
        try:
            async with self._answering(method, path, _json(body)) as answer:
                while chunk := await answer.more():
                    came = False
                    for delta in gathered(decoder.feed(chunk)):
                        if isinstance(delta, End):
                            answer.rest(0)
                            await answer.pause.last(DRAIN_S)
                            yield delta
                            return
                        came = True
                        yield delta
                    if came:
                        answer.rest(rest_s(self._replies))
                        await answer.pause.last(gather_s(self._replies))
                for delta in decoder.end():
                    yield delta
        except BackendError as error:
            raise masked(error, self._server) from None
        finally:
            self._replies -= 1

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
        if self._pieces is not None:
            await self._pieces.close()

    async def _ask(self, path: str, body: bytes) -> Answer:
        """Give a whole answer: past aiohttp, but for a proxy, which `lines` does not know."""
        if self._proxy is not None:
            return await self._open().ask(self._url(path), body)
        return await self._lines.ask(self._request(path, body))

    def _answering(self, method: str, path: str, body: bytes) -> AbstractAsyncContextManager[Coming]:
        """Give an answer as it comes, by the same ways; `lines` knows no method but POST either."""
        if self._proxy is not None or method != "POST":
            return self._open().open(method, self._url(path), body)
        return self._lines.open(self._request(path, body))

    def _request(self, path: str, body: bytes) -> bytes:
        if path not in self._heads:
            self._heads[path] = head(self._url(path), self._headers)
        return b"%b%d\r\n\r\n%b" % (self._heads[path], len(body), body)

    def _url(self, path: str) -> URL:
        if path not in self._urls:
            self._urls[path] = URL(self._server.url + path).update_query(self._query)
        return self._urls[path]

    def _open(self) -> Pieces:
        """The client that belongs to the event loop which first asks for it."""
        if self._pieces is None:
            from app.backends.wire.pieces import Pieces  # a batch does without, and without what it imports

            self._pieces = Pieces(self._settings, self._server, self._headers, self._tls, self._proxy)
        return self._pieces


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

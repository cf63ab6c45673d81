"""The way to one model server: an httpx client with httpx's own transport, which the openai SDK is given too.

What leaves is decided here: the server's own headers and parameters and none that a library adds, so that no message or
log line of a library can hold a secret, and no variable of the machine's decides anything. No redirect is followed, no
cookie sent, and a request is made once. One exception: where a connection that was kept turns out to be closed before
the first byte of an answer, it is made again on a new one. An answer with another status than success is raised as the
error that it is.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import certifi
import httpx2

from app.backends.wire.error_mapping import refused
from app.backends.wire.values import text_from
from app.config.model_servers import Server, plain_values
from app.config.settings import Settings
from app.errors import BackendBroken, BackendError, BackendUnavailable, SettingsError

MAX_REFUSAL_BYTES = 20_000
MULTIPLE_CHOICES = 300
# Servers close a connection that nobody uses after 5 s (uvicorn, node) or later.
KEPT_S = 4.0
# httpx lets some errors of TLS through as they are
WIRE_ERRORS = (httpx2.HTTPError, OSError)
NOT_OURS = ("connection", "content-length", "transfer-encoding")


def client(settings: Settings, server: Server, headers: Mapping[str, str] | None = None) -> httpx2.AsyncClient:
    """A client for one event loop. The server's headers win over `headers`, by default its key as a bearer token."""
    if headers is None:
        headers = {"authorization": f"Bearer {server.key.get_secret_value()}"} if server.key else {}

    async def refuse(response: httpx2.Response) -> None:
        if response.status_code >= MULTIPLE_CHOICES:
            raise await _refusal(server, response)

    return httpx2.AsyncClient(
        base_url=server.url,
        transport=Transport(server, headers),
        # whoever asks limits what a reply may take
        timeout=httpx2.Timeout(None, connect=settings.connect_timeout_s),
        trust_env=False,
        event_hooks={"response": [refuse]},
    )


class Transport(httpx2.AsyncHTTPTransport):
    """The transport of httpx. Its errors are BackendErrors, which pass through libraries as none knows them."""

    def __init__(self, server: Server, headers: Mapping[str, str]) -> None:
        way = connection_to(server.url)
        super().__init__(limits=httpx2.Limits(keepalive_expiry=KEPT_S), **way)
        self._unkept = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0), **way)
        self._server, self._login = server, urlsplit(way["proxy"] or "").netloc.rpartition("@")[0]
        own = {"accept-encoding": "identity", "content-type": "application/json", "user-agent": "parley"}
        self._headers, self._query = httpx2.Headers(own | dict(headers)), plain_values(server.query)
        theirs = plain_values(server.headers)
        self._headers.update({name: value for name, value in theirs.items() if name.lower() not in NOT_OURS})

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        new = False

        async def trace(name: str, _: object) -> None:
            nonlocal new
            new = new or name.startswith("connection.connect")

        kept = {name: request.headers[name] for name in ("host", *NOT_OURS) if name in request.headers}
        url = request.url.copy_merge_params(self._query) if self._query else request.url
        headers = httpx2.Headers([*kept.items(), *self._headers.multi_items()])
        extensions = {**request.extensions, "trace": trace}
        sent = httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=extensions)
        try:
            try:
                return await super().handle_async_request(sent)
            except (httpx2.NetworkError, httpx2.RemoteProtocolError):
                if new:
                    raise
                return await self._unkept.handle_async_request(sent)
        except WIRE_ERRORS as error:
            raise http_error(self._server, error, self._login) from None

    async def aclose(self) -> None:
        await super().aclose()
        await self._unkept.aclose()


async def _refusal(server: Server, response: httpx2.Response) -> BackendError:
    """The error of an answer with another status than success, with the beginning of its body."""
    content = b""
    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                content += piece
                if len(content) >= MAX_REFUSAL_BYTES:
                    break
    except WIRE_ERRORS as error:
        return http_error(server, error)
    mapped = refused(response.status_code, response.headers, content[:MAX_REFUSAL_BYTES])
    mapped.sent, mapped.raw = text_from(response.request.content), text_from(content[:MAX_REFUSAL_BYTES])
    return mapped


def http_error(server: Server, error: Exception, login: str = "") -> BackendError:
    """Map a failed request to a BackendError; `login` is a secret that the message must not hold."""
    why = str(error) or type(error).__name__
    why = why.replace(login, "***") if login else why
    match error:
        case httpx2.ConnectTimeout():
            return BackendUnavailable(f"{server.url} did not answer in time. Try again.", reason="timeout_connect")
        case httpx2.ConnectError() | httpx2.ProxyError() | ssl.SSLError():
            what = f"No connection to {server.url} ({why}). Check the address, and that the server runs."
            return BackendUnavailable(what, reason="connection")
        case httpx2.DecodingError():
            return BackendBroken(f"The answer of {server.url} cannot be unpacked ({why}).", reason="malformed")
        case _:
            return BackendUnavailable(f"The connection to {server.url} broke ({why}). Try again.", reason="connection")


def connection_to(url: str) -> dict[str, Any]:
    """Options of an httpx client: the machine's proxy and authorities, no address in a log. Raises SettingsError."""
    for name in ("httpx2", "httpcore2", "openai"):  # at INFO they log each address, below it more
        logging.getLogger(name).setLevel(logging.WARNING)
    verify = trusted() if url.startswith("https:") else False
    return {"proxy": proxy_of(url), "verify": verify, "trust_env": False}


def trusted() -> ssl.SSLContext:
    """The machine's authorities, or SSL_CERT_FILE's, and Mozilla's, as some machines have none. Reading takes 50 ms."""
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

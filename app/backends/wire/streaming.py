"""Turn a response into a reply, streamed in deltas or whole, with no secrets in reported errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from app.backends.base import Completion, Delta, ReasoningDelta, StreamEnd, TextDelta
from app.backends.wire.dialect import Dialect
from app.backends.wire.error_mapping import masked, too_long
from app.backends.wire.reasoning import ReasoningSplitter, split_reasoning
from app.backends.wire.sse import BOM, MAX_BODY_BYTES, WholeReply
from app.config.model_servers import Server
from app.errors import BackendError, BackendRejected

if TYPE_CHECKING:
    import httpx2

WHOLE, STREAM = {"accept": "application/json"}, {"accept": "text/event-stream"}
"""The headers by which a backend says how it reads an answer: whole, which limits its size, or as it comes. Kept from
the server, as none says more than the body of the request."""
DRAIN_S = 0.2
"""How long what follows the end of a reply is waited for, so that the connection can be used again."""


class Framing(Protocol):
    def feed(self, chunk: bytes) -> Iterator[Any]:
        """Take the next bytes, give the values that they complete; None says that the stream is over."""
        ...

    def rest(self) -> Iterator[Any]:
        """Give what the end of the body completes; raise BackendBroken where it held nothing."""
        ...


class Decoder(Protocol):
    def read(self, value: Any) -> Iterator[Delta]:
        """Give the deltas of a value; nothing is read after the `StreamEnd`."""
        ...

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Give the `StreamEnd` once the stream is `done` or its body is over; raise a BackendError if the reply was cut
        off."""
        ...


async def streamed(
    server: Server,
    opening: AbstractAsyncContextManager[httpx2.Response],
    framing: Framing,
    decoder: Decoder,
    dialect: Dialect,
    splitter: ReasoningSplitter,
    whole: Callable[[bytes], WholeReply] | None = None,
) -> AsyncGenerator[Delta]:
    """Give the reply as a server sends it; leaving early closes the connection. `whole` reads an answer that is no
    stream, as some servers give none."""
    with masking(server):
        async with opening as response, aclosing(response.aiter_bytes()) as chunks:
            deltas = _deltas(chunks, framing, decoder, whole)
            try:
                async with aclosing(deltas):
                    async for delta in deltas:
                        for one in splitter.split(delta):
                            if not isinstance(one, StreamEnd):
                                yield one
                                continue
                            dialect.remember(splitter, one.finish_reason)
                            await _drain(chunks)
                            yield replace(one, adapted=dialect.adapted)
                            return
            except BackendError:
                for one in splitter.flush():
                    yield one
                raise


async def _deltas(
    chunks: AsyncIterator[bytes], framing: Framing, decoder: Decoder, whole: Callable[[bytes], WholeReply] | None
) -> AsyncGenerator[Delta]:
    head = await _head(chunks)
    if whole and head.startswith(b"{"):
        reply = whole(head + await _rest(chunks))
        if reply.reasoning:
            yield ReasoningDelta(reply.reasoning)
        if reply.text:
            yield TextDelta(reply.text)
        yield reply.end
        return
    for delta in batched(decoded(framing.feed(head), decoder)):
        yield delta
    async for chunk in chunks:
        for delta in batched(decoded(framing.feed(chunk), decoder)):
            yield delta
    for delta in batched(ending(framing, decoder)):
        yield delta


async def _head(chunks: AsyncIterator[bytes]) -> bytes:
    """The first bytes that are more than blanks and a byte order mark, which are dropped."""
    head = b""
    async for chunk in chunks:
        head = (head + chunk).lstrip()
        if not BOM.startswith(head):
            head = head.removeprefix(BOM).lstrip()
        if head and not BOM.startswith(head):
            return head
    return b""


async def _rest(chunks: AsyncIterator[bytes]) -> bytes:
    rest = b""
    async for chunk in chunks:
        rest += chunk
        if len(rest) > MAX_BODY_BYTES:
            raise too_long()
    return rest


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, BackendError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in chunks:
                pass


def decoded(values: Iterator[Any], decoder: Decoder) -> Iterator[Delta]:
    for value in values:
        if value is None:
            yield from decoder.end(done=True)
            return
        yield from decoder.read(value)


def ending(framing: Framing, decoder: Decoder) -> Iterator[Delta]:
    yield from decoded(framing.rest(), decoder)
    yield from decoder.end(done=False)


def batched(found: Iterator[Delta]) -> Iterator[Delta]:
    """Words that came together as one piece, also those that came before an error."""
    words: list[str] = []
    try:
        for delta in found:
            if isinstance(delta, TextDelta):
                words.append(delta.text)
                continue
            if words:
                yield TextDelta("".join(words))
                words = []
            yield delta
    except BackendError:
        if words:
            yield TextDelta("".join(words))
        raise
    if words:
        yield TextDelta("".join(words))


def completion_of(
    response: httpx2.Response,
    server: Server,
    sent: bytes,
    read: Callable[[bytes], WholeReply],
    dialect: Dialect,
    splitter: ReasoningSplitter,
) -> Completion:
    """A whole answer as a reply, which `read` finds in its bytes; an error has with it what came."""
    raw = response.content
    try:
        whole = read(raw)
    except BackendError as error:
        error.raw = words_of(raw)
        raise
    reasoning, text = split_reasoning(whole.text, whole.end, splitter)
    dialect.remember(splitter, whole.end.finish_reason)
    end = replace(whole.end, adapted=dialect.adapted)
    return Completion(text, end, server.mask(words_of(raw)), words_of(sent), whole.reasoning + reasoning)


@contextmanager
def masking(server: Server, sent: bytes = b"") -> Iterator[None]:
    """BackendErrors leave without a secret of the server, and with what was sent."""
    try:
        yield
    except BackendError as error:
        raise masked(error, server, words_of(sent)) from None


def encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise BackendRejected(f"The request cannot be written as JSON: {error}.", reason="bad_request") from None


def words_of(data: bytes) -> str:
    """Bytes as text that every database takes."""
    return data.decode(errors="replace").replace("\x00", "")


def bearer(server: Server) -> dict[str, str]:
    return {"authorization": f"Bearer {server.key.get_secret_value()}"} if server.key else {}

"""Turn a response into a reply, with no secrets in reported errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from app.backends.base import Backend, Delta, Request, StreamEnd, ToolCall
from app.backends.wire.dialect import Dialect, Dialects, not_streamed
from app.backends.wire.error_mapping import error_in_stream, masked, refusal
from app.backends.wire.framing import WholeFraming
from app.backends.wire.reasoning import ReasoningSplitter
from app.backends.wire.values import count, cut_off, finish_reason, text_from
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendError

if TYPE_CHECKING:
    import httpx2

# How long what follows the end of a reply is waited for, so that the connection can be used again.
DRAIN_S = 0.2
# A picture in a request, which is stored once and not with each attempt.
PICTURE = re.compile(r'(?<=;base64,)[\w+/=]{16,}|(?<="data":")[\w+/=]{16,}')


@dataclass(slots=True)
class ReplyDecoder:
    """Builds a reply from the values of an answer, and holds the rest of its content."""

    # The event with which the `StreamEnd` comes.
    last: ClassVar[str] = ""
    _reason: str | None = None
    _model: str | None = None
    _prompt_tokens: int | None = None
    _completion_tokens: int | None = None
    _refusal: str = ""
    _calls: dict[int, ToolCall] = field(default_factory=dict)

    def read(self, value: Any) -> Iterator[Delta]:
        """Give the deltas of a value; nothing is read after the `StreamEnd`."""
        raise NotImplementedError

    def end(self, *, done: bool) -> Iterator[Delta]:
        """Give the `StreamEnd` once the stream is `done` or over; raise a BackendError if the reply was cut off."""
        raise cut_off(self.last)

    def _count(self, prompt: object, completion: object) -> None:
        """Keep counts of tokens; of each the last that is one holds."""
        self._prompt_tokens = self._prompt_tokens if count(prompt) is None else count(prompt)
        self._completion_tokens = self._completion_tokens if count(completion) is None else count(completion)

    def _add_call(self, index: int, id_: str, tool: str, arguments: str) -> None:
        """Add a piece of a call; a server that gives no id, as some do, gets one of ours."""
        known = self._calls.get(index, ToolCall("", "", ""))
        self._calls[index] = ToolCall(
            known.id or id_ or f"call_{index}", known.tool or tool, known.arguments + arguments
        )

    def _ending(self, missing: str) -> Iterator[Delta]:
        """Give the calls and the end; raise a BackendError for a refusal, or a reply cut off without the `missing`."""
        tokens = self._prompt_tokens, self._completion_tokens
        if self._refusal:
            raise refusal(self._refusal, tokens)
        if self._reason is None:
            raise cut_off(missing)
        for _, call in sorted(self._calls.items()):
            yield replace(call, arguments=call.arguments or "{}")
        yield StreamEnd(finish_reason(self._reason), self._model, *tokens)


class ServerBackend(Backend):
    """A client of one model server; all its sessions share its connections."""

    def __init__(self, settings: Settings, server: Server, headers: Mapping[str, str] | None = None) -> None:
        from app.backends.wire.http_client import client  # studies without such a model need none of what it imports

        self._server, self._client = server, client(settings, server, headers)
        self._dialects = Dialects(settings, server.url)

    def read(
        self,
        request: Request,
        opening: AbstractAsyncContextManager[httpx2.Response],
        framing: WholeFraming,
        decoder: ReplyDecoder,
        until: str | None = None,
    ) -> AsyncGenerator[Delta]:
        """The reply in the answer to a request; `until` is the study's mark for the end of reasoning."""
        dialect = self._dialects.of(request)
        return streamed(self._server, opening, framing, decoder, dialect, dialect.splitter(until))

    not_streamed = staticmethod(not_streamed)

    def save(self, request: Request) -> None:
        self._dialects.save(request)

    async def close(self) -> None:
        await self._client.aclose()


async def streamed(
    server: Server,
    opening: AbstractAsyncContextManager[httpx2.Response],
    framing: WholeFraming,
    decoder: ReplyDecoder,
    dialect: Dialect,
    splitter: ReasoningSplitter,
) -> AsyncGenerator[Delta]:
    """Leaving early closes the connection. An answer in one piece is in the `StreamEnd`, or the error, as it came."""
    sent = ""
    try:
        async with opening as response, aclosing(_pieces(response, server)) as pieces:
            sent = PICTURE.sub("[picture]", text_from(response.request.content))
            async for piece in pieces:
                for delta in ending(framing, decoder) if piece is None else decoded(framing.feed(piece), decoder):
                    for one in splitter.split(delta):
                        if not isinstance(one, StreamEnd):
                            yield one
                            continue
                        dialect.remember(splitter, one.finish_reason)
                        await _drain(pieces)
                        raw = server.mask(text_from(framing.body))
                        yield replace(one, adapted=dialect.adapted, sent=server.mask(sent), raw=raw)
                        return
    except BackendError as error:
        for one in splitter.flush():
            yield one
        raise masked(error, server, error.sent or sent, error.raw or text_from(framing.body)) from None


async def _pieces(response: httpx2.Response, server: Server) -> AsyncGenerator[bytes | None]:
    """The body as it comes, and None at its end."""
    from app.backends.wire.http_client import WIRE_ERRORS, http_error

    try:
        async with aclosing(response.aiter_bytes()) as pieces:
            async for piece in pieces:
                yield piece
    except WIRE_ERRORS as error:
        raise http_error(server, error) from None
    yield None


async def _drain(pieces: AsyncGenerator[bytes | None]) -> None:
    with suppress(TimeoutError, BackendError):
        async with asyncio.timeout(DRAIN_S):
            async for _ in pieces:
                pass


def decoded(values: Iterator[Any], decoder: ReplyDecoder) -> Iterator[Delta]:
    for value in values:
        if value is None:
            yield from decoder.end(done=True)
            return
        if isinstance(value, dict) and (value.get("error") or "error" in (value.get("type"), value.get("object"))):
            raise error_in_stream(value.get("error") or value)
        yield from decoder.read(value)


def ending(framing: WholeFraming, decoder: ReplyDecoder) -> Iterator[Delta]:
    yield from decoded(framing.rest(), decoder)
    yield from decoder.end(done=False)

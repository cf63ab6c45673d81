"""A reply in progress as server-sent events: `delta` with new text, then `done` with the next screen. The response to
the action that started the reply begins with `screen`.

Most messages that the server sends are `delta` events, so each passes through as little code as possible.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.rendering import markdown


async def plain_response(words: AsyncIterator[tuple[str, int]]) -> AsyncIterator[Mapping[str, Any]]:
    """The pieces as they arrive: `text`, and the `offset` after it; 0 if the reply starts over."""
    async for text, end in words:
        yield {"text": text, "offset": end}


async def rendered_reply(
    words: AsyncIterator[tuple[str, int]], *, dollars: bool, copy: str
) -> AsyncIterator[Mapping[str, Any]]:
    """The pieces of `plain_response`; when blocks are complete, also their `html` and the text after them (`rest`).

    Each block is rendered once and never changes afterwards, so the page does not flicker and selections stay.
    """
    rest, marks = "", 0
    async for text, end in words:
        piece: dict[str, Any] = {"text": text, "offset": end}
        rest = rest + text if end else ""
        if "\n" in text and "\n\n" in rest and marks <= markdown.MOST_MARKS:
            sure, rest = await asyncio.to_thread(markdown.extended, rest, dollars=dollars)
            marks += markdown.markup(sure)
            if sure.strip():
                html = await asyncio.to_thread(markdown.render_message, sure, dollars=dollars, copy=copy)
                piece |= {"html": html, "rest": rest}
        yield piece


class ReplyStream(Response):
    """A stream of server-sent events. It does not watch for disconnects, because that would cost as much as a request,
    and replies end soon in any case."""

    media_type = "text/event-stream"

    def __init__(
        self,
        words: AsyncIterator[Mapping[str, Any]],
        after: Callable[[], Awaitable[bytes]],
        screen: bytes | None = None,
    ) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._words, self._after, self._screen = words, after, screen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._screen is not None:
            event = b"event: screen\ndata: " + self._screen + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        async for piece in self._words:
            event = b"event: delta\ndata: " + orjson.dumps(piece) + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        event = b"event: done\ndata: " + await self._after() + b"\n\n"
        await send({"type": "http.response.body", "body": event})

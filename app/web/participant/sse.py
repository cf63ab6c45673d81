"""A reply on its way as server-sent events: `delta` for its words, then `done` with what comes after it. The answer to
the click that asked for it begins with `screen`.

Each piece passes through as few hands as can be, as pieces are most of all that is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.web.rendering import markdown


async def plain_response(words: AsyncIterator[tuple[str, int]]) -> AsyncIterator[Mapping[str, Any]]:
    """Pieces as they come: `text`, and the `offset` after it; 0 where the reply begins anew."""
    async for text, end in words:
        yield {"text": text, "offset": end}


async def rendered_reply(
    words: AsyncIterator[tuple[str, int]], *, dollars: bool, copy: str
) -> AsyncIterator[Mapping[str, Any]]:
    """Pieces as `plain` gives them; with each block that is whole its `html`, and in `rest` the text after it.

    A block is rendered once, and what is already shown never changes: nothing flickers, and what is selected stays so.
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
    """A stream that ends soon in any case: to watch whether somebody still listens would cost as much as a click."""

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
        """Send all of it; what nobody listens to is dropped."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        if self._screen is not None:
            event = b"event: screen\ndata: " + self._screen + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        async for piece in self._words:
            event = b"event: delta\ndata: " + orjson.dumps(piece) + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        event = b"event: done\ndata: " + await self._after() + b"\n\n"
        await send({"type": "http.response.body", "body": event})

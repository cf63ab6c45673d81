"""A reply on its way as server-sent events: `delta` for its words, then `done` with what comes after it. The answer to
the click that asked for it begins with `screen`.

Each piece passes through as few hands as can be, as pieces are most of all that is sent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Events(Response):
    """A stream that ends soon in any case: to watch whether somebody still listens would cost as much as a click."""

    media_type = "text/event-stream"

    def __init__(
        self, words: AsyncIterator[tuple[str, int]], after: Callable[[], Awaitable[bytes]], screen: bytes | None = None
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
        async for text, end in self._words:
            event = b"event: delta\ndata: " + orjson.dumps({"text": text, "offset": end}) + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        event = b"event: done\ndata: " + await self._after() + b"\n\n"
        await send({"type": "http.response.body", "body": event})

"""Tests of a draft's models, of which the page can follow the replies while they come.

The event of the button returns the results of all models at once, because the console uses Gradio without its queue.
Meanwhile the page reads this route: a line of JSON, `{model: text so far}`, whenever a text has grown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from app.backends.model_ref import ModelRef
from app.calls.caller import Attempt
from app.clock import SystemClock
from app.config.settings import Settings
from app.session.replies.buffer import ReplyBuffer
from app.session.replies.model_check import check_models
from app.web.console.current_user import VISITOR, CurrentUser

POLL_S = 0.1
BEGIN_S = 10
"""How long a page waits for its test to begin: the request that begins it may arrive later."""


class ModelTests:
    """The tests that run now, one for each account."""

    def __init__(self) -> None:
        self._running: dict[str, Mapping[str, ReplyBuffer]] = {}

    def run(self, visitor: CurrentUser, refs: Sequence[ModelRef], settings: Settings) -> list[Attempt]:
        """Call the models at the same time, each once; their attempts in the same order."""
        replies = {ref.label: ReplyBuffer() for ref in refs}
        self._running[visitor.name] = replies
        try:
            return asyncio.run(check_models(refs, settings, SystemClock(), list(replies.values())))
        finally:
            if self._running.get(visitor.name) is replies:
                del self._running[visitor.name]

    def route(self) -> Route:
        return Route("/console/model-test", self._follow, methods=["GET"])

    async def _follow(self, request: Request) -> Response:
        visitor: CurrentUser = request.scope[VISITOR]
        return StreamingResponse(self.lines(visitor.name), media_type="application/x-ndjson")

    async def lines(self, name: str) -> AsyncIterator[bytes]:
        """The texts of an account's test, until it is over."""
        for _ in range(int(BEGIN_S / POLL_S)):
            if name in self._running:
                break
            await asyncio.sleep(POLL_S)
        sent_before: Mapping[str, str] = {}
        while (replies := self._running.get(name)) is not None:
            texts = {label: reply.text for label, reply in replies.items()}
            if texts != sent_before:
                yield orjson.dumps(texts) + b"\n"
            sent_before = texts
            await asyncio.sleep(POLL_S)

"""Whether a server works: it answers, and so does its database."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from storage.engine import Database, ping


def health(database: Database) -> Callable[[Request], Awaitable[Response]]:
    """What answers to `/healthz`."""

    async def answer(_: Request) -> Response:
        await asyncio.to_thread(ping, database)
        return PlainTextResponse("ok")

    return answer

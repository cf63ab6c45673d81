"""Who receives alerts: a server to which they are posted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


@dataclass
class Posted:
    """A server that keeps what was posted to it, and answers with this status."""

    url: str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    requests: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [orjson.loads(content)["text"] for _, content in self.requests]

    async def take(self, request: Request) -> Response:
        self.requests.append((dict(request.headers), await request.body()))
        return PlainTextResponse("ok" if self.status == 200 else "no_service", self.status, dict(self.headers))


@asynccontextmanager
async def webhook(certificate: Path | None = None) -> AsyncIterator[Posted]:
    posted = Posted()
    app = Starlette(routes=[Route("/{path:path}", posted.take, methods=["GET", "POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, lifespan="off", ssl_certfile=certificate))
    task = asyncio.create_task(server.serve())
    try:
        while not server.started:
            await asyncio.sleep(0.01)
        posted.url = f"http{'s' if certificate else ''}://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/hooks/secret-path"
        yield posted
    finally:
        server.should_exit = True
        await task

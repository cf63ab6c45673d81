"""A server to which alerts are posted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import orjson

from tests.fakes.http_server import Answer, HttpFake, Request, serve


class Posted(HttpFake):
    """A server that keeps the headers and the content of what was posted to it, and answers with this status."""

    status = 200
    headers: Mapping[str, str] = {}

    @property
    def texts(self) -> list[str]:
        return [orjson.loads(content)["text"] for _, content in self.requests]

    def answer(self, request: Request) -> Answer:
        self.requests.append((request.headers, request.body))
        return Answer(self.status, b"ok" if self.status == 200 else b"no_service", self.headers)


@asynccontextmanager
async def webhook() -> AsyncIterator[Posted]:
    with serve(Posted()) as posted:
        posted.url += "/hooks/secret-path"
        yield posted

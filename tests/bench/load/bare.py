"""The limit: a bare Starlette server of the same flow, which checks nothing, paints nothing and keeps one table.

`python -m tests.bench.load.bare PORT FOLDER MODEL_URL`. It speaks as much of the participant API as the participants of
the bench use, answers with as many bytes, asks the model by the same client, and answers a click once it is on disk
(synchronous=FULL, all that wait in one commit), as Parley does.
"""

from __future__ import annotations

import asyncio
import queue
import secrets
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from app.backends.base import PromptMessage, TextDelta
from app.backends.base import Request as Question
from app.backends.openai import OpenAI
from app.config.settings import Settings

CHUNK_S = 0.05
PAGE = b"<html>" + b"x" * 90_000 + b"</html>"
PANEL = "<p>" + "q" * 2_500 + "</p>"
STEPS = 7


class Store:
    """One table, one writer, all that wait in one commit."""

    def __init__(self, folder: Path) -> None:
        self._waiting: queue.SimpleQueue[tuple[tuple[Any, ...], asyncio.Future[None]]] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._write, args=(folder / "bare.db",), daemon=True).start()

    def put(self, *row: Any) -> asyncio.Future[None]:
        done = self._loop.create_future()
        self._waiting.put((row, done))
        return done

    def _write(self, path: Path) -> None:
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;")
        database.execute("CREATE TABLE fact (who TEXT, at REAL, kind TEXT, data TEXT)")
        while True:
            some = [self._waiting.get()]
            while not self._waiting.empty():
                some.append(self._waiting.get())
            database.execute("BEGIN")
            database.executemany("INSERT INTO fact VALUES (?, ?, ?, ?)", [row for row, _ in some])
            database.execute("COMMIT")
            self._loop.call_soon_threadsafe(_tell, [done for _, done in some])


def _tell(those: list[asyncio.Future[None]]) -> None:
    for done in those:
        if not done.done():
            done.set_result(None)


class Bare:
    """The server's state: where everybody is, in memory; and what was said."""

    def __init__(self, folder: Path, model_url: str) -> None:
        self._folder, self._model_url = folder, model_url
        self._steps: dict[str, int] = {}
        self._store: Store
        self._model: OpenAI

    async def start(self) -> None:
        self._store = Store(self._folder)
        settings = Settings(_env_file=None, openai_base_url=self._model_url)
        self._model = OpenAI(settings, asyncio.sleep, None)

    async def greet(self, _: Request) -> Response:
        return Response(PAGE[:3_000], media_type="text/html")

    async def begin(self, _: Request) -> Response:
        who = secrets.token_hex(8)
        self._steps[who] = 0
        await self._store.put(who, time.time(), "enrolled", "{}")
        response = RedirectResponse("/", 303)
        response.set_cookie("who", who)
        return response

    async def page(self, _: Request) -> Response:
        return Response(PAGE, media_type="text/html")

    async def look(self, request: Request) -> Response:
        await request.body()
        return Response(self._screen(request.cookies["who"]), media_type="application/json")

    async def act(self, request: Request) -> Response:
        """The next screen, once the fact is on disk; with the model's words, where something was said."""
        who, body = request.cookies["who"], await request.body()
        self._steps[who] += 1
        kind = orjson.loads(body)["kind"]
        await self._store.put(who, time.time(), kind, body.decode())
        if kind == "say":
            return StreamingResponse(self._words(who), media_type="text/event-stream")
        return Response(self._screen(who), media_type="application/json")

    async def draft(self, request: Request) -> Response:
        who, body = request.cookies["who"], await request.body()
        await self._store.put(who, time.time(), "draft", body.decode())
        return Response(b'{"saved":true}', media_type="application/json")

    async def telemetry(self, request: Request) -> Response:
        self._store.put(request.cookies["who"], time.time(), "telemetry", (await request.body()).decode())
        return Response(status_code=204)

    async def _words(self, who: str) -> AsyncIterator[bytes]:
        yield b"event: screen\ndata: " + self._screen(who) + b"\n\n"
        said, waiting, last = "", "", 0.0
        async for delta in self._model.stream(Question("load-1", (PromptMessage("user", "help"),))):
            waiting += delta.text if isinstance(delta, TextDelta) else ""
            now = time.monotonic()
            if waiting and now - last >= CHUNK_S:
                said, waiting, last = said + waiting, "", now
                yield b"event: delta\ndata: " + orjson.dumps({"text": said[-60:], "offset": len(said)}) + b"\n\n"
        await self._store.put(who, time.time(), "replied", said + waiting)
        yield b'event: delta\ndata: {"text":"' + waiting.encode() + b'"}\n\n'
        yield b"event: done\ndata: " + self._screen(who) + b"\n\n"

    def _screen(self, who: str) -> bytes:
        step = self._steps[who]
        told = {"path": f"p{step}", "seen": step, "shown": "x" * 60, "ended": step >= STEPS, "telemetry": True,
                "note": "", "faults": {}, "updates": {"left": {"value": PANEL}}}  # fmt: skip
        return orjson.dumps(told)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/s/{study}", self.greet, methods=["GET"]),
                Route("/s/{study}", self.begin, methods=["POST"]),
                Route("/", self.page),
                Route("/api/look", self.look, methods=["POST"]),
                Route("/api/act", self.act, methods=["POST"]),
                Route("/api/draft", self.draft, methods=["POST"]),
                Route("/api/telemetry", self.telemetry, methods=["POST"]),
                Route("/healthz", self.greet),
            ]
        )


async def main(port: int, folder: Path, model_url: str) -> None:
    bare = Bare(folder, model_url)
    await bare.start()
    config = uvicorn.Config(bare.app(), host="127.0.0.1", port=port, http="h11", log_level="error", access_log=False)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    import uvloop

    uvloop.run(main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))

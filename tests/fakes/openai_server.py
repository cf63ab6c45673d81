"""A model server that speaks OpenAI's streaming Chat Completions over real HTTP, with faults on demand.

    with serve() as server:
        settings = Settings(openai_base_url=server.base_url)
        ...
        server.requests[-1].body["messages"]

The model's name says what happens: `fault:NAME` for a name in FAULTS, anything else gives an ordinary reply,
which is the last message said back (`reply_to`). It runs in a thread of its own on a free port of the
loopback.
"""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

FINGERPRINT = "fp_fake"
HANG_S = 30.0


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class Server:
    """A running fake: where it is, what it was asked, and what became of its connections."""

    base_url: str = ""
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    """How many connections were opened, ever."""
    dropped: int = 0
    """How many replies the client left before their end."""

    def wait_until_dropped(self, count: int = 1, timeout_s: float = 2.0) -> bool:
        """Wait until the client has left `count` replies early."""
        give_up = time.monotonic() + timeout_s
        while self.dropped < count and time.monotonic() < give_up:
            time.sleep(0.005)
        return self.dropped >= count


def reply_to(body: dict[str, Any]) -> str:
    """Give the ordinary reply to a request."""
    return f"You said: {body['messages'][-1]['content']} – and that is *all* ∑ of it."


@contextmanager
def serve() -> Iterator[Server]:
    """Run the fake until the block ends."""
    server, started, stop = Server(), threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        listener = await asyncio.start_server(lambda r, w: _connection(server, r, w), "127.0.0.1", 0)
        server.base_url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        started.set()
        await stop.wait()
        listener.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def main() -> None:
        loop.run_until_complete(run())
        loop.close()

    thread = threading.Thread(target=main, daemon=True)
    thread.start()
    if not started.wait(5):
        raise RuntimeError("The fake model server did not start within 5 s.")
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(5)


class _Left(Exception):
    """The client has closed the connection."""


@dataclass(slots=True)
class _Reply:
    """What a fault writes with: a response on one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: dict[str, Any]

    async def answer(self, status: int, content: str, kind: str = "application/json", **headers: str) -> None:
        """Send a whole response."""
        data = content.encode()
        await self._head(status, {"content-type": kind, "content-length": str(len(data)), **headers})
        await self._write(data)

    async def error(self, status: int, message: str, code: str | None = None, **headers: str) -> None:
        """Send an error in OpenAI's form."""
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        await self.answer(status, json.dumps({"error": error}), **headers)

    async def open(self) -> None:
        """Begin a stream of events."""
        await self._head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})

    async def raw(self, text: str) -> None:
        """Send one piece of the stream as it is."""
        data = text.encode()
        await self._write(b"%x\r\n%b\r\n" % (len(data), data))

    async def say(self, text: str) -> None:
        """Send a piece of the reply."""
        await self.chunk([{"index": 0, "delta": {"content": text}, "finish_reason": None}])

    async def finish(self, reason: str = "stop") -> None:
        """Send the finish reason, the usage if it was asked for, and [DONE]."""
        await self.chunk([{"index": 0, "delta": {}, "finish_reason": reason}])
        if (self.body.get("stream_options") or {}).get("include_usage"):
            await self.chunk([], usage={"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19})
        await self.raw("data: [DONE]\n\n")
        await self.close()

    async def chunk(self, choices: list[dict[str, Any]], **more: Any) -> None:
        """Send one chat.completion.chunk."""
        chunk = {
            "id": "chatcmpl-fake",
            "object": "chat.completion.chunk",
            "created": 1_760_000_000,
            "model": f"{self.body['model']}-2026",
            "system_fingerprint": FINGERPRINT,
            "choices": choices,
            **more,
        }
        await self.raw(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n")

    async def close(self) -> None:
        """End the stream properly."""
        await self._write(b"0\r\n\r\n")

    async def wait(self, seconds: float) -> None:
        """Wait, unless the client leaves."""
        try:
            if await asyncio.wait_for(self.reader.read(1), seconds) == b"":
                raise _Left
        except TimeoutError:
            return

    async def _head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Fake", "x-request-id: req_fake"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self._write("\r\n".join([*lines, "", ""]).encode())

    async def _write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


async def _ordinary(reply: _Reply) -> None:
    await reply.open()
    await reply.chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
    for word in reply_to(reply.body).split(" "):
        await reply.say(word if word == "You" else f" {word}")
        await asyncio.sleep(0)
    await reply.finish()


async def _status_429(reply: _Reply) -> None:
    await reply.error(429, "Rate limit reached", "rate_limit_exceeded", retry_after="7")


async def _drop(reply: _Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    reply.writer.transport.abort()


async def _no_finish(reply: _Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.close()


async def _empty(reply: _Reply) -> None:
    await reply.open()
    await reply.say("")
    await reply.finish()


async def _done_only(reply: _Reply) -> None:
    await reply.open()
    await reply.raw("data: [DONE]\n\n")
    await reply.close()


async def _malformed(reply: _Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.raw('data: {"id": "c", broken\n\n')
    await reply.finish()


async def _stream_error(reply: _Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.raw('data: {"error": {"message": "The server had an error", "type": "server_error"}}\n\n')
    await reply.close()


async def _hang(reply: _Reply) -> None:
    await reply.wait(HANG_S)


async def _hang_midway(reply: _Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.wait(HANG_S)


async def _drip(reply: _Reply) -> None:
    await reply.open()
    while True:
        await reply.say("x")
        await reply.wait(0.02)


async def _keep_alive(reply: _Reply) -> None:
    await reply.open()
    while True:
        await reply.raw(": keep-alive\n\n")
        await reply.wait(0.02)


async def _flood(reply: _Reply) -> None:
    await reply.open()
    while True:
        await reply.say("blah " * 200)
        await reply.wait(0.001)


async def _partial(reply: _Reply, reason: str) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.finish(reason)


async def _no_usage(reply: _Reply) -> None:
    await reply.open()
    await reply.say("Hello")
    await reply.chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    await reply.close()


FAULTS: dict[str, Callable[[_Reply], Awaitable[None]]] = {
    "400-context": lambda r: r.error(400, "maximum context length is 8192 tokens", "context_length_exceeded"),
    "400-filter": lambda r: r.error(400, "content management policy", "content_filter"),
    "401": lambda r: r.error(401, "Incorrect API key provided: sk-***", "invalid_api_key"),
    "404": lambda r: r.error(404, "The model does not exist", "model_not_found"),
    "429": _status_429,
    "429-quota": lambda r: r.error(429, "You exceeded your current quota", "insufficient_quota"),
    "500": lambda r: r.error(500, "boom"),
    "503-html": lambda r: r.answer(503, "<html>bad gateway</html>", "text/html"),
    "content-filter": lambda r: _partial(r, "content_filter"),
    "done-only": _done_only,
    "drip": _drip,
    "drop": _drop,
    "empty": _empty,
    "flood": _flood,
    "hang": _hang,
    "hang-midway": _hang_midway,
    "html": lambda r: r.answer(200, "<html>Please log in</html>", "text/html"),
    "json": lambda r: r.answer(200, '{"object": "chat.completion", "choices": []}'),
    "keep-alive": _keep_alive,
    "length": lambda r: _partial(r, "length"),
    "malformed": _malformed,
    "no-finish": _no_finish,
    "no-usage": _no_usage,
    "stream-error": _stream_error,
    "tool-calls": lambda r: _partial(r, "tool_calls"),
}
"""What can be asked for as the model `fault:NAME`; length and no-usage are sound replies, if unusual."""


async def _connection(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    server.connections += 1
    try:
        async for received in _requests(reader):
            server.requests.append(received)
            await _play(_Reply(reader, writer, received.body), received.path)
    except (_Left, ConnectionError):
        server.dropped += 1
    finally:
        writer.close()


async def _play(reply: _Reply, path: str) -> None:
    model = str(reply.body.get("model"))
    if not path.endswith("/chat/completions"):
        await reply.error(404, f"Unknown request URL: POST {path}")
    elif model.startswith("fault:"):
        await FAULTS[model.removeprefix("fault:")](reply)
    else:
        await _ordinary(reply)


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[Received]:
    while line := await reader.readline():
        path = line.split()[1].decode()
        headers = {}
        while header := (await reader.readline()).decode().strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        yield Received(path, headers, json.loads(content or b"{}"))

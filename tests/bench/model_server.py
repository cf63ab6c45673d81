"""A model server for benches: Chat Completions, thousands a second, in one piece after 50 ms; as a stream 60 tokens,
the first after 300 ms, the others 20 ms apart.

`python -m tests.bench.model_server` prints its port and serves until its input ends. By hand, as what is measured
shares two cores with it; HTTP is read as far as clients of it go: requests with a length, one after another.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvloop

ROOT = Path(__file__).parents[2]
SERVERS_CORE, DRIVERS_CORE = 0, 1
WHOLE_S = 0.05
TOKENS, FIRST_S, EACH_S = 60, 0.3, 0.02
WORDS = "the sum of the squares is then bounded by the integral so that we get what was to be shown".split()  # noqa: SIM905
SAYS: dict[str, Any] = {"id": "chatcmpl-1", "created": 1, "model": "fast-1"}
USAGE = {"prompt_tokens": 180, "completion_tokens": 200, "total_tokens": 380}


def _event(choices: list[Any], **more: Any) -> bytes:
    told = {**SAYS, "object": "chat.completion.chunk", "choices": choices, **more}
    data = b"data: " + json.dumps(told).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


def _frame(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _event([{"index": 0, "delta": delta, "finish_reason": finish}])


def _json(told: Any) -> bytes:
    body = json.dumps(told).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
FRAMES = [_frame({"content": WORDS[n % len(WORDS)] + " "}) for n in range(TOKENS)]
END = _frame({}, "stop") + _event([], usage=USAGE) + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"
SAID = {"role": "assistant", "content": f"A. {' '.join(WORDS * 9)}"}
WHOLE = _json(
    {
        **SAYS,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": SAID, "finish_reason": "stop"}],
        "usage": USAGE,
    }
)


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self) -> None:
        self._read = b""
        self._transport: asyncio.Transport
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, rest = self._read.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        if not found or len(rest) < length:
            return
        self._read = rest[length:]
        if b'"stream":true' in rest[:length].replace(b" ", b""):
            begun = self._loop.time() + FIRST_S
            self._loop.call_at(begun, self._speak, begun, 0)
        else:
            self._loop.call_later(WHOLE_S, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(WHOLE)

    def _speak(self, begun: float, number: int) -> None:
        if self._transport.is_closing():
            return
        if number == TOKENS:
            self._transport.write(END)
            return
        self._transport.write(HEAD * (number == 0) + FRAMES[number])
        later = number + 1
        self._loop.call_at(begun + min(later, TOKENS - 1) * EACH_S, self._speak, begun, later)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


@contextmanager
def on_core(number: int) -> Iterator[None]:
    """Let this process, and what it starts meanwhile, run on one core."""
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {number})
    try:
        yield
    finally:
        os.sched_setaffinity(0, everywhere)


class ModelServer:
    """The server as others see it."""

    def __init__(self, port: int) -> None:
        self.base_url = f"http://127.0.0.1:{port}/v1"


@contextmanager
def model_server() -> Iterator[ModelServer]:
    command = [sys.executable, "-m", "tests.bench.model_server"]
    with (
        on_core(DRIVERS_CORE),
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdin
        assert process.stdout
        try:
            yield ModelServer(int(process.stdout.readline()))
        finally:
            process.stdin.close()


if __name__ == "__main__":
    uvloop.run(serve())

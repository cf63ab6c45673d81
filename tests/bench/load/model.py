"""A model server for the load bench: each reply has 60 tokens, the first after 300 ms, the others 20 ms apart.

`python -m tests.bench.load.model` prints its port and serves until its input ends. Chat Completions as a stream only,
by hand, as it shares a core with those who load the server.
"""

from __future__ import annotations

import asyncio
import json
import sys

import uvloop

TOKENS, FIRST_S, EACH_S = 60, 0.3, 0.02
WORDS = "the sum of the squares is then bounded by the integral so that we get what was to be shown".split()  # noqa: SIM905


def _event(**told: object) -> bytes:
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "load-1", **told}
    return b"data: " + json.dumps(whole).encode() + b"\n\n"


def _frame(delta: dict[str, str], finish: str | None = None) -> bytes:
    return _event(choices=[{"index": 0, "delta": delta, "finish_reason": finish}])


def _chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
FRAMES = [_chunked(_frame({"content": WORDS[n % len(WORDS)] + " "})) for n in range(TOKENS)]
USAGE = _event(choices=[], usage={"prompt_tokens": 40, "completion_tokens": TOKENS, "total_tokens": 40 + TOKENS})
END = _chunked(_frame({}, "stop")) + _chunked(USAGE + b"data: [DONE]\n\n") + b"0\r\n\r\n"


class Speaker(asyncio.Protocol):
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
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        if len(rest) < length:
            return
        self._read = rest[length:]
        begun = self._loop.time() + FIRST_S
        self._loop.call_at(begun, self._speak, begun, 0)

    def _speak(self, begun: float, number: int) -> None:
        if self._transport.is_closing():
            return
        if number == TOKENS:
            self._transport.write(END)
            return
        self._transport.write(HEAD + FRAMES[number] if number == 0 else FRAMES[number])
        later = number + 1
        self._loop.call_at(begun + min(later, TOKENS - 1) * EACH_S, self._speak, begun, later)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Speaker, "127.0.0.1", 0, backlog=4_096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    uvloop.run(serve())

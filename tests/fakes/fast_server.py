"""A model server for benches, as a process of its own: Chat Completions only, thousands a second, with faults.

    with fast_server(latency_ms=50, busy=0.05) as server:
        Settings(openai_base_url=server.base_url)
        server.counts()["answered"], server.ledger()

Each reply that is sent out whole has an id of its own, so what was answered can be compared with what was stored: an id
that is not there was lost, a body that was answered more often than it should have been was paid for twice. HTTP is
read as far as clients of it go: requests with a length, one after another. Written by hand, as what is measured shares
two cores with it.
"""

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import uvloop

ROOT = Path(__file__).parents[2]
LETTERS = "ABCD"
WORDS = "the question asks for a value, so we consider each option in turn and rule out those that fail; "
CHARS = 800
BUSY = '{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}'
BROKEN = '{"error":{"message":"The server had an error","type":"server_error","code":null}}'
PROMPT_TOKENS, COMPLETION_TOKENS = 180, 200
REFUSAL_S = 0.005
"""How soon a server says that it is busy."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to requests; shares of all."""

    latency_ms: float = 50.0
    busy: float = 0.0
    """429."""
    broken: float = 0.0
    """500."""
    dropped: float = 0.0
    """The connection is closed without a word."""
    seed: int = 0


def _head(status: str, body: str) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body.encode())}\r\n\r\n"
    return head.encode() + body.encode()


def _completion(content: str) -> tuple[bytes, bytes]:
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS}
    choice = {"index": 0, "message": {"role": "assistant", "content": content, "refusal": None}}
    reply = {
        "id": "chatcmpl-000000000",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": "fast-1",
        "choices": [choice | {"logprobs": None, "finish_reason": "stop"}],
        "usage": usage | {"total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS},
        "service_tier": "default",
    }
    before, after = _head("200 OK", json.dumps(reply)).split(b"000000000")
    return before, after


class State:
    """What the server knows, and decides for each request."""

    def __init__(self, fate: Fate) -> None:
        self.fate = fate
        self.counts: Counter[str] = Counter()
        self.answers: list[tuple[int, str, float]] = []
        self.chance = random.Random(fate.seed).random
        self.busy = _head("429 Too Many Requests", BUSY)
        self.broken = _head("500 Internal Server Error", BROKEN)
        self.texts = [_completion(f"{letter}. {(WORDS * 20)[:CHARS]}") for letter in LETTERS]
        found = [{"attempted_answer": True, "answer_val": "", "answer_letter": letter} for letter in LETTERS]
        self.findings = [_completion(json.dumps(one)) for one in found]

    def fate_of(self) -> str:
        fate = self.fate
        drawn = self.chance()
        for name, share in (("busy", fate.busy), ("broken", fate.broken), ("dropped", fate.dropped)):
            if drawn < share:
                return name
            drawn -= share
        return "answered"

    def reply(self, body: bytes) -> bytes:
        number = self.counts["answered"]
        self.counts["answered"] += 1
        digest = blake2b(body, digest_size=8).digest()
        self.answers.append((number, digest.hex(), time.time()))
        texts = self.findings if b"attempted_answer" in body else self.texts
        before, after = texts[digest[0] % len(LETTERS)]
        return b"%b%09d%b" % (before, number, after)

    def told(self, path: bytes) -> bytes:
        used = resource.getrusage(resource.RUSAGE_SELF)
        about: Any = {**self.counts, "cpu_s": used.ru_utime + used.ru_stime}
        return _head("200 OK", json.dumps(self.answers if path.startswith(b"/ledger") else about))


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, state: State, later: Callable[..., asyncio.TimerHandle]) -> None:
        self.state, self.later = state, later
        self.read = b""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self.state.counts["connections"] += 1

    def data_received(self, data: bytes) -> None:
        self.read += data
        end = self.read.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.read[:end].lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self.read) < end + 4 + length:
            return
        body = self.read[end + 4 : end + 4 + length]
        self.read = self.read[end + 4 + length :]
        if head.startswith(b"get "):
            self.transport.write(self.state.told(head[4:]))
        else:
            self._asked(body)

    def _asked(self, body: bytes) -> None:
        counts, fate = self.state.counts, self.state.fate_of()
        counts["requests"] += 1
        if fate == "answered":
            self.later(self.state.fate.latency_ms / 1000, self._answer, body)
        elif fate == "dropped":
            counts[fate] += 1
            self.later(self.state.fate.latency_ms / 2000, self.transport.abort)
        else:
            counts[fate] += 1
            reply = self.state.broken if fate == "broken" else self.state.busy
            self.later(REFUSAL_S, self._send, reply)

    def _answer(self, body: bytes) -> None:
        if self.transport.is_closing():
            self.state.counts["left"] += 1  # the client is gone: nobody pays for what nobody got
        else:
            self.transport.write(self.state.reply(body))

    def _send(self, reply: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(reply)


async def run(fate: Fate) -> None:
    """Serve on a free port, which is the first line of the output, until the input ends."""
    loop, state = asyncio.get_running_loop(), State(fate)
    server = await loop.create_server(partial(Connection, state, loop.call_later), "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


@dataclass(frozen=True, slots=True)
class FastServer:
    """The server as others see it."""

    port: int

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def counts(self) -> dict[str, float]:
        return defaultdict(float, self._get("counts"))

    def ledger(self) -> list[tuple[int, str, float]]:
        """What was answered: the reply's number, which request by its digest, and when (seconds since 1970)."""
        return [(number, digest, at_s) for number, digest, at_s in self._get("ledger")]

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}") as response:
            return json.load(response)


@contextmanager
def fast_server(**fate: Any) -> Iterator[FastServer]:
    command = [sys.executable, "-m", "tests.fakes.fast_server", json.dumps(fate)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield FastServer(int(process.stdout.readline()))
        finally:
            process.stdin.close()
            process.wait(60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fate", type=json.loads, help='such as {"latency_ms": 50}')
    fate = Fate(**parser.parse_args().fate)
    uvloop.run(run(fate))


if __name__ == "__main__":
    main()

"""One HTTP server for all fakes of services: in a thread, on a free port; faults come first, and then what a fake says.

with serve(ZenodoFake()) as zenodo:
    zenodo.faults.append(Fault(on="PUT /api/files/", status=503))
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Fault:
    """A fault of one request: a status with its headers; `hang` until the server ends; `cut` when half of its body has
    arrived; `lose` the answer to what was carried out; its body `damaged` on the way. `on`: a pattern of the requests
    that it meets, such as `POST studies/`."""

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False
    lose: bool = False
    damaged: bool = False
    on: str = ""


@dataclass(frozen=True)
class Request:
    """A request as it arrived, with the path below the fake's `base`."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"null")

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Answer:
    """An answer: JSON, or bytes."""

    status: int
    content: Any = None
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()


class GoneAway(Exception):
    """The client is gone: nothing is answered."""


class HttpFake:
    """A service. What it was asked is in `requests`, but for what met a fault before."""

    base = ""

    def __init__(self) -> None:
        self.url, self.faults, self.requests, self.over = "", list[Fault](), list[Any](), Event()

    def answer(self, request: Request) -> Answer:
        raise NotImplementedError

    def refusal(self, status: int, message: str) -> Answer:
        return Answer(status, {"message": message})

    def fault(self, asked: str) -> Fault:
        found = next((one for one in self.faults if re.match(one.on, asked)), None)
        if found:
            self.faults.remove(found)
        return found or Fault()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: HttpFake

    def _do(self) -> None:
        parts, length = urlsplit(self.path), int(self.headers.get("content-length") or 0)
        path = parts.path.removeprefix(self.fake.base)
        fault = self.fake.fault(f"{self.command} {path}")
        body = self.rfile.read(length // 2 if fault.cut else length)
        if fault.damaged:
            body = body[:-1] + bytes([(body[-1] + 1) % 256])
        if fault.hang:
            self.fake.over.wait(60)
        if fault.cut:
            return self._hang_up()
        if fault.hang or fault.status:
            refused = self.fake.refusal(fault.status or 504, "Not now.")
            return self._send(Answer(refused.status, refused.content, fault.headers or refused.headers))
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            answer = self.fake.answer(Request(self.command, path, query, headers, body))
        except GoneAway:
            return self._hang_up()
        return self._hang_up() if fault.lose else self._send(answer)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _send(self, answer: Answer) -> None:
        is_json = not isinstance(answer.content, bytes) and answer.content is not None
        content = json.dumps(answer.content).encode() if is_json else answer.content or b""
        given = list(answer.headers.items() if isinstance(answer.headers, Mapping) else answer.headers)
        given += [("content-type", "application/json")] * is_json
        given += [("content-length", str(len(content)))] * ("content-length" not in dict(given))
        self.send_response_only(answer.status)
        for name, value in given:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content * (self.command != "HEAD"))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _do


class _Server(ThreadingHTTPServer):
    daemon_threads = True


Fake = TypeVar("Fake", bound=HttpFake)


@contextmanager
def serve(fake: Fake) -> Iterator[Fake]:
    """Serve until the block ends."""
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": fake}))
    fake.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.over.set()
        server.shutdown()  # first, as a socket that is waited on goes on taking connections after it was closed
        server.server_close()
        thread.join(60)

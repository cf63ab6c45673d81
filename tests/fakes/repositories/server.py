"""What the fakes of repositories share: an HTTP server in a thread, routes, tokens, and faults.

with serve(ZenodoFake()) as zenodo:
    zenodo.faults.append(Fault("PUT", "/api/files/", status=503))
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.listening import Quiet, listening

TOKEN = "zqrepositorytokenqz"


@dataclass(slots=True)
class Fault:
    """What goes wrong with the next request of this method whose path has this part.

    With a `status` it is refused; if it is `cut`, the connection breaks when half of its body has arrived; if it is
    `lost`, it is done and the connection breaks before the answer; if it is `damaged`, its body changes on the way.
    """

    method: str
    part: str
    status: int = 0
    cut: bool = False
    lost: bool = False
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    match: re.Match[str] | None = None

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __getitem__(self, name: str) -> str:
        assert self.match is not None
        return unquote(self.match[name])


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: JSON, or bytes."""

    status: int
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """A request is refused."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class RepositoryFake:
    """A repository. Subclasses have `routes`: method, pattern of the path, and what answers."""

    open_paths: tuple[str, ...] = ()
    """Beginnings of paths that need no token."""

    def __init__(self) -> None:
        self.url = ""
        self.token = TOKEN
        self.faults: list[Fault] = []
        self.requests: list[Request] = []

    @property
    def routes(self) -> list[tuple[str, str, Callable[[Request], Answer]]]:
        raise NotImplementedError

    def refusal(self, status: int, message: str) -> Answer:
        raise NotImplementedError

    def fault(self, method: str, path: str) -> Fault | None:
        found = next((one for one in self.faults if one.method == method and one.part in path), None)
        if found:
            self.faults.remove(found)
        return found

    def answer(self, request: Request) -> Answer:
        public = request.path.startswith(self.open_paths) if self.open_paths else False
        if not public and request.headers.get("authorization") != f"Bearer {self.token}":
            return self.refusal(401, "The server could not verify that you are authorized.")
        for method, pattern, handler in self.routes:
            if method == request.method and (match := re.fullmatch(pattern, request.path)):
                try:
                    return handler(Request(method, request.path, request.query, request.headers, request.body, match))
                except Refusal as refused:
                    return refused.answer
        return self.refusal(404, "Not found")

    def refuse(self, status: int, message: str) -> Refusal:
        return Refusal(self.refusal(status, message))


class _Handler(Quiet):
    protocol_version = "HTTP/1.1"
    fake: RepositoryFake

    def _do(self) -> None:
        parts = urlsplit(self.path)
        fault = self.fake.fault(self.command, parts.path)
        length = int(self.headers.get("content-length") or 0)
        if fault and fault.cut:
            self.rfile.read(length // 2)
            self.close_connection = True
            return
        body = self.rfile.read(length)
        if fault and fault.damaged:
            body = body[:-1] + bytes([(body[-1] + 1) % 256])
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.command, parts.path, query, headers, body)
        self.fake.requests.append(request)
        if fault and fault.status:
            self._send(self.fake.refusal(fault.status, "Not now."))
            return
        answer = self.fake.answer(request)
        if fault and fault.lost:
            self.close_connection = True
            return
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        if isinstance(answer.content, bytes) or answer.content is None:
            self.send(answer.status, answer.content or b"", answer.headers)
        else:
            headers = {**answer.headers, "content-type": "application/json"}
            self.send(answer.status, json.dumps(answer.content).encode(), headers)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _do


Fake = TypeVar("Fake", bound=RepositoryFake)


@contextmanager
def serve(fake: Fake) -> Iterator[Fake]:
    with listening(_Handler, fake=fake) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake

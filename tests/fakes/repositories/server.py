"""The common part of repositories' fakes: routes and tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from tests.fakes.http_server import Answer, HttpFake, Request

TOKEN = "zqrepositorytokenqz"


@dataclass(frozen=True)
class Routed(Request):
    """A request with what its route's pattern found in its path."""

    match: re.Match[str]

    def __getitem__(self, name: str) -> str:
        return unquote(self.match[name])


Route = tuple[str, str, Callable[[Routed], Answer]]


class Refusal(Exception):
    """A request is refused."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class RepositoryFake(HttpFake):
    """A repository. Subclasses have `routes`: method, pattern of the path, and what answers."""

    open_paths: tuple[str, ...] = ()
    """Beginnings of paths that need no token."""

    @property
    def routes(self) -> Sequence[Route]:
        raise NotImplementedError

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if not request.path.startswith(self.open_paths) and request.headers.get("authorization") != f"Bearer {TOKEN}":
            return self.refusal(401, "The server could not verify that you are authorized.")
        for method, pattern, handler in self.routes:
            if method == request.method and (match := re.fullmatch(pattern, request.path)):
                try:
                    return handler(Routed(**vars(request), match=match))
                except Refusal as refused:
                    return refused.answer
        return self.refusal(404, "Not found")

    def refuse(self, status: int, message: str) -> Refusal:
        return Refusal(self.refusal(status, message))

"""A model server that lists its models, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.fakes.http_server import Answer, HttpFake, Request, serve

KEY = "sk-a-key-that-nobody-may-see"


class Listing(HttpFake):
    """Serves a model, or another status than 200."""

    key_header = "authorization"
    status = 200

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def answer(self, request: Request) -> Answer:
        self.asked.append(str(request))  # who sees it may change the listing
        known = request.headers.get(self.key_header, "").removeprefix("Bearer ") == KEY
        status = self.status if known else 401
        return Answer(status, {"data": [{"id": "gpt-fake"}]} if status == 200 else {"error": "no"})


@contextmanager
def model_list() -> Iterator[Listing]:
    with serve(Listing()) as listing:
        listing.url += "/v1"
        yield listing

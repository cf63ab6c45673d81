"""A model server that lists its models, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fakes.listening import Quiet, listening

KEY = "sk-a-key-that-nobody-may-see"


@dataclass
class Listing:
    """What it serves: a model, or another status than 200."""

    url: str = ""
    key_header: str = "authorization"
    status: int = 200
    asked: list[str] = field(default_factory=list)
    """Method and path of each request."""


class Handler(Quiet):
    listing: Listing

    def do_GET(self) -> None:
        known = (self.headers.get(self.listing.key_header) or "").removeprefix("Bearer ") == KEY
        status = self.listing.status if known else 401
        self.listing.asked.append(f"{self.command} {self.path}")  # who sees it may change the listing
        data = {"data": [{"id": "gpt-fake"}]} if status == 200 else {"error": "no"}
        self.send(status, json.dumps(data).encode())

    do_POST = do_GET


@contextmanager
def model_list() -> Iterator[Listing]:
    """Serve until the block ends."""
    listing = Listing()
    with listening(Handler, listing=listing) as port:
        listing.url = f"http://127.0.0.1:{port}/v1"
        yield listing

"""A model that says when it is asked, and goes on when it is let."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from app.backends.base import Delta, Request, StreamEnd, TextDelta
from tests.fakes.backends import FakeBackend, registered

ASKED: list[asyncio.Event] = []
"""For each time that the model was asked, what lets it go on after its first word."""


class Waiting(FakeBackend):
    """A backend that says a word, and the rest when it is let."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        ASKED.append(asyncio.Event())
        yield TextDelta("One ")
        await ASKED[-1].wait()
        yield TextDelta("two.")
        yield StreamEnd("stop", "waiting-v1", 10, 2)


@contextmanager
def waiting() -> Iterator[None]:
    ASKED.clear()
    with registered("waiting", Waiting):
        yield

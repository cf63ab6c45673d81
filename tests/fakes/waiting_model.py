"""A model that says when it is asked, and goes on when it is let."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any

from app.backends.base import BackendOptions, Delta, Request, StreamEnd, TextDelta
from app.config.settings import Settings
from tests.fakes.backends import registered

ASKED: list[asyncio.Event] = []
"""For each time that the model was asked, what lets it go on after its first word."""


class Waiting:
    """A backend that says a word, and the rest when it is let."""

    Options = BackendOptions

    def __init__(self, settings: Settings, sleep: Any, *_: Any) -> None:
        pass

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        ASKED.append(asyncio.Event())
        yield TextDelta("One ")
        await ASKED[-1].wait()
        yield TextDelta("two.")
        yield StreamEnd("stop", "waiting-v1", 10, 2)

    async def close(self) -> None:
        """Nothing is open."""


@contextmanager
def waiting() -> Iterator[None]:
    ASKED.clear()
    with registered("waiting", Waiting):
        yield

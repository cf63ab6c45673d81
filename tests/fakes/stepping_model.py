"""A model whose every piece a test releases, and which counts how often it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.backends.base import Backend, Delta, Request, StreamEnd, TextDelta
from tests.fakes.backends import registered

# Every time that a model was asked, in order.
ASKED: list[Asking] = []


@dataclass
class Asking:
    """One time that a model was asked: what a test releases comes next."""

    model: str
    pieces: asyncio.Queue[str | Exception | None] = field(default_factory=asyncio.Queue)
    released: list[str] = field(default_factory=list)
    ended: bool = False

    def release(self, *texts: str) -> None:
        for text in texts:
            self.released.append(text)
            self.pieces.put_nowait(text)

    def end(self) -> None:
        self.ended = True
        self.pieces.put_nowait(None)

    def finish(self, *texts: str) -> None:
        self.release(*texts)
        self.end()

    def fail(self, error: Exception) -> None:
        self.pieces.put_nowait(error)


class Stepping(Backend):
    """The backend."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        asking = Asking(request.model)
        ASKED.append(asking)
        while (piece := await asking.pieces.get()) is not None:
            if isinstance(piece, Exception):
                raise piece
            yield TextDelta(piece)
        yield StreamEnd("stop", request.model, 1, 1)


@contextmanager
def stepping() -> Iterator[None]:
    ASKED.clear()
    with registered("stepping", Stepping):
        yield

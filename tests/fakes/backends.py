"""Backends that are there for a module's tests only."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Any

from app.backends import registry
from app.backends.base import Backend, Delta, Request, StreamEnd, TextDelta

Play = Exception | str | tuple[str, Exception]
# By the model's name at its server: what it does, one after another; then it replies. A pair is words and how they
# break off.
PLAYS: dict[str, list[Play]] = {}


class Played(Backend):
    """A backend whose models fail as PLAYS says."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        told = PLAYS.get(request.model) or ["Good."]
        now = told.pop(0)
        if isinstance(now, tuple):
            yield TextDelta(now[0])
            raise now[1]
        if isinstance(now, Exception):
            raise now
        yield TextDelta(now)
        yield StreamEnd("stop", f"{request.model}-v1", 1_000, 10)


@contextmanager
def registered(name: str, cls: Any) -> Iterator[None]:
    registry.backend(name)(cls)
    try:
        yield
    finally:
        del registry.BACKENDS.entries[name]

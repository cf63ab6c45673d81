"""How tests ask a backend: one request, some limits, a clock on which nothing takes time."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass

from app.backends import registry
from app.backends.base import Backend, Delta, Message, Request, Text
from app.backends.deadlines import deadlines
from app.settings import Settings


@dataclass(frozen=True)
class Patience:
    """Limits of a reply; a sound one never reaches the defaults."""

    first_token_timeout_s: float = 5
    token_gap_timeout_s: float = 5
    reply_timeout_s: float = 10
    max_reply_chars: int = 20_000


ASKED = (Message("system", "You are a helpful tutor."), Message("user", "What is 7+(8-3)x2?"))
REQUEST = Request(model="tutor-1", messages=ASKED, temperature=0.7, max_tokens=400, seed="s1")
PATIENT = Patience()
HASTY = Patience(0.2, 0.2, 0.3, 5_000)


async def no_time(seconds: float) -> None:
    """Let others go on, and be back at once."""
    await asyncio.sleep(0)


async def collect(backend: Backend, request: Request, limits: Patience = PATIENT) -> list[Delta]:
    """Give all deltas of one reply."""
    async with aclosing(deadlines(backend.stream(request), limits)) as stream:
        return [delta async for delta in stream]


def ask(
    settings: Settings, request: Request = REQUEST, *, name: str = "openai", limits: Patience = PATIENT
) -> list[Delta]:
    """Make a backend, ask it once, close it."""

    async def once() -> list[Delta]:
        backend = registry.create(name, settings, no_time)
        try:
            return await collect(backend, request, limits)
        finally:
            await backend.close()

    return asyncio.run(once())


def said(deltas: Iterable[Delta]) -> str:
    """Give the text of a reply."""
    return "".join(delta.text for delta in deltas if isinstance(delta, Text))

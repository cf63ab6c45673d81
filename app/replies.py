"""Replies on their way: a model is asked in a task of its own, and its words wait in a buffer for whoever listens.

The task outlives the request that started it, so a reload, a second tab and a lost connection find the same reply. What
becomes of it (a `replied` or a `failed` fact) is the runtime's to record; a partial reply is never recorded as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from app.backends.base import Backend, End, Message, Request, Text
from app.backends.deadlines import Limits, deadlines
from app.clock import Clock
from experiments.core.events import Data
from experiments.core.resolve import Study

CHUNK_S = 0.05
"""How often a listener is served; the eye sees no difference below, the processor does (gradio.md)."""


@dataclass
class Reply:
    """The words that have come so far, and a signal that there are more."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    over: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, text: str) -> None:
        """More words have come."""
        self.parts.append(text)
        self.length += len(text)
        self.news.set()

    def end(self) -> None:
        """No more will come, for better or worse."""
        self.over = True
        self.news.set()

    async def follow(self, offset: int) -> AsyncIterator[tuple[str, int]]:
        """What comes after the first `offset` characters, in pieces, each with the length so far."""
        while True:
            if self.length > offset:
                text = "".join(self.parts)
                self.parts = [text]
                yield text[offset:], len(text)
                offset = len(text)
            elif self.over:
                return
            else:
                # Only where nothing came during the last yield: it would wait for what comes next, or be lost.
                self.news.clear()
                await self.news.wait()
                await asyncio.sleep(CHUNK_S)


async def ask(backend: Backend, request: Request, limits: Limits, reply: Reply, clock: Clock) -> dict[str, object]:
    """Ask a model; the data of a `replied` fact, times in microseconds; raises BackendError."""
    started_us = clock.now_us()
    first_us: int | None = None
    end = End("")
    async with aclosing(deadlines(backend.stream(request), limits)) as deltas:
        async for delta in deltas:
            if isinstance(delta, Text):
                first_us = first_us or clock.now_us()
                reply.add(delta.text)
            else:
                end = delta
    return {
        "text": "".join(reply.parts).strip(),
        "finish_reason": end.finish_reason,
        "version": end.model,
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.completion_tokens,
        "first_token_us": None if first_us is None else first_us - started_us,
        "total_us": clock.now_us() - started_us,
    }


def request_for(study: Study, job: Data, seed: str) -> Request:
    """The request for an owed reply; everything in it comes from the study and the log."""
    model = study.model(job["model"])
    return Request(
        model=model.model or job["model"],
        messages=tuple(Message(message["role"], message["text"]) for message in job["messages"]),
        temperature=model.temperature,
        max_tokens=model.max_tokens,
        options=model.options,
        seed=seed,
    )

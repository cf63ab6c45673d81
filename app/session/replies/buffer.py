"""The buffer of a reply in progress. Any number of listeners read it: a reload, a second tab, a restored connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from app.backends.base import ReasoningDelta, ReasoningEnd, TextDelta
from app.calls.caller import StopSignal

CHUNK_S = 0.04
"""The shortest time between two pieces for a listener. Shorter intervals cost processor time and look the same.
It is slightly below the interval at which text arrives here. A listener that has waited longer, as for the
first piece, gets new text at once; the end is always sent at once."""


@dataclass
class ReplyBuffer:
    parts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    length: int = 0
    beginnings: int = 0
    stopping: StopSignal = field(default_factory=StopSignal)
    """Given when the participant stops the reply; the model call then ends at once."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def begin(self) -> None:
        """Start an attempt, the first or a retry: the text of an earlier attempt is dropped."""
        self.reasoning = []
        self._restart()

    def _restart(self) -> None:
        self.parts, self.length = [], 0
        self.beginnings += 1
        self.news.set()

    def take(self, delta: TextDelta | ReasoningDelta | ReasoningEnd) -> None:
        """Append a piece of the reply; what is reasoning no listener sees, or not any longer."""
        match delta:
            case TextDelta(text):
                self.add(text)
            case ReasoningDelta(text):
                self.reasoning.append(text)
            case ReasoningEnd():
                self.reasoning.append(self.text)
                self._restart()

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)
        self.news.set()

    @property
    def stopped(self) -> bool:
        return self.stopping.given

    def end(self) -> None:
        self.over.set()
        self.news.set()

    async def follow(self, offset: int) -> AsyncIterator[tuple[str, int]]:
        """The text after the first `offset` characters, in pieces, each with the length so far.

        A length of 0 means that the reply starts over, because the model is called again.
        """
        beginning, served_s, now_s = self.beginnings, 0.0, asyncio.get_running_loop().time
        while True:
            if self.beginnings != beginning:
                beginning, offset = self.beginnings, 0
                yield "", 0
            if self.length > offset:
                if not self.over.is_set() and (early_s := served_s + CHUNK_S - now_s()) > 0:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self.over.wait(), early_s)
                    served_s = 0.0
                    continue  # a new attempt may have started
                text = "".join(self.parts)
                self.parts = [text]
                yield text[offset:], len(text)
                offset, served_s = len(text), now_s()
            elif self.over.is_set():
                return
            else:
                # Only if no text came since the last yield: that text would wait for the next signal, or be lost.
                self.news.clear()
                await self.news.wait()

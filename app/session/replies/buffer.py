"""The words of a reply on its way, in a buffer for whoever listens: a reload, a second tab, a restored connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from app.calls.caller import StopSignal

CHUNK_S = 0.04
"""How soon after one piece a listener may have the next: the eye sees no difference below, the processor does
(gradio.md). It is a little less than for what words gather on their way here. Who has waited for a word as long, as for
the first one, has it at once, and so has everybody the end."""


@dataclass
class ReplyBuffer:
    """The words that have come so far, and a signal that there are more."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    beginnings: int = 0
    stopping: StopSignal = field(default_factory=StopSignal)
    """Given by the participant who has seen enough: whoever is asking leaves off at once."""
    news: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        """The words so far."""
        return "".join(self.parts)

    def begin(self) -> None:
        """The model is asked, for the first time or anew: what came before does not count."""
        self.parts, self.length = [], 0
        self.beginnings += 1
        self.news.set()

    def add(self, text: str) -> None:
        """More words have come."""
        self.parts.append(text)
        self.length += len(text)
        self.news.set()

    @property
    def stopped(self) -> bool:
        """Whether the participant has seen enough."""
        return self.stopping.given

    def end(self) -> None:
        """No more will come, for better or worse."""
        self.over.set()
        self.news.set()

    async def follow(self, offset: int) -> AsyncIterator[tuple[str, int]]:
        """What comes after the first `offset` characters, in pieces, each with the length so far.

        A length of 0 is a new beginning: the model was asked anew.
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
                    continue  # it may have begun anew
                text = "".join(self.parts)
                self.parts = [text]
                yield text[offset:], len(text)
                offset, served_s = len(text), now_s()
            elif self.over.is_set():
                return
            else:
                # Only where nothing came since the last yield: it would wait for what comes next, or be lost.
                self.news.clear()
                await self.news.wait()

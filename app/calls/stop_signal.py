"""A signal to stop: whatever is waited for in its context ends at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class StopSignal:
    """Given once, and for good."""

    def __init__(self) -> None:
        self.given = False
        self._waits: set[asyncio.Timeout] = set()

    def give(self) -> None:
        """Let everybody who waits go on."""
        if not self.given:  # a timeout that has gone off cannot be set anew
            self.given = True
            for wait in self._waits:
                wait.reschedule(0)

    @asynccontextmanager
    async def heeded(self) -> AsyncIterator[None]:
        """What is waited for here ends when the signal is given."""
        try:
            async with asyncio.timeout(0 if self.given else None) as wait:
                self._waits.add(wait)
                try:
                    yield
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            if not self.given:
                raise

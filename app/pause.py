"""A wait that whoever knows better cuts short: words gather for a while, but nobody waits for a reply that is whole."""

from __future__ import annotations

import asyncio


class Pause:
    """Waits of one thing, by any number of tasks, until their time is or the thing is over."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()
        self.over = False

    async def last(self, seconds: float) -> None:
        """Wait so long; not at all once it is over."""
        if self.over:
            return
        loop = asyncio.get_running_loop()
        waiting = loop.create_future()
        clock = loop.call_later(seconds, _wake, waiting)
        self._waiting.add(waiting)
        try:
            await waiting
        finally:
            clock.cancel()
            self._waiting.discard(waiting)

    def end(self) -> None:
        """Nothing more is to be waited for."""
        self.over = True
        for waiting in self._waiting:
            _wake(waiting)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)

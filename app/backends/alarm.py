"""One clock for many waits of a task, one after another, as for the pieces of a reply.

`asyncio.timeout` sets a clock anew for each of them, which takes longer than reading a piece. Here it goes off seldom,
and then looks how long it is to wait now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Alarm:
    """Ends a wait that lasts beyond its time with a TimeoutError. Of one task; to be closed."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0
        self._waits = self._expired = False

    def expired(self) -> bool:
        """Whether it has ended a wait."""
        return self._expired

    async def aclose(self) -> None:
        """Stop the clock."""
        if self._timer is not None:
            self._timer.cancel()

    async def wait(self, awaited: Awaitable[T], until: float) -> T:
        """What is awaited, if it comes until a time of the event loop."""
        self._set(until)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (this is a coroutine)
        self._task, self._cancelling, self._waits = task, task.cancelling(), True
        try:
            return await awaited
        except asyncio.CancelledError:
            if self._expired and task.uncancel() <= self._cancelling:
                raise TimeoutError from None
            raise
        finally:
            self._waits = False

    def _set(self, until: float) -> None:
        self._until = until
        if self._timer is not None and self._timer.when() > until:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(until, self._go_off)

    def _go_off(self) -> None:
        self._timer = None
        if not self._waits or self._task is None:
            return
        if self._loop.time() < self._until:
            self._set(self._until)
        else:
            self._expired = True
            self._task.cancel()

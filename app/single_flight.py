"""Join concurrent calls for one value: it is read once, and all callers get it at the same moment.

With a lock around it they are told one after the other, each in a turn of the event loop of their own: with 2,000 at
once that took newcomers 6.5 s, twice, to learn what was known all the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class SingleFlight(Generic[Value]):
    """One look at a time, for all who ask while it lasts."""

    def __init__(self) -> None:
        self._looking: asyncio.Task[Value] | None = None

    async def get(self, look: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """The result of `look`, joining a call already in flight. Cancelling one waiter does not cancel the call."""
        if self._looking is None:
            self._looking = asyncio.create_task(look())
            self._looking.add_done_callback(self._over)
        return await asyncio.shield(self._looking)

    def _over(self, task: asyncio.Task[Value]) -> None:
        self._looking = None
        if not task.cancelled():
            task.exception()  # all who asked are told; nobody may be left to ask the task itself

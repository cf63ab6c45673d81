"""What another thread has done, told in the event loop: all that is done together in one turn.

`asyncio.wrap_future` wakes the loop for each future and binds the two by six functions made for it. The writer is done
with all of a batch at once, and each of a thousand who click waits for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")


class _Telling:
    """All that one event loop waits for; what is done is put down by other threads, and told by the loop."""

    def __init__(self) -> None:
        self._done: deque[asyncio.Future[None]] = deque()
        self._called = False
        """Whether the loop is going to look. It is taken back before it looks, so that nothing is overlooked."""

    def wait(self, loop: asyncio.AbstractEventLoop, future: Future[Any]) -> asyncio.Future[None]:
        """What is done once the future is."""
        waiting = loop.create_future()
        future.add_done_callback(partial(self._put, loop, waiting))
        return waiting

    def _put(self, loop: asyncio.AbstractEventLoop, waiting: asyncio.Future[None], _: Future[Any]) -> None:
        self._done.append(waiting)
        if not self._called and not loop.is_closed():
            self._called = True
            loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self._called = False
        while self._done:
            waiting = self._done.popleft()
            if not waiting.done():
                waiting.set_result(None)


_TELLING: WeakKeyDictionary[asyncio.AbstractEventLoop, _Telling] = WeakKeyDictionary()


async def told(future: Future[Value]) -> Value:
    """What a future of another thread gives, or raises; whoever leaves does not want it done any more."""
    loop = asyncio.get_running_loop()
    telling = _TELLING.get(loop)
    if telling is None:
        telling = _TELLING[loop] = _Telling()
    try:
        await telling.wait(loop, future)
    except asyncio.CancelledError:
        future.cancel()
        raise
    return future.result()

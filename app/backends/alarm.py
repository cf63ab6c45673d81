"""One clock of an event loop for all waits for models: for the pieces of replies, and for whole ones.

`asyncio.timeout` sets a clock of its own for each wait, which takes longer than reading what came. This one goes off
seldom, then looks whose time is over and when it has to look again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class Late(TimeoutError):
    """A wait was ended by the clock."""


@dataclass(slots=True, eq=False)
class _Wait:
    task: asyncio.Task[object]
    until: float
    late: bool = False


class Alarm:
    """Ends waits that last beyond their time; all of them on one event loop, which it does not keep alive."""

    def __init__(self) -> None:
        self._waits: set[_Wait] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, awaited: Awaitable[T], until: float) -> T:
        """What is awaited, if it comes until a time of the event loop; raises Late."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (this is a coroutine)
        cancelling = task.cancelling()
        wait = _Wait(task, until)
        self._waits.add(wait)
        if self._timer is None or until < self._timer.when():
            self._set(until)
        try:
            return await awaited
        except asyncio.CancelledError:
            if wait.late and task.uncancel() <= cancelling:
                raise Late from None
            raise
        finally:
            self._waits.discard(wait)

    def _set(self, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(until, self._go_off)

    def _go_off(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for wait in self._waits:
            if wait.until <= now and not wait.late:
                wait.late = True
                wait.task.cancel()
        if left := [wait.until for wait in self._waits if not wait.late]:
            self._set(min(left))


_ALARMS: WeakKeyDictionary[asyncio.AbstractEventLoop, Alarm] = WeakKeyDictionary()


def alarm() -> Alarm:
    """That of the event loop that runs."""
    loop = asyncio.get_running_loop()
    found = _ALARMS.get(loop)
    if found is None:
        found = _ALARMS[loop] = Alarm()
    return found

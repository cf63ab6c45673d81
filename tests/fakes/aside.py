"""Servers beside a test that waits: in an event loop of their own, in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from queue import Queue
from threading import Thread
from typing import TypeVar

START_S, END_S = 100.0, 60.0
T = TypeVar("T")


@contextmanager
def aside(serving: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Enter it in a thread's own loop, and leave it when the block ends."""
    loop, stop, up = asyncio.new_event_loop(), asyncio.Event(), Queue[T | BaseException]()

    async def run() -> None:
        async with serving as served:
            up.put(served)
            await stop.wait()

    def main() -> None:
        try:
            loop.run_until_complete(run())
        except BaseException as error:  # it is for whoever waits for the server
            up.put(error)
        finally:
            loop.close()

    thread = Thread(target=main, daemon=True)
    thread.start()
    served = up.get(timeout=START_S)
    if isinstance(served, BaseException):
        raise served
    try:
        yield served
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(END_S)

"""The time in use: the world's for people, a virtual one for simulated participants."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time and lets it pass."""

    def now_us(self) -> int:
        """Microseconds UTC since 1970."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class WorldClock:
    """UTC as it was at the start, carried on by the monotonic clock: it never goes back, whatever NTP does."""

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_us(self) -> int:
        """Microseconds UTC since 1970."""
        return (self._offset_ns + time.monotonic_ns()) // 1000

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that only moves when somebody waits."""

    def __init__(self, start_us: int) -> None:
        self._now_us = start_us

    def now_us(self) -> int:
        """Microseconds UTC since 1970, as far as it was moved."""
        return self._now_us

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once; others get their turn."""
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move on by so many seconds."""
        self._now_us += round(seconds * 1e6)

    def set(self, now_us: int) -> None:
        """Begin anew at another time."""
        self._now_us = now_us

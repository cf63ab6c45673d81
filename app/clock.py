"""The time in use: the world's for people, a virtual one for simulated participants."""

from __future__ import annotations

import asyncio
import logging
import time
from contextvars import ContextVar
from typing import Protocol

log = logging.getLogger(__name__)


class Clock(Protocol):
    def now_us(self) -> int:
        """Microseconds UTC since 1970."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    async def wait(self, seconds: float) -> None:
        """Let the time pass that a busy server, for example, asked for."""
        ...


class SystemClock:
    """UTC at the start, continued by the monotonic clock: it never goes back, even if NTP does, or over a restart,
    where `least_us` is when something was last written."""

    def __init__(self, least_us: int = 0) -> None:
        now_ns = time.time_ns()
        behind_ns = 1000 * least_us - now_ns
        if behind_ns > 0:
            log.warning(
                "the machine's clock is %.1f s behind the last event; continuing from that time", behind_ns / 1e9
            )
        self._offset_ns = max(now_ns, 1000 * least_us) - time.monotonic_ns()

    def now_us(self) -> int:
        return (self._offset_ns + time.monotonic_ns()) // 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that moves only by waits."""

    def __init__(self, start_us: int) -> None:
        self._now_us = start_us

    def now_us(self) -> int:
        return self._now_us

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once; others get their turn."""
        self.advance(seconds)
        await asyncio.sleep(0)

    async def wait(self, seconds: float) -> None:
        await self.sleep(seconds)

    def advance(self, seconds: float) -> None:
        self._now_us += round(seconds * 1e6)

    def set(self, now_us: int) -> None:
        self._now_us = now_us


class HybridClock(VirtualClock):
    """A virtual clock that moves with real time as well: for simulated participants who talk with real servers."""

    def __init__(self, start_us: int) -> None:
        super().__init__(start_us)
        self._begun_ns = time.monotonic_ns()

    def now_us(self) -> int:
        return super().now_us() + (time.monotonic_ns() - self._begun_ns) // 1000

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def set(self, now_us: int) -> None:
        super().set(now_us)
        self._begun_ns = time.monotonic_ns()


_OWN: ContextVar[VirtualClock] = ContextVar("clock")


class PerTaskClock:
    """A virtual clock for each task, shared by the tasks that it starts; if `living`, moving with real time."""

    def __init__(self, *, living: bool = False) -> None:
        self._kind = HybridClock if living else VirtualClock

    def begin(self, at_us: int) -> VirtualClock:
        clock = self._kind(at_us)
        _OWN.set(clock)
        return clock

    def now_us(self) -> int:
        return _OWN.get().now_us()

    async def sleep(self, seconds: float) -> None:
        await _OWN.get().sleep(seconds)

    async def wait(self, seconds: float) -> None:
        await _OWN.get().wait(seconds)

"""Clocks of simulated sessions: each task has its own, and what it begins has the same."""

from __future__ import annotations

import asyncio

from app.clock import PerTaskClock


def test_each_task_has_a_clock_of_its_own_and_shares_it_with_what_it_begins() -> None:
    clocks = PerTaskClock()

    async def session(at_us: int) -> int:
        own = clocks.begin(at_us)
        await asyncio.create_task(clocks.sleep(2))
        await asyncio.to_thread(own.advance, 1)
        return clocks.now_us()

    async def both() -> list[int]:
        return await asyncio.gather(session(0), session(10_000_000))

    assert asyncio.run(both()) == [3_000_000, 13_000_000]

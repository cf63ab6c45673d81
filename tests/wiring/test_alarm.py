"""The clock of a reply's pieces: it ends a wait that is too long and no other, whatever became of those before."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from app.backends.alarm import Alarm

pytestmark = pytest.mark.anyio
SOON, NEVER = 0.01, 3600.0


async def nothing() -> None:
    await asyncio.Event().wait()


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_wait_beyond_its_time_is_ended() -> None:
    async with aclosing(Alarm()) as alarm:
        with pytest.raises(TimeoutError):
            await alarm.wait(nothing(), now() + SOON)
        assert alarm.expired()


async def test_a_later_time_counts_though_the_clock_was_set_for_an_earlier_one() -> None:
    async with aclosing(Alarm()) as alarm:
        assert await alarm.wait(asyncio.sleep(0, "a"), now() + SOON) == "a"
        assert await alarm.wait(asyncio.sleep(5 * SOON, "b"), now() + NEVER) == "b"
        assert not alarm.expired()


async def test_an_earlier_time_counts_though_the_clock_was_set_for_a_later_one() -> None:
    async with aclosing(Alarm()) as alarm:
        assert await alarm.wait(asyncio.sleep(0, "a"), now() + NEVER) == "a"
        with pytest.raises(TimeoutError):
            await alarm.wait(nothing(), now() + SOON)


async def test_it_does_not_go_off_between_waits() -> None:
    async with aclosing(Alarm()) as alarm:
        await alarm.wait(asyncio.sleep(0), now() + SOON)
        await asyncio.sleep(5 * SOON)
        assert await alarm.wait(asyncio.sleep(0, "late"), now() + NEVER) == "late"


async def test_who_cancels_the_task_is_not_taken_for_the_clock() -> None:
    async with aclosing(Alarm()) as alarm:
        task = asyncio.create_task(alarm.wait(nothing(), now() + NEVER))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not alarm.expired()


async def test_a_task_that_was_ended_by_it_can_go_on() -> None:
    async with aclosing(Alarm()) as alarm:
        for _ in range(2):
            with pytest.raises(TimeoutError):
                await alarm.wait(nothing(), now() + SOON)
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_what_fails_fails_as_it_is() -> None:
    async def fails() -> None:
        raise KeyError("x")

    async with aclosing(Alarm()) as alarm:
        with pytest.raises(KeyError):
            await alarm.wait(fails(), now() + NEVER)

"""The clock of all waits for models: it ends those that are too long and no other, whatever became of those before."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref

import pytest

from app.backends.alarm import Late, alarm

pytestmark = pytest.mark.anyio
SOON, NEVER = 0.01, 3600.0


async def nothing() -> None:
    await asyncio.Event().wait()


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_wait_beyond_its_time_is_ended() -> None:
    with pytest.raises(Late):
        await alarm().wait(nothing(), now() + SOON)


async def test_a_later_time_counts_though_the_clock_was_set_for_an_earlier_one() -> None:
    assert await alarm().wait(asyncio.sleep(0, "a"), now() + SOON) == "a"
    assert await alarm().wait(asyncio.sleep(5 * SOON, "b"), now() + NEVER) == "b"


async def test_an_earlier_time_counts_though_the_clock_was_set_for_a_later_one() -> None:
    assert await alarm().wait(asyncio.sleep(0, "a"), now() + NEVER) == "a"
    with pytest.raises(Late):
        await alarm().wait(nothing(), now() + SOON)


async def test_it_does_not_go_off_between_waits() -> None:
    await alarm().wait(asyncio.sleep(0), now() + SOON)
    await asyncio.sleep(5 * SOON)
    assert await alarm().wait(asyncio.sleep(0, "late"), now() + NEVER) == "late"


async def test_who_cancels_the_task_is_not_taken_for_the_clock() -> None:
    task = asyncio.create_task(alarm().wait(nothing(), now() + NEVER))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_task_that_was_ended_by_it_can_go_on() -> None:
    for _ in range(2):
        with pytest.raises(Late):
            await alarm().wait(nothing(), now() + SOON)
    await asyncio.sleep(0)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_what_fails_fails_as_it_is() -> None:
    async def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await alarm().wait(fails(), now() + NEVER)


async def test_of_many_waits_those_are_ended_whose_time_is_over() -> None:
    begun = now()
    soon = [asyncio.create_task(alarm().wait(nothing(), begun + turn * SOON)) for turn in (5, 1, 3)]
    later = asyncio.create_task(alarm().wait(asyncio.sleep(8 * SOON, "there"), begun + NEVER))
    ended = await asyncio.gather(*soon, return_exceptions=True)
    assert [type(error) for error in ended] == [Late] * 3
    assert await later == "there"


async def test_a_timeout_of_what_is_awaited_is_not_the_clocks() -> None:
    async def times_out() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError) as told:
        await alarm().wait(times_out(), now() + NEVER)
    assert not isinstance(told.value, Late)


async def test_a_wait_within_a_wait() -> None:
    """The inner one is ended by its own time, the outer goes on; and the other way round."""

    async def within(inner: float) -> str:
        with contextlib.suppress(Late):
            await alarm().wait(nothing(), now() + inner)
        await asyncio.sleep(0)
        return "went on"

    assert await alarm().wait(within(SOON), now() + NEVER) == "went on"


def test_it_keeps_no_event_loop_alive() -> None:
    loop = asyncio.new_event_loop()

    async def waits() -> None:
        with contextlib.suppress(Late):
            await alarm().wait(nothing(), now() + SOON)

    loop.run_until_complete(waits())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None

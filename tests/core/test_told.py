"""What other threads have done, told in the event loop: everybody hears, once, whatever comes at the same moment."""

import asyncio
import gc
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
import uvloop

from app.told import told

SOON = 5


def test_a_value_and_an_error_come_as_they_are() -> None:
    async def both() -> None:
        fine: Future[int] = Future()
        bad: Future[int] = Future()
        threading.Timer(0.01, fine.set_result, [7]).start()
        threading.Timer(0.01, bad.set_exception, [KeyError("x")]).start()
        assert await told(fine) == 7
        with pytest.raises(KeyError):
            await told(bad)
        assert await told(fine) == 7  # which was over already

    asyncio.run(both())


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_nobody_is_overlooked_however_many_threads_are_done_at_once(run: object) -> None:
    async def crowd() -> list[int]:
        with ThreadPoolExecutor(8) as pool:
            return await asyncio.wait_for(
                asyncio.gather(*(told(pool.submit(int, number)) for number in range(3_000))), SOON
            )

    assert run(crowd()) == list(range(3_000))  # type: ignore[operator]


def test_who_leaves_no_longer_wants_it_done_and_disturbs_nobody() -> None:
    async def leave() -> None:
        unwanted: Future[None] = Future()
        wanted: Future[str] = Future()
        leaving = asyncio.create_task(told(unwanted))
        staying = asyncio.create_task(told(wanted))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.wait([leaving])
        assert leaving.cancelled()
        assert unwanted.cancelled()
        wanted.set_result("done")
        assert await asyncio.wait_for(staying, SOON) == "done"

    asyncio.run(leave())


def test_what_is_done_after_the_loop_is_told_to_nobody_and_another_loop_hears() -> None:
    future: Future[str] = Future()

    async def waits() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.ensure_future(told(future))), 0.01)

    async def hears() -> str:
        return await asyncio.wait_for(told(future), SOON)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(waits())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.close()
    assert not future.cancelled()
    future.set_result("late")
    assert asyncio.run(hears()) == "late"


def test_a_loop_that_is_gone_is_forgotten() -> None:
    async def once() -> "weakref.ref[asyncio.AbstractEventLoop]":
        done: Future[None] = Future()
        threading.Timer(0.01, done.set_result, [None]).start()
        await told(done)
        return weakref.ref(asyncio.get_running_loop())

    loop = asyncio.run(once())
    gc.collect()
    assert loop() is None

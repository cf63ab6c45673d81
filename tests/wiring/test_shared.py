"""What many ask for at once is looked up once, and all are told in the same turn of the loop."""

import asyncio

import pytest

from app.shared import Shared

pytestmark = pytest.mark.anyio
MANY = 500


class Looking:
    """Something that is looked up until it is `over`, and how often it was."""

    def __init__(self, error: Exception | None = None) -> None:
        self.over, self.times, self._error = asyncio.Event(), 0, error

    async def __call__(self) -> int:
        self.times += 1
        await self.over.wait()
        if self._error:
            raise self._error
        return self.times


async def asking(shared: Shared[int], look: Looking) -> list[asyncio.Task[int]]:
    """Many who ask, and wait for it."""
    tasks = [asyncio.create_task(shared.get(look)) for _ in range(MANY)]
    await asyncio.sleep(0)
    return tasks


async def test_all_are_told_at_once_what_was_looked_up_once() -> None:
    shared, look = Shared[int](), Looking()
    tasks = await asking(shared, look)
    look.over.set()
    turns = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        turns += 1
    assert {task.result() for task in tasks} == {1}
    assert turns < 10, "whoever asks does not wait for a turn of their own"
    assert await shared.get(look) == 2, "who asks later is told anew"


async def test_what_goes_wrong_is_told_to_all_and_tried_again_by_the_next(caplog: pytest.LogCaptureFixture) -> None:
    shared, look = Shared[int](), Looking(LookupError("the database does not answer"))
    tasks = await asking(shared, look)
    look.over.set()
    told = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(one, LookupError) for one in told)
    well = Looking()
    well.over.set()
    assert await shared.get(well) == 1
    assert not caplog.records, "an error that nobody is left to hear is no line in the log"

"""A reply on its way: whoever listens hears all of it, however words and listening fall together."""

import asyncio
import random
import selectors

import pytest

from app.replies.buffer import CHUNK_S, Reply


async def listen(reply: Reply, offset: int, slow: list[float]) -> str:
    """What a listener hears who is held up, for example by a socket, after each piece."""
    heard = ""
    async for text, end in reply.follow(offset):
        heard += text
        assert end == offset + len(heard)
        await asyncio.sleep(slow.pop() if slow else 0)
    return heard


@pytest.mark.parametrize("listeners", [1, 2, 5])
def test_every_listener_hears_the_rest_exactly(seed: int, listeners: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    words = [f"w{n} " for n in range(20)]

    async def talk() -> None:
        reply = Reply()
        offsets = [chance.randint(0, 30) for _ in range(listeners)]
        slow = [[chance.random() * 0.03 for _ in range(5)] for _ in range(listeners)]
        tasks = [asyncio.create_task(listen(reply, *pair)) for pair in zip(offsets, slow, strict=True)]
        for word in words:
            await asyncio.sleep(chance.random() * 0.01)
            reply.add(word)
        reply.end()
        for task, offset in zip(tasks, offsets, strict=True):
            assert await asyncio.wait_for(task, 2) == "".join(words)[offset:]

    asyncio.run(talk())


def test_words_that_come_while_a_piece_is_sent_are_heard_at_the_end() -> None:
    async def talk() -> None:
        reply = Reply()
        reply.add("first ")
        heard = []
        async for text, _ in reply.follow(0):
            heard.append(text)
            if len(heard) == 1:
                reply.add("last")
                reply.end()
        assert heard == ["first ", "last"]

    asyncio.run(talk())


class Leap(selectors.DefaultSelector):
    """Where a loop waits for its next timer: here the clock leaps there."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += max(0, timeout or 0)
        return super().select(0)


class Leaping(asyncio.SelectorEventLoop):
    """A loop on which nothing takes time but sleep."""

    def __init__(self) -> None:
        self._leap = Leap()
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.now


def test_who_waits_for_a_word_has_it_at_once_and_what_follows_closely_is_gathered() -> None:
    async def talk() -> None:
        loop = asyncio.get_running_loop()
        reply, heard = Reply(), []

        async def hear() -> None:
            async for text, _ in reply.follow(0):
                heard.append((text, round(loop.time(), 3)))

        listener = asyncio.create_task(hear())
        await asyncio.sleep(1)
        reply.begin()
        for word in ("first ", "second ", "third ", "anew "):
            await asyncio.sleep(1 if word == "anew " else 0.02)
            reply.add(word)
        reply.end()
        await listener
        gathered = round(1.02 + CHUNK_S, 3)
        assert heard == [("", 1.0), ("first ", 1.02), ("second third ", gathered), ("anew ", 2.06)]

    with asyncio.Runner(loop_factory=Leaping) as runner:
        runner.run(talk())

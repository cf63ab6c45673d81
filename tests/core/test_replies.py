"""A reply on its way: whoever listens hears all of it, however words and listening fall together."""

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from app.backends.base import ReasoningEnd, TextDelta
from app.session.replies.buffer import HOLD_CHARS, HOLD_S, LONGEST_GATHER_S, PIECES_PER_S, Hold, Listeners, ReplyBuffer


async def listen(reply: ReplyBuffer, offset: int, slow: list[float]) -> str:
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
        reply = ReplyBuffer()
        offsets = [chance.randint(0, 30) for _ in range(listeners)]
        slow = [[chance.random() * 0.03 for _ in range(5)] for _ in range(listeners)]
        tasks = [asyncio.create_task(listen(reply, *pair)) for pair in zip(offsets, slow, strict=True)]
        for word in words:
            await asyncio.sleep(chance.random() * 0.01)
            reply.add(word)
        reply.end()
        for task, offset in zip(tasks, offsets, strict=True):
            assert await asyncio.wait_for(task, 60) == "".join(words)[offset:]

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


def heard_of(talk: Callable[[ReplyBuffer], Awaitable[None]], others: int = 0) -> list[tuple[str, float]]:
    """What somebody hears who listens from the start while others hear other replies, and when, on a loop on which
    nothing takes time but sleep."""
    heard: list[tuple[str, float]] = []

    async def hear(reply: ReplyBuffer) -> None:
        async for text, _ in reply.follow(0):
            heard.append((text, round(asyncio.get_running_loop().time(), 3)))
        heard.append(("", round(asyncio.get_running_loop().time(), 3)))

    async def both() -> None:
        reply = ReplyBuffer(Listeners(others))
        listener = asyncio.create_task(hear(reply))
        await asyncio.sleep(1)
        await talk(reply)
        reply.end()
        await listener

    with asyncio.Runner(loop_factory=Leaping) as runner:
        runner.run(both())
    return heard


@pytest.mark.parametrize(
    ("others", "gather_s"), [(0, 1 / PIECES_PER_S), (9, 10 / PIECES_PER_S), (100_000, LONGEST_GATHER_S)]
)
def test_the_more_people_listen_the_longer_words_gather_and_alone_each_word_comes_as_it_is_said(
    others: int, gather_s: float
) -> None:
    async def talk(reply: ReplyBuffer) -> None:
        for word in range(60):
            reply.add(f"{word} ")
            await asyncio.sleep(0.02)
        await asyncio.sleep(1)

    pieces = heard_of(talk, others)[:-1]
    gaps = [later - sooner for (_, sooner), (_, later) in pairwise(pieces)]
    assert min(gaps) >= round(gather_s, 3) - 1e-9
    assert max(gaps) <= max(gather_s, 0.02) + 0.001
    assert others or len(pieces) == 60


def test_the_beginning_of_a_reply_that_may_be_reasoning_is_held_for_a_moment() -> None:
    async def talk(reply: ReplyBuffer) -> None:
        reply.begin(hold=True)
        for word in ("slow ", "a" * HOLD_CHARS):
            reply.take(TextDelta(word))
            await asyncio.sleep(2 * HOLD_S)
        reply.begin(hold=True)
        reply.take(TextDelta("b" * HOLD_CHARS))
        await asyncio.sleep(1)
        reply.begin(hold=True)
        reply.take(TextDelta("reasoning"))
        reply.take(ReasoningEnd())
        reply.take(TextDelta("c"))
        await asyncio.sleep(1)
        assert (reply.text, reply.reasoning) == ("c", ["reasoning"])

    assert heard_of(talk) == [
        ("", 1.0),
        ("slow ", 1 + HOLD_S),
        ("a" * HOLD_CHARS, 1 + 2 * HOLD_S),
        ("", 1 + 4 * HOLD_S),
        ("b" * HOLD_CHARS, 1 + 4 * HOLD_S),
        ("", 2 + 4 * HOLD_S),
        ("c", 2 + 4 * HOLD_S),
        ("", 3 + 4 * HOLD_S),
    ]


def test_replies_side_by_side_are_shown_together() -> None:
    async def talk() -> list[int]:
        hold = Hold()
        fast, slow, late = replies = [ReplyBuffer(hold=hold) for _ in range(3)]
        for reply in (fast, slow):
            reply.begin(hold=True)
        slow.take(TextDelta("one"))
        fast.take(TextDelta("a" * HOLD_CHARS))
        late.begin(hold=True)
        late.take(TextDelta("x"))
        return [reply.length for reply in replies]

    assert asyncio.run(talk()) == [HOLD_CHARS, 3, 1]

"""The border: whatever a backend does, what leaves is a whole reply or a BackendError."""

import asyncio
from dataclasses import replace

import pytest

from app.backends.base import End, Text
from app.backends.guard import deadlines
from app.errors import BackendBroken
from tests.fakes.asking import HASTY


def from_list(items):
    async def stream():
        for item in items:
            if isinstance(item, BaseException):
                raise item
            yield item

    return stream()


def through(*items, limits=HASTY):
    async def read():
        return [delta async for delta in deadlines(lambda: from_list(items), limits)]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ((), "no_finish_reason"),
        ((Text("a"),), "no_finish_reason"),
        ((Text(" \n"), End("stop")), "empty_reply"),
        ((End("length"),), "empty_reply"),
        ((Text("a"), End("banana")), "finish_reason"),
        ((Text("a" * 5_001),), "too_long"),
        ((Text("a"), ZeroDivisionError("oops")), "fault"),
        ((Text("a"), TimeoutError("not ours")), "fault"),
        (("a",), "fault"),
        ((None,), "fault"),
        ((Text(42),), "fault"),
        ((Text("a"), End(None)), "fault"),
        ((Text("a"), End("stop", prompt_tokens="many")), "fault"),
        ((Text("a"), End("stop", completion_tokens=-3)), "fault"),
    ],
)
def test_whatever_is_no_reply_is_broken(items, reason):
    with pytest.raises(BackendBroken) as failed:
        through(*items)
    assert failed.value.reason == reason


def no_generator():
    yield Text("a")


async def no_stream():
    return "a"


@pytest.mark.parametrize("ask", [no_generator, no_stream, lambda: None, lambda: 1 / 0])
def test_what_gives_no_stream_is_broken(ask):
    async def read():
        return [delta async for delta in deadlines(ask, HASTY)]

    with pytest.raises(BackendBroken) as failed:
        asyncio.run(read())
    assert failed.value.reason == "fault"


def test_halves_of_pairs_and_nul_are_never_stored():
    told = through(Text("a\ud800b"), Text("\x00c\x00"), Text("\ud83d\ude00ü\x00"), End("stop"))
    assert [delta.text for delta in told[:-1]] == ["a\ufffdb", "c", "\U0001f600ü"]


def test_a_slow_reader_is_not_timed_out():
    async def read():
        limits = replace(HASTY, token_gap_timeout_s=0.01)
        deltas = []
        async for delta in deadlines(lambda: from_list([Text("a"), Text("b"), End("stop")]), limits):
            await asyncio.sleep(0.02)
            deltas.append(delta)
        return deltas

    assert asyncio.run(read())[-1] == End("stop")

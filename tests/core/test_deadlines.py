"""The border: whatever a backend does, what leaves is a whole reply or a BackendError."""

import asyncio
from dataclasses import replace

import pytest

from app.backends.base import StreamEnd, TextDelta
from app.backends.guard import guarded_stream
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
        return [delta async for delta in guarded_stream(lambda: from_list(items), limits)]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        ((), "no_finish_reason"),
        ((TextDelta("a"),), "no_finish_reason"),
        ((TextDelta(" \n"), StreamEnd("stop")), "empty_reply"),
        ((StreamEnd("length"),), "empty_reply"),
        ((TextDelta("a"), StreamEnd("banana")), "finish_reason"),
        ((TextDelta("a" * 5_001),), "too_long"),
        ((TextDelta("a"), ZeroDivisionError("oops")), "fault"),
        ((TextDelta("a"), TimeoutError("not ours")), "fault"),
        (("a",), "fault"),
        ((None,), "fault"),
        ((TextDelta(42),), "fault"),
        ((TextDelta("a"), StreamEnd(None)), "fault"),
        ((TextDelta("a"), StreamEnd("stop", prompt_tokens="many")), "fault"),
        ((TextDelta("a"), StreamEnd("stop", completion_tokens=-3)), "fault"),
    ],
)
def test_whatever_is_no_reply_is_broken(items, reason):
    with pytest.raises(BackendBroken) as failed:
        through(*items)
    assert failed.value.reason == reason


def no_generator():
    yield TextDelta("a")


async def no_stream():
    return "a"


@pytest.mark.parametrize("ask", [no_generator, no_stream, lambda: None, lambda: 1 / 0])
def test_what_gives_no_stream_is_broken(ask):
    async def read():
        return [delta async for delta in guarded_stream(ask, HASTY)]

    with pytest.raises(BackendBroken) as failed:
        asyncio.run(read())
    assert failed.value.reason == "fault"


def test_halves_of_pairs_and_nul_are_never_stored():
    told = through(TextDelta("a\ud800b"), TextDelta("\x00c\x00"), TextDelta("\ud83d\ude00ü\x00"), StreamEnd("stop"))
    assert [delta.text for delta in told[:-1]] == ["a\ufffdb", "c", "\U0001f600ü"]


def test_a_slow_reader_is_not_timed_out():
    async def read():
        limits = replace(HASTY, token_gap_timeout_s=0.01)
        deltas = []
        async for delta in guarded_stream(
            lambda: from_list([TextDelta("a"), TextDelta("b"), StreamEnd("stop")]), limits
        ):
            await asyncio.sleep(0.02)
            deltas.append(delta)
        return deltas

    assert asyncio.run(read())[-1] == StreamEnd("stop")

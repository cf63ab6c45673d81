"""The border: whatever a backend does, what leaves is a whole reply or a BackendError."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import ReasoningDelta, StreamEnd, TextDelta, ToolCall
from app.backends.guard import guarded_stream
from app.errors import BackendBroken
from problems.text import clean
from tests.fakes.asking import HASTY

HARD = "\r\n\0\x0b\x1b\ud83d\ude00\ufeff"


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


@given(
    st.lists(st.tuples(st.sampled_from((TextDelta, ReasoningDelta)), st.text(st.characters() | st.sampled_from(HARD))))
)
def test_a_reply_is_its_text_cleaned_however_it_comes_in_pieces(pieces):
    said, thought = ("".join(text for kind, text in pieces if kind is one) for one in (TextDelta, ReasoningDelta))
    told = through(*(kind(text) for kind, text in pieces), TextDelta("."), StreamEnd("stop"))
    assert "".join(one.text for one in told if isinstance(one, TextDelta)) == clean(f"{said}.")
    heard = "".join(one.text for one in told if isinstance(one, ReasoningDelta))
    assert clean(thought).startswith(heard)
    assert len(clean(thought)) - len(heard) <= 1  # a CR or half of a pair at its very end


def test_a_slow_reader_is_not_timed_out():
    async def read():
        limits = HASTY.model_copy(update={"token_gap_timeout_s": 0.01})
        deltas = []
        async for delta in guarded_stream(
            lambda: from_list([TextDelta("a"), TextDelta("b"), StreamEnd("stop")]), limits
        ):
            await asyncio.sleep(0.02)
            deltas.append(delta)
        return deltas

    assert asyncio.run(read())[-1] == StreamEnd("stop")


def test_calls_of_tools_are_a_reply_without_text():
    call = ToolCall("a", "look", "{}")
    for reason in ("stop", "tool_calls"):
        assert through(call, StreamEnd(reason)) == [call, StreamEnd("tool_calls")]
    with pytest.raises(BackendBroken):
        through(StreamEnd("tool_calls"))
    with pytest.raises(BackendBroken):
        through(ToolCall("a", "look", "x" * (HASTY.max_reply_chars + 1)), StreamEnd("tool_calls"))

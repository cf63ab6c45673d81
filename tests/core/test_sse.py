"""The parser of server-sent events: wherever the network cuts them, the deltas are the same."""

from contextlib import suppress
from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import End, Text
from app.backends.sse import ChatCompletions, Events
from app.errors import BackendBroken, BackendError

STREAM = (
    "\ufeff: hello\r\n\r\n"
    'data: {"model": "m-1", "choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    'event: message\ndata: {"choices": [{"delta":\ndata: {"content": "héllo 你好 "}}]}\n\n'
    'id: 7\rretry: 10\rdata:{"choices": [{"delta": {"content": "∑ 🎲"}, "finish_reason": null}]}\r\r'
    'data: {"choices": [], "usage": null}\r\n\r\n'
    'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": null, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
    "data: [DONE]\n\n"
).encode()
PARSED = [Text("héllo 你好 "), Text("∑ 🎲"), End("stop", "m-1", 3, 2)]


def parse(chunks):
    decoder = ChatCompletions()
    return [delta for chunk in chunks for delta in decoder.feed(chunk)]


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.integers(0, 2_000), max_size=40))
def test_wherever_the_network_cuts_the_deltas_are_the_same(places):
    assert parse(cut(STREAM, places)) == PARSED


def test_byte_by_byte_the_deltas_are_the_same():
    assert parse([STREAM[i : i + 1] for i in range(len(STREAM))]) == PARSED


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_no_bytes_break_the_parser_and_no_cut_changes_the_events(data, places):
    whole, pieces = Events(), Events()
    assert list(whole.feed(data)) == [event for chunk in cut(data, places) for event in pieces.feed(chunk)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["choices", "delta", "content", "usage", "error", "model"]), inner)
    ),
    max_leaves=8,
)


@given(json_values)
def test_no_json_breaks_the_parser(value):
    decoder = ChatCompletions()
    with suppress(BackendError):
        list(decoder.feed(b"data: " + orjson.dumps(value) + b"\n\n"))
        decoder.end()


def test_an_event_without_end_is_given_up():
    decoder = ChatCompletions()
    with pytest.raises(BackendBroken, match="without end"):
        any(list(decoder.feed(b"x" * 50_000)) for _ in range(30))


def test_the_end_may_come_without_done():
    decoder = ChatCompletions()
    list(decoder.feed(STREAM[: STREAM.index(b"data: [DONE]")]))
    assert decoder.end() == PARSED[-1]

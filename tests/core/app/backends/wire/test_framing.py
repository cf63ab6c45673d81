"""The decoders of model servers' streams: wherever the network cuts them, the deltas are the same."""

from contextlib import suppress
from itertools import pairwise

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from app.backends.anthropic import Messages
from app.backends.base import ReasoningDelta, StreamEnd, TextDelta
from app.backends.http import HttpDecoder, HttpOptions
from app.backends.wire.framing import SseFraming, WholeFraming
from app.backends.wire.openai_decoders import ChatCompletions, Responses
from app.backends.wire.streaming import decoded, ending
from app.errors import BackendError

CHAT = (
    "\ufeff: hello\r\n\r\n"
    'data: {"model": "m-1", "choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n'
    'event: message\ndata: {"choices": [{"delta":\ndata: {"content": "héllo 你好 "}}]}\n\n'
    'id: 7\rretry: 10\rdata:{"choices": [{"delta": {"content": "∑ 🎲"}, "finish_reason": null}]}\r\r'
    'data: {"choices": [], "usage": null}\r\n\r\n'
    'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    'data: {"choices": null, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
    "data: [DONE]\n\n"
)
RESPONSES = (
    'event: response.created\ndata: {"type": "response.created", "response": {"model": "m-1"}}\n\n'
    'event: response.reasoning_text.delta\ndata: {"type": "response.reasoning_text.delta", "delta": "Hm"}\n\n'
    'data: {"type": "response.output_text.delta", "delta": "héllo 你好 "}\n\n'
    'data: {"type": "response.output_text.delta", "delta": ""}\r\n\r\n'
    'data: {"type": "response.output_text.delta", "delta": "∑ 🎲"}\n\n'
    'data: {"type": "response.output_text.done", "text": "héllo 你好 ∑ 🎲"}\n\n'
    'data: {"type": "response.completed", "response": {"model": "m-1", "error": null,\n'
    'data: "usage": {"input_tokens": 3, "output_tokens": 2}}}\n\n'
)
MESSAGES = (
    'event: message_start\ndata: {"type": "message_start", "message": {"model": "m-1", '
    '"usage": {"input_tokens": 3, "output_tokens": 1}}}\n\n'
    'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, '
    '"content_block": {"type": "thinking", "thinking": ""}}\n\n'
    'data: {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}}\n\n'
    'data: {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "héllo 你好 "}}\n\n'
    'event: ping\ndata: {"type": "ping"}\r\n\r\n'
    'data: {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "∑ 🎲"}}\n\n'
    'data: {"type": "something_new", "delta": 7}\n\n'
    'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}\n\n'
    'data: {"type": "message_stop"}\n\n'
)
ASKED = {"path": "/", "body": {"p": "{{prompt}}"}, "text": "o.0.t", "finish": "why"}
PLACES = HttpOptions(**ASKED, version="by", prompt_tokens="in", completion_tokens="out", stream="sse")
IN_WHOLE = PLACES.model_copy(update={"stream": "none"})
LINES = (
    '{"o": [{"t": "héllo 你好 "}]}\n\n{"thought": 1}\r\n{"o": [{"t": "∑ 🎲"}], "why": false}\n'
    '{"o": [{"t": ""}], "why": true, "by": "m-1", "in": 3, "out": 2}'
)
WHOLE = ' {"o": [{"t": "héllo 你好 ∑ 🎲"}], "why": "end_turn", "by": "m-1", "in": 3, "out": 2}\n'
END = StreamEnd("stop", "m-1", 3, 2)
THOUGHT = ReasoningDelta("Hm")
PARSED = [TextDelta("héllo 你好 "), TextDelta("∑ 🎲"), END]
DECODERS = {
    "chat": (SseFraming, ChatCompletions, CHAT, PARSED),
    "responses": (SseFraming, Responses, RESPONSES, [THOUGHT, *PARSED]),
    "messages": (SseFraming, Messages, MESSAGES, [THOUGHT, *PARSED]),
    "whole": (
        WholeFraming,
        lambda: HttpDecoder(places=IN_WHOLE),
        WHOLE,
        [TextDelta("héllo 你好 ∑ 🎲"), END],
    ),
    "sse": (
        SseFraming,
        lambda: HttpDecoder(places=PLACES),
        "".join(f"data: {line}\n\n" for line in LINES.split("\n") if line),
        PARSED,
    ),
}


def parse(framing, decoder, chunks):
    """What is made of a body: it stops at the End, and asks for it when the body is over."""
    deltas = []
    for chunk in chunks:
        for delta in decoded(framing.feed(chunk), decoder):
            deltas.append(delta)
            if isinstance(delta, StreamEnd):
                return deltas
    return [*deltas, *ending(framing, decoder)]


def cut(data, places):
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@given(st.data(), st.lists(st.integers(0, 2_000), max_size=40))
def test_wherever_the_network_cuts_the_deltas_are_the_same(data, places):
    framing, make, stream, parsed = DECODERS[data.draw(st.sampled_from(sorted(DECODERS)))]
    assert parse(framing(), make(), cut(stream.encode(), places)) == parsed


@given(st.data())
def test_what_is_cut_off_is_never_a_reply(data):
    framing, make, stream, parsed = DECODERS[data.draw(st.sampled_from(sorted(DECODERS)))]
    whole = stream.encode()
    place = data.draw(st.integers(0, len(whole) - 1))
    try:
        deltas = parse(framing(), make(), [whole[:place]])
    except BackendError:
        return
    assert [d for d in deltas if not isinstance(d, StreamEnd)] == parsed[:-1]


def values(framing, chunks):
    """What is found in a body, up to what is none."""
    found = []
    with suppress(BackendError):
        for chunk in chunks:
            found += framing.feed(chunk)
        found += framing.rest()
    return found


LINES_OF_EVENTS = [b'data: {"a": 1}', b"data: {", b"data: }", b"data:[DONE]", b"data: ", b"data", b"id: 1", b": hello"]
LINES_OF_EVENTS += [b'{"b": 2}', b"data: d", b"\xef\xbb\xbf", b""]
bodies = st.binary(max_size=300) | st.lists(
    st.tuples(st.sampled_from(LINES_OF_EVENTS), st.sampled_from([b"\n", b"\n\n", b"\r\n", b"\r"])).map(b"".join)
).map(b"".join)


@given(bodies, st.lists(st.integers(0, 300), max_size=10))
def test_no_bytes_break_the_framing_and_no_cut_changes_the_values(data, places):
    found = values(SseFraming(), cut(data, places))
    one_by_one = [data[at : at + 1] for at in range(len(data))]
    assert found == values(SseFraming(), [data]) == values(SseFraming(), one_by_one)


KEYS = [
    "output",
    "status",
    "finish_reason",
    "stop_reason",
    "choices",
    "delta",
    "content",
    "usage",
    "error",
    "model",
    "type",
    "response",
    "message",
    "text",
    "o",
    "why",
    "0",
]
KINDS = st.sampled_from(["response.output_text.delta", "response.completed", "message_start", "message_delta", "error"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=8,
)


@example({"stop_reason": ""})
@given(json_values)
def test_no_json_breaks_the_parser(value):
    for framing, make, _, _ in DECODERS.values():
        for form in (b"data: %b\n\n", b"%b\n"):
            with suppress(BackendError):
                parse(framing(), make(), [form % orjson.dumps(value)])
    for make in (ChatCompletions, Responses, Messages):
        with suppress(BackendError):
            *deltas, end = parse(WholeFraming((b"{",)), make(), [orjson.dumps(value)])
            assert all(isinstance(one.text, str) for one in deltas)
            assert isinstance(end.finish_reason, str)

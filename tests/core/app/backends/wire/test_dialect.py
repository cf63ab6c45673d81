"""Chat completions in every dialect that servers were seen to speak, mixed at random: the reply, or a named failure."""

import asyncio
from contextlib import asynccontextmanager
from itertools import pairwise
from types import SimpleNamespace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import ReasoningEnd, StreamEnd
from app.backends.guard import guarded_stream
from app.backends.wire.dialect import Dialect
from app.backends.wire.framing import SseFraming
from app.backends.wire.openai_decoders import ChatCompletions
from app.backends.wire.streaming import streamed
from app.config.model_servers import Server
from app.errors import BackendError
from app.session.replies.buffer import ReplyBuffer
from problems.text import UNFIT
from tests.fakes.asking import PATIENT

FIT = st.characters(exclude_categories=["Cs", "Cc"]).filter(lambda one: not UNFIT.match(one))
LETTERS = st.text(FIT | st.just("\n"), min_size=1, max_size=12)
SOUND = LETTERS.filter(lambda text: text.strip() and not text.lstrip().startswith(("<", "[")) and "</" not in text)
STOPS = ["stop", "STOP", " Stop ", "end_turn", "eos", "COMPLETE", "eos_token", "stop_sequence"]
NOISE = [
    ": ping", ":", "", "event: ping", "data:", "data: ", "data: ping", "data: : OPENROUTER PROCESSING", "id: 7",
    "retry: 100", ": keep-alive ✓", 'data: {"choices": []}', 'data: {"choices": null}', "data: null",
    'data: {"choices": [{"index": 0, "delta": {}}]}', 'data: {"choices": [{"delta": {"role": "assistant"}}]}',
]  # fmt: skip
CONTENTS = {
    "text": lambda text: text,
    "part": lambda text: [{"type": "text", "text": text}],
    "parts": lambda text: [{"type": "text", "text": one} for one in text],
    "strings": lambda text: list(text),
}
THOUGHTS = {
    "reasoning_content": lambda text: {"reasoning_content": text, "content": None},
    "reasoning": lambda text: {"reasoning": text, "content": ""},
    "part": lambda text: {"content": [{"type": "thinking", "thinking": text}]},
    "nested": lambda text: {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]},
}
TAGS = ["<think>", "", "<Thinking>", "[THINK]"]
LIMITS = PATIENT
# Whether replies are known to begin with reasoning without an opening tag.
KNOWN = st.sampled_from([True, False, None])


@st.composite
def answers(draw):
    """The bytes of an answer, the reply and the thoughts in it, and whether it is all there."""
    text, thoughts = "".join(draw(st.lists(SOUND, min_size=1, max_size=4))), draw(st.lists(SOUND, max_size=3))
    tag = draw(st.sampled_from(TAGS)) if thoughts and draw(st.booleans()) else None
    deltas = []
    if tag is not None:
        closing = "</think>" if not tag else "[/THINK]" if tag.startswith("[") else f"</{tag[1:]}"
        marked = f"{tag}{''.join(thoughts)}{closing}\n\n{text}"
        deltas += [{"content": piece} for piece in _pieces(draw, marked)]
    else:
        field = THOUGHTS[draw(st.sampled_from(sorted(THOUGHTS)))]
        deltas += [field(thought) for thought in thoughts]
        form = CONTENTS[draw(st.sampled_from(sorted(CONTENTS)))]
        deltas += [{"content": form(piece)} for piece in _pieces(draw, text)]
    reply, thought = text if tag is None else text.lstrip(), "".join(thoughts)
    if draw(st.integers(0, 9)) == 0:
        return _whole(draw, deltas), reply, thought, True
    body, complete = _stream(draw, deltas)
    return body, reply, thought, complete


def _pieces(draw, text):
    places = sorted(set(draw(st.lists(st.integers(1, max(1, len(text) - 1)), max_size=6))))
    return [one for one in (text[i:j] for i, j in zip([0, *places], [*places, len(text)], strict=True)) if one]


def _whole(draw, deltas):
    message = {"content": [], "reasoning_content": "".join(one.get("reasoning_content") or "" for one in deltas)}
    message["reasoning_content"] += "".join(one.get("reasoning") or "" for one in deltas)
    for content in (one["content"] for one in deltas if one.get("content")):
        message["content"] += [{"type": "text", "text": content}] if isinstance(content, str) else content
    answer = {"choices": [{"message": message, "finish_reason": draw(st.sampled_from([*STOPS, ""]))}]}
    return draw(st.sampled_from(["", " ", "\n\n", "\ufeff"])).encode() + orjson.dumps(answer)


def _stream(draw, deltas):
    """Events with a finish reason or `[DONE]` at the end, unless the stream is cut off before."""
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    blanks = draw(st.booleans())
    name = draw(st.sampled_from(["data: ", "data:"]))
    ends = draw(st.sampled_from([("stop", True), ("stop", False), (None, True), ("", True)]))
    reason = draw(st.sampled_from(STOPS)) if ends[0] else ends[0]
    lines = []
    for delta in deltas:
        lines += [draw(st.sampled_from(NOISE))] if draw(st.booleans()) else []
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": draw(st.sampled_from([None, ""]))}]}
        lines += [name + orjson.dumps(chunk).decode()] + ([""] if blanks else [])
    complete = len(lines)
    lines += [name + orjson.dumps({"choices": [{"delta": {}, "finish_reason": reason}]}).decode()]
    lines += [""] if blanks else []
    complete = len(lines) if ends[0] else None
    lines += [name + "[DONE]"] + ([""] if blanks else []) if ends[1] else []
    complete = len(lines) if complete is None else complete
    kept = draw(st.integers(0, len(lines))) if draw(st.integers(0, 4)) == 0 else len(lines)
    body = newline.join(lines[:kept]) + (newline if draw(st.booleans()) else "")
    return draw(st.sampled_from(["", "\ufeff"])).encode() + body.encode(), kept >= complete - blanks


def _take(delta, buffer: ReplyBuffer, *, known: bool | None) -> None:
    if isinstance(delta, StreamEnd):
        assert delta == StreamEnd("stop")
        return
    assert not known or delta != ReasoningEnd() or not buffer.text, "nothing is taken back"
    buffer.take(delta)


def heard(body: bytes, places: list[int], dialect: Dialect) -> tuple[str, str]:
    """The reply and the thoughts as a participant's chat would have them; raises a BackendError whose `text` it had."""
    edges = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]

    async def chunks():
        for start, end in pairwise(edges):
            if start < end:
                yield body[start:end]

    @asynccontextmanager
    async def opening():
        yield SimpleNamespace(headers={}, aiter_bytes=chunks, request=SimpleNamespace(content=b"{}"))

    buffer = ReplyBuffer()

    async def read():
        splitter, server = dialect.splitter(), Server(url="http://127.0.0.1:9/v1")
        parts = opening(), SseFraming(), ChatCompletions(), dialect, splitter
        async for delta in guarded_stream(lambda: streamed(server, *parts), LIMITS):
            _take(delta, buffer, known=dialect.unopened)

    try:
        asyncio.run(read())
    except BackendError as error:
        error.text = buffer.text
        raise
    return buffer.text, "".join(buffer.reasoning)


def check(answer, places, *, known: bool | None) -> None:
    body, reply, thoughts, complete = answer
    dialect = Dialect("m", unopened=known)
    if complete:
        assert heard(body, places, dialect) == (reply, thoughts)
        return
    with pytest.raises(BackendError) as failed:
        heard(body, places, dialect)
    assert failed.value.reason in ("no_finish_reason", "empty_reply", "not_a_stream")
    if known:
        assert reply.startswith(failed.value.text)


@given(answers(), st.lists(st.integers(0, 3_000), max_size=12), KNOWN)
def test_any_mixture_of_dialects_gives_the_reply_or_a_named_failure(answer, places, known):
    check(answer, places, known=known)

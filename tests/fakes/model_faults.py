"""What the fake model server can do: an ordinary reply, and every fault that a real one has shown, in any protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from tests.fakes.latex import BROKEN, latex
from tests.fakes.model_delays import (
    drip,
    endless_event,
    endless_lines,
    flood,
    hang,
    hang_midway,
    hang_open,
    keep_alive,
    pieces,
)
from tests.fakes.model_reply import Reply

FIRST_S, PACE_S = 0.2, 0.02
WORDS = 10_000
DATE = "Sat, 21 Nov 2026 12:00:00 GMT"
LATER = "Sat, 21 Nov 2026 12:00:09 GMT"
OVERFLOW = "prompt is too long: this model's maximum context length is 8192 tokens"
Fault = Callable[[Reply], Awaitable[None]]


def reply_to(asked: str) -> str:
    return f"You said: {asked} – and that is *all* ∑ of it."


async def ordinary(reply: Reply, reply_to: Callable[[str], str] = reply_to) -> None:
    await reply.open()
    for number, word in enumerate(reply_to(reply.asked).split(" ")):
        await reply.say(f" {word}" if number else word)
        await asyncio.sleep(0)
    await reply.finish()


async def _typing(reply: Reply, words: int) -> None:
    """A sound reply at a model's pace: a while for the first word, a shorter one for each that follows."""
    await reply.open()
    await asyncio.sleep(FIRST_S)
    for _ in range(words):
        await reply.say("word ")
        await asyncio.sleep(PACE_S)
    await reply.finish()


async def _error(reply: Reply, status: int, message: str, code: str | None = None, **headers: str) -> None:
    await reply.error(status, message, code, **headers)


async def _quote(reply: Reply) -> None:
    await reply.answer(401, str(reply.headers), "text/plain")


async def _quote_in_stream(reply: Reply) -> None:
    await reply.open()
    await reply.garble(str(reply.headers))
    await reply.close()


async def _drop(reply: Reply, text: str = "Hel") -> None:
    await reply.open()
    await reply.say(text)
    reply.writer.transport.abort()


async def _drop_at_once(reply: Reply) -> None:
    reply.writer.transport.abort()


async def _no_finish(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.close()


async def _say(reply: Reply, text: str, reason: str = "stop", *, usage: bool = True) -> None:
    await reply.open()
    await reply.say(text)
    await reply.finish(reason, usage=usage)


async def _reset(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await asyncio.sleep(0.02)
    await reply.reset()


async def _short(reply: Reply) -> None:
    await reply.answer(200, "", reply.content_type, content_length="1000")
    await reply.plain(b"data: {")
    reply.writer.close()


async def _no_http(reply: Reply) -> None:
    await reply.plain(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    reply.writer.close()


async def _cut_character(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.garble("\udcff")
    await reply.close()


async def _squeezed(reply: Reply, *, sound: bool) -> None:
    reply.squeeze()
    await reply.open()
    if not sound:
        return await reply.plain_chunk(b"this is not gzip")
    await reply.say("Hello")
    await reply.finish()


async def _in_other_lines(reply: Reply) -> None:
    """Begin with a byte order mark and end lines with CR LF, as servers on Windows do."""
    reply.newline, reply.mark = "\r\n", b"\xef\xbb\xbf"
    await reply.open()
    await reply.say("Hello")
    await reply.finish()


async def _of_another_type(reply: Reply) -> None:
    reply.kind = "text/plain"
    await _say(reply, "Hello")


async def _with_nothing(reply: Reply) -> None:
    """Send events in which there is nothing of a reply, before and after its words."""
    await reply.open()
    await reply.nothing()
    await reply.say("Hello")
    await reply.nothing()
    await reply.finish()


async def _end_only(reply: Reply) -> None:
    await reply.open()
    await reply.end_only()


async def _malformed(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.garble()
    await reply.finish()


async def _stream_error(reply: Reply, message: str, code: str | None = None) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.fail(message, code)


async def _refusal(reply: Reply) -> None:
    await reply.open()
    await reply.refuse("I cannot help with that.")


async def _bytewise(reply: Reply) -> None:
    """Every byte in a chunk of its own, so that characters are cut in two, with signs of life between the pieces."""
    reply.bytewise = True
    await reply.open()
    await reply.say("Hé")
    await reply.idle()
    await reply.say("llo ∑🎲")
    await reply.finish()


async def _thoughts_in_tags(reply: Reply, opening: str) -> None:
    """Write thoughts into the text, as servers do that do not know how the model marks them."""
    await reply.open()
    for piece in (opening, "Let me see.", "\n</th", "ink>", "\n\n", "Hello"):
        if piece:
            await reply.say(piece)
    await reply.finish()


async def _thoughts(reply: Reply) -> None:
    await reply.open()
    await reply.think("Let me see.")
    await reply.say("Hello")
    await reply.finish()


FAULTS: dict[str, Fault] = {
    "302": partial(_error, status=302, message="Moved", location="http://127.0.0.1:9/elsewhere"),
    "400": partial(_error, status=400, message="Invalid 'temperature': expected a value of at most 2."),
    "400-context": partial(_error, status=400, message=OVERFLOW, code="context_length_exceeded"),
    "400-filter": partial(_error, status=400, message="content management policy", code="content_filter"),
    "400-system": partial(_error, status=400, message="System role not supported"),
    "401": partial(_error, status=401, message="Incorrect API key provided: sk-***", code="invalid_api_key"),
    "401-quote": _quote,
    "402": partial(_error, status=402, message="Payment required", code="billing_error"),
    "403": partial(_error, status=403, message="Not allowed"),
    "404": partial(_error, status=404, message="The model does not exist", code="model_not_found"),
    "408": partial(_error, status=408, message="Request timeout"),
    "409": partial(_error, status=409, message="Conflict"),
    "413": partial(_error, status=413, message="Request is larger than allowed"),
    "422": partial(_error, status=422, message="Unprocessable"),
    "429": partial(_error, status=429, message="Rate limit reached", code="rate_limit_exceeded", retry_after="7"),
    "429-bare": partial(_error, status=429, message="Rate limit reached", code="rate_limit_exceeded"),
    "429-soon": partial(_error, status=429, message="Rate limit reached", retry_after="1"),
    "429-date": partial(_error, status=429, message="Rate limit reached", date=DATE, retry_after=LATER),
    "429-long": partial(_error, status=429, message="Rate limit reached", retry_after="600"),
    "429-quota": partial(_error, status=429, message="You exceeded your current quota", code="insufficient_quota"),
    "500": partial(_error, status=500, message="boom"),
    "502-html": lambda r: r.answer(502, "<html>bad gateway</html>", "text/html"),
    "503": partial(_error, status=503, message="The engine is currently overloaded"),
    "503-html": lambda r: r.answer(503, "<html>unavailable</html>", "text/html"),
    "504": partial(_error, status=504, message="Gateway timeout"),
    "529": partial(_error, status=529, message="Overloaded"),
    "blank": partial(_say, text=" \n "),
    "brief": partial(_typing, words=5),
    "bytewise": _bytewise,
    "crlf": _in_other_lines,
    "content-filter": partial(_say, text="Hel", reason="content_filter"),
    "cut-character": _cut_character,
    "done-only": _end_only,
    "drip": drip,
    "drop": _drop,
    "drop-at-once": _drop_at_once,
    "empty": partial(_say, text=""),
    "endless-event": endless_event,
    "endless-lines": endless_lines,
    "flood": flood,
    "gzip": partial(_squeezed, sound=True),
    "gzip-broken": partial(_squeezed, sound=False),
    "half-pair": partial(_say, text="Hel\ud83d"),
    "hang": hang,
    "hang-midway": hang_midway,
    "hang-open": hang_open,
    "html": lambda r: r.answer(200, "<html>Please log in</html>", "text/html"),
    "json": lambda r: r.answer(200, '{"object": "chat.completion", "choices": []}'),
    "keep-alive": keep_alive,
    "length": partial(_say, text="Hel", reason="length"),
    "malformed": _malformed,
    "latex": partial(pieces, text=latex(WORDS)),
    "latex-broken": partial(pieces, text="\n\n".join(text[:1_500] for text in BROKEN.values())),
    "megabyte": partial(_say, text="blah " * 180_000),
    "no-answer": _no_http,
    "megabyte-in-pieces": partial(pieces, text="blah " * 210_000),
    "more-than-a-megabyte": partial(_say, text="blah " * 240_000),
    "no-body": lambda r: r.answer(200, "", r.content_type),
    "no-finish": _no_finish,
    "nothing": _with_nothing,
    "nul": partial(_say, text="Hel\0lo"),
    "no-usage": partial(_say, text="Hello", usage=False),
    "quote-in-stream": _quote_in_stream,
    "other-type": _of_another_type,
    "refusal": _refusal,
    "reset": _reset,
    "short": _short,
    "stream-context": partial(_stream_error, message=OVERFLOW, code="context_length_exceeded"),
    "stream-busy": partial(_stream_error, message="Rate limit reached", code="rate_limit_error"),
    "stream-error": partial(_stream_error, message="The server had an error"),
    "stream-overloaded": partial(_stream_error, message="Overloaded", code="overloaded_error"),
    "thoughts": _thoughts,
    "thoughts-tagged": partial(_thoughts_in_tags, opening="<think>\n"),
    "thoughts-unopened": partial(_thoughts_in_tags, opening=""),
    "tool-calls": partial(_say, text="Hel", reason="tool_calls"),
    "typing": partial(_typing, words=50),
}
"""What can be asked for as the model `fault:NAME`; some are sound replies, if unusual."""

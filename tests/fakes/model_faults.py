"""Replies of the fake model server: an ordinary one, and every fault that a real one has shown, in any protocol."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.fakes.latex import BROKEN, latex
from tests.fakes.model_reply import Reply

FIRST_S, PACE_S, DRIP_S = 0.2, 0.02, 0.02
HANG_S = 3600.0
PIECE, WORDS = 5_000, 10_000
DATE, LATER = "Sat, 21 Nov 2026 12:00:00 GMT", "Sat, 21 Nov 2026 12:00:09 GMT"
OVERFLOW = "prompt is too long: this model's maximum context length is 8192 tokens"
Fault = Callable[[Reply], Awaitable[None]]
# A method of a Reply, alone or with what it is given; or what is set of the reply.
Step = str | tuple[Any, ...] | Mapping[str, Any]


def reply_to(asked: str) -> str:
    return f"You said: {asked} – and that is *all* ∑ of it."


async def ordinary(reply: Reply, reply_to: Callable[[str], str] = reply_to) -> None:
    await reply.open()
    for number, word in enumerate(reply_to(reply.asked).split(" ")):
        await reply.say(f" {word}" if number else word)
        await asyncio.sleep(0)
    await reply.finish()


def steps(*taken: Step, endless: tuple[Step, ...] = ()) -> Fault:
    """Do these one after another, and then the `endless` ones for ever."""

    async def do(reply: Reply, step: Step) -> None:
        if isinstance(step, Mapping):
            vars(reply).update(step)
            return
        name, *given = (step,) if isinstance(step, str) else step
        await getattr(reply, name)(*given)

    async def fault(reply: Reply) -> None:
        for step in taken:
            await do(reply, step)
        while endless:
            for step in endless:
                await do(reply, step)

    return fault


def said(*texts: str, reason: str = "stop") -> Fault:
    return steps("open", *(("say", text) for text in texts), ("finish", reason))


def cut(text: str) -> tuple[str, ...]:
    return tuple(text[start : start + PIECE] for start in range(0, len(text), PIECE))


def typing(words: int) -> Fault:
    """A sound reply at a model's pace: a while for the first word, a shorter one for each that follows."""
    return steps("open", ("pause", FIRST_S), *(("say", "word "), ("pause", PACE_S)) * words, "finish")


def tagged(opening: str) -> Fault:
    """Thoughts within the text, as servers write them that do not know how the model marks them."""
    return said(*filter(None, (opening, "Let me see.", "\n</th", "ink>", "\n\n", "Hello")))


def error(status: int, message: str, code: str | None = None, **headers: str) -> Fault:
    async def fault(reply: Reply) -> None:
        await reply.error(status, message, code, **headers)

    return fault


def in_stream(message: str, code: str | None = None) -> Fault:
    return steps("open", ("say", "Hel"), ("fail", message, code))


async def short(reply: Reply) -> None:
    await reply.answer(200, "", reply.content_type, content_length="1000")
    await reply.plain(b"data: {")
    reply.writer.close()


async def quote_in_stream(reply: Reply) -> None:
    await steps("open", ("garble", str(reply.headers)), "close")(reply)


# What can be asked for as the model `fault:NAME`; some are sound replies, if unusual.
FAULTS: dict[str, Fault] = {
    "302": error(302, "Moved", location="http://127.0.0.1:9/elsewhere"),
    "400": error(400, "Invalid 'temperature': expected a value of at most 2."),
    "400-context": error(400, OVERFLOW, "context_length_exceeded"),
    "400-filter": error(400, "content management policy", "content_filter"),
    "400-system": error(400, "System role not supported"),
    "401": error(401, "Incorrect API key provided: sk-***", "invalid_api_key"),
    "401-quote": lambda r: r.answer(401, f"{r.headers} {r.body}", "text/plain"),
    "402": error(402, "Payment required", "billing_error"),
    "403": error(403, "Not allowed"),
    "404": error(404, "The model does not exist", "model_not_found"),
    "408": error(408, "Request timeout"),
    "409": error(409, "Conflict"),
    "413": error(413, "Request is larger than allowed"),
    "422": error(422, "Unprocessable"),
    "429": error(429, "Rate limit reached", "rate_limit_exceeded", retry_after="7"),
    "429-bare": error(429, "Rate limit reached", "rate_limit_exceeded"),
    "429-soon": error(429, "Rate limit reached", retry_after="1"),
    "429-date": error(429, "Rate limit reached", date=DATE, retry_after=LATER),
    "429-long": error(429, "Rate limit reached", retry_after="600"),
    "429-quota": error(429, "You exceeded your current quota", "insufficient_quota"),
    "500": error(500, "boom"),
    "502-html": lambda r: r.answer(502, "<html>bad gateway</html>", "text/html"),
    "503": error(503, "The engine is currently overloaded"),
    "503-html": lambda r: r.answer(503, "<html>unavailable</html>", "text/html"),
    "504": error(504, "Gateway timeout"),
    "529": error(529, "Overloaded"),
    "blank": said(" \n "),
    "break": steps("open", *(("say", "word " * 4), ("pause", PACE_S)) * 15, "abort"),
    "brief": typing(5),
    "bytewise": steps({"bytewise": True}, "open", ("say", "Hé"), "idle", ("say", "llo ∑🎲"), "finish"),
    "crlf": steps({"newline": "\r\n", "mark": b"\xef\xbb\xbf"}, "open", ("say", "Hello"), "finish"),
    "content-filter": said("Hel", reason="content_filter"),
    "cut-character": steps("open", ("say", "Hel"), ("garble", "\udcff"), "close"),
    "done-only": steps("open", "end_only"),
    "drip": steps("open", endless=(("say", "x"), ("wait", DRIP_S))),
    "drop": steps("open", ("say", "Hel"), "abort"),
    "drop-at-once": steps("abort"),
    "empty": said(""),
    "ended": said("Hello", "<|im_", "end|>", "\n</s>"),
    "endless-event": steps("open", endless=(("raw", "x" * 100_000),)),
    "endless-lines": steps("open", endless=(("raw", "data: x\n" * 10_000),)),
    "flood": steps("open", endless=(("say", "blah " * 200), ("wait", 0.001))),
    "gzip": steps("squeeze", "open", ("say", "Hello"), "finish"),
    "gzip-broken": steps("squeeze", "open", ("plain_chunk", b"this is not gzip")),
    "half-pair": said("Hel\ud83d"),
    "halves": said("Hel\ud83d", "\ude00lo"),
    "hang": steps(("wait", HANG_S)),
    "hang-midway": steps("open", ("say", "Hel"), ("wait", HANG_S)),
    "hang-open": steps("open", ("wait", HANG_S)),
    "html": lambda r: r.answer(200, "<html>Please log in</html>", "text/html"),
    "json": lambda r: r.answer(200, '{"object": "chat.completion", "choices": []}'),
    "keep-alive": steps("open", endless=("idle", ("wait", DRIP_S))),
    "length": said("Hel", reason="length"),
    "malformed": steps("open", ("say", "Hel"), "garble", "finish"),
    "latex": said(*cut(latex(WORDS))),
    "latex-broken": said(*cut("\n\n".join(text[:1_500] for text in BROKEN.values()))),
    "megabyte": said("blah " * 180_000),
    "no-answer": steps(("plain", b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), "hang_up"),
    "megabyte-in-pieces": said(*cut("blah " * 210_000)),
    "more-than-a-megabyte": said("blah " * 240_000),
    "no-body": lambda r: r.answer(200, "", r.content_type),
    "no-finish": steps("open", ("say", "Hel"), "close"),
    "novel": said(*("blah " * 200,) * 40),
    "nothing": steps("open", "nothing", ("say", "Hello"), "nothing", "finish"),
    "nul": said("Hel\0lo"),
    "no-usage": steps({"usage": False}, "open", ("say", "Hello"), "finish"),
    "quote-in-stream": quote_in_stream,
    "other-type": steps({"kind": "text/plain"}, "open", ("say", "Hello"), "finish"),
    "refusal": steps("open", ("refuse", "I cannot help with that.")),
    "reset": steps("open", ("say", "Hel"), ("pause", 0.02), "reset"),
    "short": short,
    "stream-context": in_stream(OVERFLOW, "context_length_exceeded"),
    "stream-busy": in_stream("Rate limit reached", "rate_limit_error"),
    "stream-error": in_stream("The server had an error"),
    "stream-overloaded": in_stream("Overloaded", "overloaded_error"),
    "thoughts": steps("open", ("think", "Let me see."), ("say", "Hello"), "finish"),
    "thoughts-tagged": tagged("<think>\n"),
    "thoughts-unopened": tagged(""),
    "thoughts-harmony": said(
        "<|channel|>analysis<|mess",
        "age|>Let me see.<|end|><|start|>assistant",
        "<|channel|>final<|message|>",
        "Hello<|return|>",
    ),
    "thoughts-bare": said("analysis", "Let me see.", "assistant", "final", "Hello"),
    "thoughts-kimi": said("◁think▷", "Let me see.◁/th", "ink▷", "Hello"),
    "tool-calls": said("Hel", reason="tool_calls"),
    "typing": typing(50),
}

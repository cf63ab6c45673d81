"""What the fake model server can do: an ordinary reply, and every fault that a real one has shown."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes.openai_reply import Reply

HANG_S = 30.0


def reply_to(body: dict[str, Any]) -> str:
    """Give the ordinary reply to a request."""
    return f"You said: {body['messages'][-1]['content']} – and that is *all* ∑ of it."


async def ordinary(reply: Reply) -> None:
    await reply.open()
    await reply.chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
    for word in reply_to(reply.body).split(" "):
        await reply.say(word if word == "You" else f" {word}")
        await asyncio.sleep(0)
    await reply.finish()


async def _status_429(reply: Reply) -> None:
    await reply.error(429, "Rate limit reached", "rate_limit_exceeded", retry_after="7")


async def _drop(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    reply.writer.transport.abort()


async def _no_finish(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.close()


async def _empty(reply: Reply) -> None:
    await reply.open()
    await reply.say("")
    await reply.finish()


async def _done_only(reply: Reply) -> None:
    await reply.open()
    await reply.raw("data: [DONE]\n\n")
    await reply.close()


async def _malformed(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.raw('data: {"id": "c", broken\n\n')
    await reply.finish()


async def _stream_error(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.raw('data: {"error": {"message": "The server had an error", "type": "server_error"}}\n\n')
    await reply.close()


async def _hang(reply: Reply) -> None:
    await reply.wait(HANG_S)


async def _hang_midway(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.wait(HANG_S)


async def _drip(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.say("x")
        await reply.wait(0.02)


async def _keep_alive(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.raw(": keep-alive\n\n")
        await reply.wait(0.02)


async def _flood(reply: Reply) -> None:
    await reply.open()
    while True:
        await reply.say("blah " * 200)
        await reply.wait(0.001)


async def _partial(reply: Reply, reason: str) -> None:
    await reply.open()
    await reply.say("Hel")
    await reply.finish(reason)


async def _no_usage(reply: Reply) -> None:
    await reply.open()
    await reply.say("Hello")
    await reply.chunk([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    await reply.close()


FAULTS: dict[str, Callable[[Reply], Awaitable[None]]] = {
    "400-context": lambda r: r.error(400, "maximum context length is 8192 tokens", "context_length_exceeded"),
    "400-filter": lambda r: r.error(400, "content management policy", "content_filter"),
    "401": lambda r: r.error(401, "Incorrect API key provided: sk-***", "invalid_api_key"),
    "404": lambda r: r.error(404, "The model does not exist", "model_not_found"),
    "429": _status_429,
    "429-quota": lambda r: r.error(429, "You exceeded your current quota", "insufficient_quota"),
    "500": lambda r: r.error(500, "boom"),
    "503-html": lambda r: r.answer(503, "<html>bad gateway</html>", "text/html"),
    "content-filter": lambda r: _partial(r, "content_filter"),
    "done-only": _done_only,
    "drip": _drip,
    "drop": _drop,
    "empty": _empty,
    "flood": _flood,
    "hang": _hang,
    "hang-midway": _hang_midway,
    "html": lambda r: r.answer(200, "<html>Please log in</html>", "text/html"),
    "json": lambda r: r.answer(200, '{"object": "chat.completion", "choices": []}'),
    "keep-alive": _keep_alive,
    "length": lambda r: _partial(r, "length"),
    "malformed": _malformed,
    "no-finish": _no_finish,
    "no-usage": _no_usage,
    "stream-error": _stream_error,
    "tool-calls": lambda r: _partial(r, "tool_calls"),
}
"""What can be asked for as the model `fault:NAME`; length and no-usage are sound replies, if unusual."""

"""Request a whole reply at once, as batches do: no participant reads along, so nothing is streamed.

A backend that can answer whole has a method `whole`; of any other the stream is collected. What counts as a reply is
the same as in `guard`; of its times only `reply_timeout_s` holds. An error has with it what was sent and what came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace

import orjson

from app.backends.base import (
    Backend,
    Completion,
    Delta,
    ReasoningDelta,
    ReasoningEnd,
    Request,
    StreamEnd,
    TextDelta,
)
from app.backends.guard import (
    MAX_REASONING_CHARS,
    ReplyLimits,
    check_end,
    check_length,
    guarded_stream,
    within_deadline,
)
from app.backends.wire.error_mapping import refusal
from app.errors import BackendBroken, BackendError
from problems.text import clean


@dataclass(frozen=True, slots=True)
class _Patient:
    """The time limits of a reply that is not shown while it is written: only the total time is limited."""

    reply_timeout_s: float
    max_reply_chars: int

    @property
    def first_token_timeout_s(self) -> float:
        return self.reply_timeout_s

    @property
    def token_gap_timeout_s(self) -> float:
        return self.reply_timeout_s


async def complete(backend: Backend, request: Request, limits: ReplyLimits) -> Completion:
    """Give the reply with all that went over the wire for it; raise a BackendError if there is none."""
    ask: Callable[[Request], Awaitable[Completion]] | None = getattr(backend, "whole", None)
    if ask is None:
        return await _collected(backend, request, limits)
    until = asyncio.get_running_loop().time() + limits.reply_timeout_s
    reply = await within_deadline(ask(request), until, "reply", limits.reply_timeout_s)
    reply = replace(reply, text=clean(reply.text), reasoning=clean(reply.reasoning[:MAX_REASONING_CHARS]))
    try:
        check_length(len(reply.text), limits)
        if reply.end.finish_reason == "refusal":
            raise refusal(reply.text)
        check_end(reply.end.finish_reason, not reply.text.strip())
    except BackendBroken as error:
        error.sent, error.raw = reply.sent, reply.raw
        error.tokens = reply.end.prompt_tokens, reply.end.completion_tokens
        raise
    return reply


async def _collected(backend: Backend, request: Request, limits: ReplyLimits) -> Completion:
    found: list[Delta] = []
    patient = _Patient(limits.reply_timeout_s, limits.max_reply_chars)
    sent = orjson.dumps(replace(request, problem=None), default=dict).decode()
    try:
        async with aclosing(guarded_stream(lambda: backend.stream(request), patient)) as deltas:
            async for delta in deltas:
                found.append(delta)
    except BackendError as error:
        error.sent, error.raw = sent, orjson.dumps(found).decode()
        raise
    end = next(one for one in found if isinstance(one, StreamEnd))  # the last: the guard gives one, or raises
    begun = next((number for number, one in enumerate(found) if isinstance(one, ReasoningEnd)), 0)
    text = "".join(one.text for one in found[begun:] if isinstance(one, TextDelta))
    thought = [one.text for one in found[:begun] if isinstance(one, TextDelta)]
    thought += [one.text for one in found if isinstance(one, ReasoningDelta)]
    return Completion(text, end, orjson.dumps(found).decode(), sent, "".join(thought))

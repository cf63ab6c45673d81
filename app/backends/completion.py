"""Request a whole reply at once, as batches do: no participant reads along, so servers are not asked for a stream.

What counts as a reply is the same as in `guard`; of its times only `reply_timeout_s` holds. An error has with it what
was sent and what came.
"""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace

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
    ToolCall,
)
from app.backends.guard import guarded_stream
from app.config.settings import Settings
from app.errors import BackendError


async def complete(backend: Backend, request: Request, limits: Settings) -> Completion:
    """Return the reply with the request and the answer as sent; raise a BackendError if there is none."""
    found: list[Delta] = []
    request = replace(request, whole=True)
    sent = orjson.dumps(replace(request, problem=None), default=dict).decode()
    try:
        async with aclosing(guarded_stream(lambda: backend.stream(request), limits, whole=True)) as deltas:
            async for delta in deltas:
                found.append(delta)
    except BackendError as error:
        error.sent, error.raw = error.sent or sent, error.raw or orjson.dumps(found).decode()
        raise
    end = next(one for one in found if isinstance(one, StreamEnd))  # the last: the guard gives one, or raises
    begun = next((number for number, one in enumerate(found) if isinstance(one, ReasoningEnd)), 0)
    text = "".join(one.text for one in found[begun:] if isinstance(one, TextDelta))
    thought = [one.text for one in found[:begun] if isinstance(one, TextDelta)]
    thought += [one.text for one in found if isinstance(one, ReasoningDelta)]
    raw, calls = end.raw or orjson.dumps(found).decode(), tuple(one for one in found if isinstance(one, ToolCall))
    return Completion(text, end, raw, end.sent or sent, "".join(thought), calls)

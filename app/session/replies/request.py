"""Asking a model once: what it was asked, what came back, and how long that took."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from app.backends.base import Backend, End, Message, Request, Text
from app.backends.guard import Limits, deadlines
from app.calls.caller import Result
from app.clock import Clock
from app.errors import BackendError
from app.session.replies.buffer import Reply
from experiments.events import Data
from experiments.study.resolve import Study

STOPPED = "stopped"
"""How a reply ends that the participant stopped."""


async def ask(backend: Backend, request: Request, limits: Limits, reply: Reply, clock: Clock) -> Result:
    """Ask a model; its words go into the buffer as they come. A failure is an outcome, not an exception.

    Of a reply that is stopped what has come is kept, whatever happens while the model is let go.
    """
    started_us = clock.now_us()
    first_us: int | None = None
    end, error = End(""), None
    reply.begin()
    try:
        async with reply.stopping.heeded(), aclosing(deadlines(lambda: backend.stream(request), limits)) as deltas:
            async for delta in deltas:
                if isinstance(delta, Text):
                    first_us = first_us or clock.now_us()
                    reply.add(delta.text)
                else:
                    end = delta
    except BackendError as failed:
        error = failed
    text = reply.text.strip()
    if reply.stopped and not end.finish_reason:
        end, error = End(STOPPED), None if text else wordless()
    if error is not None:
        reply.begin()  # half a reply is taken off the screen at once, and not when the model is asked anew
    first_token_us = None if first_us is None else first_us - started_us
    return Result(text, end, started_us, clock.now_us() - started_us, first_token_us, error)


def wordless() -> BackendError:
    """What a reply is that was stopped before its first word."""
    return BackendError("The reply was stopped before its first word.", reason=STOPPED)


def request_for(study: Study, job: Data, name: str, seed: str) -> Request:
    """The request for an owed reply to one of the study's models; everything in it comes from the study and the log."""
    model = study.model(name)
    return Request(
        model=model.model or name,
        messages=tuple(Message(message["role"], message["text"]) for message in job["messages"]),
        temperature=model.temperature,
        max_tokens=model.max_tokens,
        options=model.options,
        seed=seed,
        schema=job.get("schema"),
    )


def request_json(request: Request) -> dict[str, Any]:
    """What a model was asked, as it is kept with the attempt; keys and servers are not in it."""
    return {
        "model": request.model,
        "messages": [{"role": message.role, "text": message.text} for message in request.messages],
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "options": dict(request.options),
        **({"schema": request.schema} if request.schema is not None else {}),
    }

"""Test a model: send it one short message by the way of a participant's reply, once, and without its fallbacks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from app.backends.base import Backend, PromptMessage, Request
from app.backends.model_ref import ModelRef
from app.backends.registry import untested
from app.calls.caller import Attempt, Budget, Call, Caller, Result
from app.calls.model_pool import ModelPool
from app.calls.retry import RetryPolicy
from app.clock import Clock
from app.config.settings import Settings, env_name
from app.session.replies.buffer import HOLD_CHARS, HOLD_S, ReplyBuffer
from app.session.replies.request import stream_reply
from experiments.study.sections.model_spec import ModelSpec

# makes a model that can think do so
MESSAGE = "How many of the numbers from 1 to 30 can be divided by 2 or by 3? Reply with one short sentence."
UNOPENED = "Its replies begin with reasoning that no opening tag marks: nothing is shown until the reasoning has ended."
CUT = "Its `max_tokens` cut the reply to this test off. Raise it, or participants read replies without an end."


async def check_model(pool: ModelPool, ref: ModelRef, settings: Settings, clock: Clock, reply: ReplyBuffer) -> Attempt:
    """Call a model once and stream its text into `reply`. An error, also of the settings, is part of the result."""
    made: list[Attempt] = []

    async def ask(backend: Backend, request: Request, _: bool) -> Result:
        return await stream_reply(backend, request, settings, reply, clock)

    call = Call("test", reply.stopping, ask, made.append)
    once = RetryPolicy(1, settings.retry_wait_s, settings.max_retry_wait_s, settings.max_retry_wait_s)
    access, request = pool.access(ref.label, ref.model), check_request(ref)
    try:
        await Caller(once, clock, Budget()).call(access, request, call)
        if made[-1].result.error is None:
            access.backend().save(request)
    finally:
        reply.end()
    return made[-1]


def advice(result: Result) -> list[str]:
    """Return advice on the problems in a model's test that participants would notice."""
    return [UNOPENED] * result.unopened + [CUT] * (result.end.finish_reason == "length")


def untested_advice(models: Mapping[str, ModelSpec], settings: Settings) -> list[str]:
    labels = ", ".join(asyncio.run(untested(models, settings)))
    held = f"each is held for {HOLD_S} s or {HOLD_CHARS} characters, and unmarked reasoning would be shown after that"
    return [f"models {labels}: how replies begin is not known, so {held}. `parley models` finds out."] if labels else []


async def check_models(refs: Sequence[ModelRef], settings: Settings, clock: Clock) -> list[Attempt]:
    """Call several models at the same time, each once; their attempts in the same order."""
    pool = ModelPool(settings, clock, asyncio.sleep)
    try:
        return await asyncio.gather(*(check_model(pool, ref, settings, clock, ReplyBuffer()) for ref in refs))
    finally:
        await pool.close()


def check_request(ref: ModelRef) -> Request:
    """The request: the message with all that the study says of the model. `{{names}}` in its system prompt are sent as
    they stand, and of one prompt for each value the first is sent."""
    model = ref.model
    system = model.system if isinstance(model.system, str) else next(iter(model.system.pick.values()), "")
    start = (PromptMessage("system", system),) if system else ()
    return Request(
        model=ref.name,
        messages=(*start, PromptMessage("user", MESSAGE)),
        temperature=model.temperature,
        max_tokens=model.max_tokens,
        options=model.options,
    )


SAVED = "the console, under Model servers"


def settings_of(model: ModelSpec, settings: Settings) -> tuple[str, ...]:
    """Variables, or the console, with the address and key of a model's server; none for a model without a server."""
    if model.server:
        return (SAVED if settings.is_saved(model.server) else env_name("model_servers"),)
    fields = (f"{model.backend}_base_url", f"{model.backend}_api_key")
    return tuple(env_name(name) for name in fields if name in Settings.model_fields)

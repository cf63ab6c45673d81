"""Asking until there is a reply: tries with pauses, then the study's other models, within limits; every attempt told.

A server that is busy or away is asked again after a pause (its own Retry-After, where that is short); a reply that is
none is worth one more try; a refusal is none. Then come the model's fallbacks, in order.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from app.backends.base import Backend, End, Request
from app.backends.deadlines import Limits
from app.clock import Clock
from app.errors import BackendBroken, BackendError, BackendUnavailable, SettingsError
from app.replies.asking import STOPPED, Asked, ask, request_for, request_json, wordless
from app.replies.breaker import Breaker
from app.replies.buffer import Reply
from experiments.core.events import Data
from experiments.core.leaks import leaks
from experiments.core.resolve import Study

BROKEN_TRIES = 2


class Patience(Limits, Protocol):
    """How long and how often a model is asked; Settings has them."""

    @property
    def model_tries(self) -> int: ...  # noqa: D102  (described in Settings)
    @property
    def retry_wait_s(self) -> float: ...  # noqa: D102
    @property
    def longest_retry_wait_s(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: which of the study's models was asked what, and what became of it."""

    model: str
    request: Request
    asked: Asked
    started_us: int


@dataclass(frozen=True, slots=True)
class Means:
    """What asking needs of the deployment, and whose reply it is."""

    session: str
    patience: Patience
    clock: Clock
    backend: Callable[[Study, str], Backend]
    breaker: Callable[[Study, str], Breaker]
    before: Callable[[Study], Awaitable[None]]
    """Done before each attempt: waits until its reply can be kept, and looks at what it may cost."""
    record: Callable[[Attempt], None]
    """Done after each, and not waited for: what follows from it is written behind it."""


async def ask_patiently(means: Means, study: Study, job: Data, seed: str, reply: Reply) -> list[Attempt]:
    """Every attempt, at least one, each recorded as it ends; the last gave the reply, or there is none."""
    made: list[Attempt] = []
    for name in (job["model"], *study.model(job["model"]).fallback):
        if await _try(means, study, request_for(study, job, name, seed), name, reply, made):
            break
    return made


async def _try(means: Means, study: Study, request: Request, name: str, reply: Reply, made: list[Attempt]) -> bool:
    """Attempts with one model, up to its reply or until no further one is sensible; whether nobody else is asked."""
    breaker = means.breaker(study, name)
    for number in range(1, means.patience.model_tries + 1):
        await means.before(study)
        started_us = means.clock.now_us()
        asked = await _once(means, study, name, request, reply, breaker)
        again = number < means.patience.model_tries and not reply.stopped
        if study.file.on_leak == "regenerate" and asked.error is None and again:
            asked = _unless_it_tells(asked, study)
        made.append(Attempt(name, request, asked, started_us))
        means.record(made[-1])
        if asked.error is None or reply.stopped:
            return True
        wait_s = _wait_s(asked.error, number, means.patience, f"{request.seed}:{number}")
        if wait_s is None:
            break
        async with reply.stoppable():
            await means.clock.wait(wait_s)
    return False


async def _once(means: Means, study: Study, name: str, request: Request, reply: Reply, breaker: Breaker) -> Asked:
    if reply.stopped:  # before it was asked for, or in the pause before another try
        return Asked("", End(STOPPED), None, 0, wordless())
    try:
        breaker.check(means.session)
        backend = means.backend(study, name)
    except BackendError as error:
        return Asked("", End(""), None, 0, error)
    except SettingsError as error:
        return Asked("", End(""), None, 0, BackendError(str(error), reason="settings"))
    asked = await ask(backend, request, means.patience, reply, means.clock)
    if asked.error is None:
        breaker.succeeded()
    else:
        breaker.failed_again(means.session, asked.error)
    return asked


def _unless_it_tells(asked: Asked, study: Study) -> Asked:
    """A reply that tells which model wrote it is none, where the study wants another."""
    told = leaks(asked.text, study.file.models)
    error = BackendBroken(f"The reply tells which model wrote it: {', '.join(told)}", reason="leak")
    return replace(asked, error=error) if told else asked


def _wait_s(error: BackendError | None, number: int, patience: Patience, seed: str) -> float | None:
    """How long to wait before the same model is asked again; None if it is not."""
    if error is None or number >= patience.model_tries:
        return None
    if isinstance(error, BackendBroken):
        again = error.reason == "leak" or (number < BROKEN_TRIES and error.reason != "content_filter")
        return 0.0 if again else None
    if not isinstance(error, BackendUnavailable) or error.reason == "circuit_open":
        return None
    longest = patience.longest_retry_wait_s
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= longest else None
    pause: float = min(longest, patience.retry_wait_s * 2 ** (number - 1))
    return pause * random.Random(seed).uniform(0.75, 1.25)  # noqa: S311  (spread, so that not all come back at once)


def attempt_values(study: Study, attempt: Attempt) -> dict[str, Any]:
    """An attempt as it is kept, without the place that it was for."""
    asked = attempt.asked
    return {
        "study": study.name,
        "started_us": attempt.started_us,
        "model": attempt.model,
        "backend": study.model(attempt.model).backend,
        "server": study.model(attempt.model).server,
        "request": request_json(attempt.request),
        "text": asked.text,
        "finish_reason": asked.end.finish_reason or None,
        "version": asked.end.model,
        "prompt_tokens": asked.end.prompt_tokens,
        "completion_tokens": asked.end.completion_tokens,
        "first_token_us": asked.first_token_us,
        "total_us": asked.total_us,
        "cost": cost(study, attempt),
        "reason": asked.error.reason if asked.error else None,
        "cause": str(asked.error) if asked.error else None,
    }


def cost(study: Study, attempt: Attempt) -> float | None:
    """What an attempt cost; None where the study has no price, or the server did not count the tokens."""
    price, end = study.model(attempt.model).price, attempt.asked.end
    if price is None or end.prompt_tokens is None or end.completion_tokens is None:
        return None
    return price.of(end.prompt_tokens, end.completion_tokens)

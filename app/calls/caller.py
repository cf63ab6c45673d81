"""Calls of one model for one reply: admitted, made, recorded, and made again where that is sensible.

A call waits for the model's rate limit and is held back by its circuit breaker and the budget; each learns what became
of it. How it is made, and who hears of it, is the business of whoever wants the reply: a chat or a batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from app.backends.base import Backend, Request, StreamEnd, ToolCall
from app.backends.registry import asks_servers
from app.calls.model_pool import ModelAccess
from app.calls.retry import RetryPolicy
from app.clock import Clock
from app.errors import BackendBroken, BackendError, PriceUnknown, SettingsError
from experiments.study.sections.model_spec import ModelSpec, Price

# The tokens that a reply may have where `max_tokens` does not say so.
LONGEST = 4_096
OVERHEAD = 32


class Budget:
    """A sum of money; without a limit there is always enough."""

    def __init__(self, limit: float | None = None, spent: float = 0.0, reserved: float = 0.0) -> None:
        self._limit, self._spent, self._reserved = limit, spent, reserved
        self._calls = 0
        self._changed = asyncio.Event()
        self.exhausted = False

    @property
    def left(self) -> float:
        return float("inf") if self._limit is None else self._limit - self._spent - self._reserved

    def most_of(self, label: str, price: Price | None, request: Request) -> float:
        """The most that a call can cost: no token is shorter than a byte. Raises PriceUnknown where that is needed."""
        if price is None:
            if self._limit is not None:
                raise PriceUnknown(
                    f"{label}: its price is not known, so a budget cannot be kept. Give the model its `price` in "
                    "the study (`{prompt: 0, completion: 0}` where it costs nothing), or set no budget."
                )
            return 0.0
        if self._limit is None:
            return 0.0
        prompt = sum(len(message.text.encode()) + OVERHEAD for message in request.messages)
        return price.of(prompt, request.max_tokens or LONGEST)

    async def reserve(self, most: float) -> bool:
        """Reserve a call's maximum cost; False if it will not fit even when the running calls are finished."""
        while most > self.left:
            if not self._calls:
                self.exhausted = True
                return False
            self._changed.clear()
            await self._changed.wait()
        self._reserved += most
        self._calls += 1
        return True

    async def settle(self, most: float, cost: float) -> None:
        self._reserved -= most
        self._calls -= 1
        self._spent += cost
        self._changed.set()


class StopSignal:
    """Given once, and for good."""

    def __init__(self) -> None:
        self.given = False
        self._waits: set[asyncio.Timeout] = set()

    def give(self) -> None:
        if not self.given:  # a timeout that has gone off cannot be set anew
            self.given = True
            for wait in self._waits:
                wait.reschedule(0)

    @asynccontextmanager
    async def heeded(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(0 if self.given else None) as wait:
                self._waits.add(wait)
                try:
                    yield
                finally:
                    self._waits.discard(wait)
        except TimeoutError:
            if not self.given:
                raise


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a request: its whole text, or the part before it failed; times in microseconds."""

    text: str
    end: StreamEnd
    started_us: int
    total_us: int
    first_token_us: int | None = None
    error: BackendError | None = None
    sent: str | None = None
    """The request and the answer as sent, where the caller knows them."""
    raw: str | None = None
    reasoning: str = ""
    unopened: bool = False
    """True if reasoning came as text until its closing tag, because no opening tag marked it."""
    calls: tuple[ToolCall, ...] = ()
    """The tools that the model asks for, before it goes on."""
    shown: bool = False
    """True if a person could read a part of a reply that failed: it stays, and the request is not made again."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request and its result, the `number`th for this reply; `label` is the model's name in the data."""

    label: str
    number: int
    request: Request
    result: Result
    cost: float | None
    """None where the model has no price, or the server did not count the tokens."""


@dataclass(frozen=True, slots=True)
class Call:
    session: str
    """For the circuit breaker: consecutive failures of one session count once."""
    stop: StopSignal
    """Given when the reply is no longer needed."""
    ask: Callable[[Backend, Request, bool], Awaitable[Result]]
    """Makes the request once; True where it is not made again."""
    record: Callable[[Attempt], None]
    ready: Callable[[], Awaitable[None]] | None = None
    """Waits until replies can be stored, so that no paid reply is lost."""

    def is_over(self) -> bool:
        return self.stop.given


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls models with one retry policy, within one budget."""

    policy: RetryPolicy
    clock: Clock
    budget: Budget

    async def call(self, access: ModelAccess, request: Request, call: Call) -> Attempt | None:
        """The last attempt, once there is a reply or no try is sensible. None if over before, or out of budget."""
        most = self.budget.most_of(access.label, access.model.price, request)
        tokens = access.limiter.expected_tokens(request)
        number = tries = broken = 0
        while not call.is_over():
            number += 1
            try:
                await self._admitted(access, call, tokens)
                backend = access.backend()
            except (BackendError, SettingsError) as error:
                return self._not_asked(access, request, call, number, error)
            if call.ready is not None:
                await call.ready()
            if call.is_over() or not await self.budget.reserve(most):
                return None
            if call.is_over():  # the call was cancelled while waiting for budget to be released
                await self.budget.settle(most, 0.0)
                return None
            result = await call.ask(backend, request, tries + 1 >= self.policy.tries)
            attempt = Attempt(access.label, number, request, result, cost_of(access.model, result.end))
            await self.budget.settle(most, _settled(attempt, most))
            self._learn(access, call, result, tokens)
            call.record(attempt)
            if (failed := result.error) is None or result.shown:
                return attempt
            tries, broken = tries + self.policy.counts(failed), broken + isinstance(failed, BackendBroken)
            pause_s = self.policy.pause_s(failed, number, tries, broken, request.seed)
            if pause_s is None:
                return attempt
            async with call.stop.heeded():
                await self.clock.wait(pause_s)
        return None

    async def _admitted(self, access: ModelAccess, call: Call, tokens: int) -> None:
        """Wait for the turn of a call. Raises BackendUnavailable where it may not wait so long."""
        while not call.is_over() and (open_s := access.breaker.open_s(call.session)) > 0:
            if not self.policy.patient:
                raise access.breaker.error()
            async with call.stop.heeded():
                await self.clock.wait(open_s)
        if not access.limiter.at_once(tokens):
            async with call.stop.heeded():
                await access.limiter.admit(tokens, self.policy.longest_admission_s)

    def _not_asked(
        self, access: ModelAccess, request: Request, call: Call, number: int, error: BackendError | SettingsError
    ) -> Attempt:
        failed = error if isinstance(error, BackendError) else BackendError(str(error), reason="settings")
        result = Result("", StreamEnd(""), self.clock.now_us(), 0, error=failed)
        attempt = Attempt(access.label, number, request, result, None)
        call.record(attempt)
        return attempt

    def _learn(self, access: ModelAccess, call: Call, result: Result, tokens: int) -> None:
        if (error := result.error) is None:
            access.limiter.replied(result.end, tokens)
            access.breaker.succeeded()
            return
        if self.policy.counts(error):
            access.breaker.failed_again(call.session, error)
        else:
            access.breaker.left()


def _settled(attempt: Attempt, most: float) -> float:
    """The amount charged to a budget: the maximum cost if a reply's cost is unknown, nothing for a failure."""
    if attempt.cost is not None:
        return attempt.cost
    return most if attempt.result.error is None else 0.0


def cost_of(model: ModelSpec, end: StreamEnd) -> float | None:
    """The cost of a reply; None if that is unknown. Models without a server cost nothing, unless they have a price."""
    if model.price is None and not asks_servers(model.backend):
        return 0.0
    price, prompt, completion = model.price, end.prompt_tokens, end.completion_tokens
    return None if price is None or prompt is None or completion is None else price.of(prompt, completion)


def row_of(attempt: Attempt, study: str, model: ModelSpec) -> Mapping[str, Any]:
    """An attempt as it is stored, without the session or the sample that it was for."""
    result, end, error = attempt.result, attempt.result.end, attempt.result.error
    return {
        "study": study,
        "number": attempt.number,
        "started_us": result.started_us,
        "model": attempt.label,
        "backend": model.backend,
        "server": model.server,
        "text": result.text,
        "finish_reason": end.finish_reason or None,
        "version": end.model,
        "prompt_tokens": end.prompt_tokens,
        "completion_tokens": end.completion_tokens,
        "first_token_us": result.first_token_us,
        "total_us": result.total_us,
        "cost": attempt.cost,
        "reason": error.reason if error else None,
        "cause": str(error) if error else None,
        "sent": result.sent,
        "raw": result.raw,
        "reasoning": result.reasoning or None,
    }

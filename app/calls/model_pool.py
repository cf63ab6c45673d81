"""The models at work: a backend for each server, and for each model a rate limiter and a circuit breaker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.backends import registry
from app.backends.base import Backend, Request, Sleep, StreamEnd
from app.clock import Clock
from app.config.model_servers import Server
from app.config.settings import Settings
from app.errors import BackendDenied, BackendError, BackendUnavailable
from experiments.study.sections.model_spec import ModelSpec

MINUTE_S = 60.0
# About how long a token is, and a reply of which nothing is known.
CHARS_PER_TOKEN, REPLY_TOKENS = 4, 256
# How much of a rate may go at once, as so many seconds of it.
SLACK_S = 0.1


@dataclass(slots=True)
class TokenBucket:
    """A need above what the bucket holds waits until it is full, and leaves a debt."""

    rate: float
    """Per second."""
    at_s: float
    """The time at which `level` held."""
    level: float = 1.0

    @property
    def burst(self) -> float:
        return max(1.0, self.rate * SLACK_S)

    def wait_s(self, amount: float, now_s: float) -> float:
        """The time until this amount can be taken; 0.0 if it can be taken now."""
        self.level = min(self.burst, self.level + self.rate * max(0.0, now_s - self.at_s))
        self.at_s = now_s
        return max(0.0, (min(amount, self.burst) - self.level) / self.rate)

    def take(self, amount: float) -> None:
        self.level = min(self.burst, self.level - amount)


class RateLimiter:
    """The rates set for a model: requests and tokens a minute, as token buckets. A server that says 429 is asked again
    after a pause (`retry`), by few at once; so its own limit needs no estimate."""

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        limits = (requests_per_minute, tokens_per_minute)
        self._requests, self._tokens = (TokenBucket(limit / MINUTE_S, now()) if limit else None for limit in limits)
        self._line = asyncio.Lock()
        self._waiting = self._replies = self._written = 0

    def expected_tokens(self, request: Request) -> int:
        most = min(request.max_tokens or REPLY_TOKENS, REPLY_TOKENS)
        usual = self._written // self._replies if self._replies else most
        return sum(len(message.text) for message in request.messages) // CHARS_PER_TOKEN + usual

    def at_once(self, tokens: int) -> bool:
        """Count a call that may go without waiting; False if it may not."""
        return not self._line.locked() and not self.wait_s(tokens)

    async def admit(self, tokens: int, longest_s: float) -> None:
        """Wait for a call's turn; raises BackendUnavailable where that would take longer than `longest_s`."""
        now_s = self._now()
        waits = (
            bucket.wait_s(amount, now_s) + self._waiting * amount / bucket.rate for bucket, amount in self._both(tokens)
        )
        if (expected_s := max(waits, default=0.0)) > longest_s:
            raise BackendUnavailable(
                f"The model's rate limit is used up for {expected_s:.1f} s by waiting calls.",
                reason="rate_limit",
            )
        self._waiting += 1
        try:
            async with self._line:
                while (wait_s := self.wait_s(tokens)) > 0:
                    await asyncio.sleep(wait_s)  # the server's time, whatever clock its caller lives by
        finally:
            self._waiting -= 1

    def wait_s(self, tokens: int) -> float:
        """Count a call now and return 0.0, or return the seconds after which to ask again."""
        now_s, both = self._now(), self._both(tokens)
        wait_s = max((bucket.wait_s(amount, now_s) for bucket, amount in both), default=0.0)
        if not wait_s:
            for bucket, amount in both:
                bucket.take(amount)
        return wait_s

    def replied(self, end: StreamEnd, expected: int) -> None:
        """A reply came, with the tokens that it took in place of those expected."""
        written = end.completion_tokens or 0
        self._replies, self._written = self._replies + 1, self._written + written
        if self._tokens is not None:
            self._tokens.take((end.prompt_tokens or 0) + written - expected)

    def _both(self, tokens: int) -> list[tuple[TokenBucket, int]]:
        return [(bucket, amount) for bucket, amount in ((self._requests, 1), (self._tokens, tokens)) if bucket]


@dataclass(slots=True)
class CircuitBreaker:
    """Stops calls to a model's server that fails repeatedly, from any session. After `failures` in a row it is open:
    nobody asks. After `pause_s` one may try; a reply closes it again, a failure opens it for another pause. What a text
    can bring about (a filter, a refusal, an empty reply) is no failure. Of one session in a row one failure counts, and
    the session that failed last is not the one that tries: so no participant can keep the model from the others."""

    clock: Clock
    failures: int
    pause_s: float
    failed: int = 0
    until_us: int = 0
    last: str = ""
    """The session of the last counted failure."""

    @property
    def is_open(self) -> bool:
        return self.failed >= self.failures

    def open_s(self, session: str) -> float:
        """For how long a session may not ask yet; 0.0 if it may, and is the one that tries where it is open."""
        if not self.is_open:
            return 0.0
        left_us = self.until_us - self.clock.now_us()
        if left_us > 0:
            return left_us / 1e6
        if session != self.last:
            self._pause()  # one tries, the others wait for what becomes of it
        return 0.0

    def error(self) -> BackendUnavailable:
        return BackendUnavailable(
            f"The model's server failed {self.failed} times in a row and gets no call for {self.pause_s:g} s.",
            reason="circuit_open",
        )

    def succeeded(self) -> None:
        self.failed, self.last = 0, ""

    def failed_again(self, session: str, error: BackendError) -> None:
        if not isinstance(error, BackendUnavailable | BackendDenied):
            self.left()
        elif session != self.last:
            self.failed, self.last = self.failed + 1, session
            self._pause()

    def left(self) -> None:
        """Record that a call ended without a result about the server's health; another call may try at once."""
        self.until_us = self.clock.now_us()

    def _pause(self) -> None:
        self.until_us = self.clock.now_us() + round(self.pause_s * 1e6)


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """The state that all calls of one model on one server share, and the study's name for the model."""

    label: str
    model: ModelSpec
    backend: Callable[[], Backend]
    """Raises SettingsError or BackendRejected where the backend cannot be made."""
    limiter: RateLimiter
    breaker: CircuitBreaker


class ModelPool:
    """All models of one process; those of one server share its connections. Backends that simulate typing wait by
    `sleep`. The rates are those of each model, in place of what is set for its server."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        sleep: Sleep,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
    ) -> None:
        self._settings, self._clock, self._sleep = settings, clock, sleep
        self._limits = requests_per_minute, tokens_per_minute
        self._backends: dict[tuple[str, str | None], tuple[Server | None, Backend]] = {}
        self._replaced: list[Backend] = []
        self._known: dict[tuple[str, str | None, str], tuple[RateLimiter, CircuitBreaker]] = {}

    def access(self, label: str, model: ModelSpec) -> ModelAccess:
        """The access to a model; studies that use one model share its rate limit and circuit breaker."""
        key = (model.backend, model.server, model.model or label)
        if key not in self._known:
            pause_s, failures = self._settings.breaker_pause_s, self._settings.breaker_failures
            self._known[key] = self._limiter(model), CircuitBreaker(self._clock, failures, pause_s)
        return ModelAccess(label, model, lambda: self.backend(model), *self._known[key])

    def backend(self, model: ModelSpec) -> Backend:
        """Raises SettingsError or BackendRejected. One whose server was changed is kept for replies being read."""
        key = (model.backend, model.server)
        server = self._settings.find_server(model.server) if model.server else None
        known = self._backends.get(key)
        if known is None or known[0] != server:  # an owner has given the server another address or key
            self._backends[key] = server, registry.create(model.backend, self._settings, self._sleep, model.server)
            self._replaced += [known[1]] if known else []
        return self._backends[key][1]

    def prepare(self, model: ModelSpec, label: str) -> None:
        self.backend(model).prepare(model.model or label)

    def _limiter(self, model: ModelSpec) -> RateLimiter:
        """The limits that were asked for, or else those that are set for the model's server."""
        server = self._settings.model_servers.get(model.server or "")
        set_by = (server.requests_per_minute, server.tokens_per_minute) if server else (None, None)
        requests, tokens = (own or known for own, known in zip(self._limits, set_by, strict=True))
        return RateLimiter(requests, tokens)

    async def close(self) -> None:
        for backend in (*self._replaced, *(backend for _, backend in self._backends.values())):
            await backend.close()

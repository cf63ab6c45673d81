"""The rate limits that are set for a model: requests and tokens a minute, as token buckets.

A server that says 429 is asked again after a pause (`retry`), and few are asked at once; so its own limit needs no
estimate.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.backends.base import Request, StreamEnd
from app.errors import BackendUnavailable

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
        """Wait for the turn of a call that will take about so many tokens.

        Raises BackendUnavailable where that would take longer than `longest_s`.
        """
        now_s = self._now()
        waits = (
            bucket.wait_s(amount, now_s) + self._waiting * amount / bucket.rate for bucket, amount in self._both(tokens)
        )
        if (expected_s := max(waits, default=0.0)) > longest_s:
            raise BackendUnavailable(
                f"The model's rate limit is used up for {expected_s:.1f} s by those who wait already.",
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
        """0.0: go now, and it is counted; else ask again after so many seconds."""
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

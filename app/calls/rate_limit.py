"""The rate limit of a model: configured, reported by its server, or estimated from refused calls.

Known limits are token buckets. Where a server says nothing, the rate is doubled until many calls are refused with 429;
from then on it grows by a fixed step, and falls to what was served where more than a few are refused. A single 429
concerns the call that met it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.backends.base import Request, StreamEnd
from app.errors import BackendUnavailable

REQUESTS, TOKENS = "requests", "tokens"
HEADERS = {
    REQUESTS: (
        ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests"),
        ("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining"),
    ),
    TOKENS: (
        ("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens"),
        ("anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-remaining"),
    ),
}
"""The headers of a limit and of what remains of it. All are for a minute, and what was taken comes back steadily."""
MINUTE_S = 60.0
CHARS_PER_TOKEN, REPLY_TOKENS = 4, 256
"""About how long a token is, and a reply of which nothing is known."""
SLACK_S = 0.1
"""How much of a rate may go at once, as so many seconds of it."""
START, SLOWEST = 200.0, 0.5
"""Calls a second at first, and at least."""
WINDOW_S, WINDOW, LONGEST_WINDOW_S = 0.5, 20, 10.0
"""Evaluate the refusal rate after this time and this many calls; and after the last time however few there were."""
MANY, FEW, TOLERATED = 0.4, 5, 0.08
"""Which share of a window, of at least so many refusals, is far too much; up to which share all is well."""
STEP, LEAST_STEP, DEEPEST = 1 / 30, 0.1, 0.5
"""By what share of the rate to which it fell, and by how much at least, it grows a second while all is well; to what
share it falls at most."""
PAUSE_S, LONGEST_PAUSE_S = 0.25, 120.0
"""How long nobody calls once many were refused, where the server does not say; and at most."""


@dataclass(slots=True)
class TokenBucket:
    """What may still be taken. A need above what the bucket holds waits until it is full, and leaves a debt."""

    rate: float
    burst: float
    level: float
    at_s: float
    """When `level` held."""

    def wait_s(self, amount: float, now_s: float) -> float:
        """The time until this amount can be taken; 0.0 if it can be taken now."""
        self._fill(now_s)
        return max(0.0, (min(amount, self.burst) - self.level) / self.rate)

    def take(self, amount: float) -> None:
        self.level = min(self.burst, self.level - amount)

    def at_most(self, level: float, now_s: float) -> None:
        self._fill(now_s)
        self.level = min(self.level, level)

    def set_rate(self, rate: float) -> None:
        self.rate, self.burst = rate, max(1.0, rate * SLACK_S)

    def _fill(self, now_s: float) -> None:
        self.level = min(self.burst, self.level + self.rate * max(0.0, now_s - self.at_s))
        self.at_s = now_s


def steady(rate: float, now_s: float) -> TokenBucket:
    """A bucket that lets calls through one by one, and what was late by SLACK_S at once."""
    return TokenBucket(rate, max(1.0, rate * SLACK_S), 1.0, now_s)


@dataclass(slots=True)
class _Window:
    since_s: float
    sent: int = 0
    refused: int = 0
    bound: bool = False
    """Whether a call had to wait for the rate."""

    @property
    def share(self) -> float:
        return self.refused / max(1, self.sent)


class RateLimiter:
    """Decides when the next call to a model may start, from the outcome of every call."""

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now, began_s = now, now()
        limits = ((REQUESTS, requests_per_minute), (TOKENS, tokens_per_minute))
        self._set = {unit: steady(limit / MINUTE_S, began_s) for unit, limit in limits if limit}
        self._reported: dict[str, TokenBucket] = {}
        self._found = steady(START, began_s)
        self._step = 0.0
        """By how much the found rate grows a second; 0.0 as long as it is doubled."""
        self._window = _Window(began_s)
        self._until_s = began_s
        self._line = asyncio.Lock()
        self._waiting = self._replies = self._written = 0

    def expected_tokens(self, request: Request) -> int:
        """The estimated number of tokens of a call, from the replies so far."""
        most = min(request.max_tokens or REPLY_TOKENS, REPLY_TOKENS)
        usual = self._written // self._replies if self._replies else most
        return sum(len(message.text) for message in request.messages) // CHARS_PER_TOKEN + usual

    def at_once(self, tokens: int) -> float | None:
        """When a call went that had not to wait; None if it has to."""
        return None if self._line.locked() or self.wait_s(tokens) > 0 else self._now()

    async def admit(self, tokens: int, longest_s: float) -> float:
        """Wait for the turn of a call that will take about so many tokens; gives when it went.

        Raises BackendUnavailable where that would take longer than `longest_s`.
        """
        if (expected_s := self._expected_s(tokens)) > longest_s:
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
        return self._now()

    def wait_s(self, tokens: int) -> float:
        """0.0: go now, and it is counted; else ask again after so many seconds."""
        now_s, window = self._now(), self._window
        buckets = self._buckets(tokens)
        wait_s = max(self._until_s - now_s, *(bucket.wait_s(amount, now_s) for bucket, amount in buckets))
        if wait_s > 0:
            window.bound = window.bound or self._found.level < 1
            return wait_s
        for bucket, amount in buckets:
            bucket.take(amount)
        age_s = now_s - window.since_s
        if (window.sent >= WINDOW and age_s >= WINDOW_S) or age_s >= LONGEST_WINDOW_S:
            self._check_window(now_s)
        self._window.sent += 1
        return 0.0

    def replied(self, end: StreamEnd, expected: int) -> None:
        """A reply came, with the tokens that it took in place of those expected, and what its server says."""
        written = end.completion_tokens or 0
        self._replies, self._written = self._replies + 1, self._written + written
        tokens = (end.prompt_tokens or 0) + written
        for buckets in (self._set, self._reported):
            if TOKENS in buckets:
                buckets[TOKENS].take(tokens - expected)
        if end.limits:
            self._apply_server_limits(end.limits)

    def refused(self, sent_s: float, retry_after_s: float | None) -> None:
        """The server said 429 to a call that went at that time."""
        window, now_s = self._window, self._now()
        if sent_s < window.since_s:
            return
        window.refused += 1
        if window.refused >= FEW and window.share >= MANY:
            pause_s = PAUSE_S if retry_after_s is None else min(LONGEST_PAUSE_S, retry_after_s)
            self._until_s = now_s + pause_s
            self._fall(window.share, self._until_s)

    def _check_window(self, now_s: float) -> None:
        """Look at a window, and begin the next."""
        window = self._window
        if self._step and window.share > TOLERATED:
            self._fall(window.share - TOLERATED, now_s)
            return
        if window.bound:
            rate, took_s = self._found.rate, now_s - window.since_s
            self._found.set_rate(rate + self._step * took_s if self._step else 2 * rate)
        self._window = _Window(now_s)

    def _fall(self, share: float, now_s: float) -> None:
        rate = max(SLOWEST, self._found.rate * max(DEEPEST, 1 - share))
        self._found.set_rate(rate)
        self._step, self._window = max(LEAST_STEP, rate * STEP), _Window(now_s)

    def _expected_s(self, tokens: int) -> float:
        """How long a call would wait behind those already waiting."""
        now_s = self._now()
        waits = (
            bucket.wait_s(amount, now_s) + self._waiting * amount / bucket.rate
            for bucket, amount in self._buckets(tokens)
        )
        return max(self._until_s - now_s, *waits)

    def _buckets(self, tokens: int) -> list[tuple[TokenBucket, float]]:
        amounts = {REQUESTS: 1, TOKENS: tokens}
        known = (*self._set.items(), *self._reported.items(), (REQUESTS, self._found))
        return [(bucket, amounts[unit]) for unit, bucket in known]

    def _apply_server_limits(self, limits: Mapping[str, str]) -> None:
        """Apply the limits that a server reports; values that are not numbers are ignored."""
        now_s = self._now()
        for unit, names in HEADERS.items():
            for limit_name, remaining_name in names:
                if not (limit := _number(limits.get(limit_name))):
                    continue
                remaining = _number(limits.get(remaining_name))
                left = limit if remaining is None else remaining
                bucket = self._reported.get(unit)
                if bucket is None or bucket.burst != limit:
                    self._reported[unit] = TokenBucket(limit / MINUTE_S, limit, left, now_s)
                else:
                    bucket.at_most(left, now_s)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() else None

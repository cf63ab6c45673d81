"""How fast a model may be asked: by limits that were set, that its server tells, or that it is found to have.

What is known is kept by token buckets. Where nothing is, requests go freely, but what is on its way at once begins
small and grows with each reply, so that a server with a limit is not met by all of them in the same moment. The odd 429
concerns the one who hears it; many together let all of them wait, and then the rate is learned (see `learning`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from app.alone.engine.bucket import Bucket, steady
from app.alone.engine.learning import Learned
from app.alone.engine.told import MINUTE_S, REQUESTS, TOKENS, Told

SLACK_S = 0.1
"""How much of a known rate may go at once, as so many seconds of it."""
AT_ONCE, ENOUGH = 10, 4_096
"""What may be on its way at first; from how much on it is not looked at any more."""
LOOK_AGAIN_S = 0.002
CALM, ALARM, ODD = 0.25, 6.0, 0.08
"""A refusal adds 1 to the alarm, a reply takes that much: a fifth of refusals never adds up, six at once do, and of
what is on its way a share more, as refusals come sooner than the replies beside them."""
PAUSE_S, OWN_PAUSE_S, LONGEST_S = 0.25, 0.5, 120.0
"""How long all wait after many refusals, and one after its own, where the server does not say how long; the most."""
GUESS_S = 0.25
"""Over how long at least what was served is counted for a first guess."""
FREE_S = 5.0
"""When nobody had to wait for so long, a rate that is still sought is no matter."""


class Pace:
    """When the next request to a model may go; told of every request what became of it."""

    def __init__(
        self, requests_per_minute: float | None, tokens_per_minute: float | None, now: Callable[[], float]
    ) -> None:
        self._now = now
        set_by = ((REQUESTS, requests_per_minute), (TOKENS, tokens_per_minute))
        began_s = now()
        self._set = {unit: steady(limit / MINUTE_S, SLACK_S, began_s) for unit, limit in set_by if limit}
        self._told = Told()
        self._learned: Learned | None = None
        self._at_once = ENOUGH if self._set else AT_ONCE
        self._on_way: deque[int] = deque()
        """The tokens that requests on their way were thought to take."""
        self._alarm = 0.0
        self._served: deque[float] = deque(maxlen=ENOUGH)
        """When the last replies came."""

    def wait_s(self, tokens: int) -> float:
        """0.0: go now, and it is counted; else ask again after so many seconds."""
        if self._at_once < ENOUGH and self._learned is None and len(self._on_way) >= self._at_once:
            return LOOK_AGAIN_S
        if self._set or self._told.buckets or self._learned is not None:
            now_s = self._now()
            if (wait_s := self._longest_s(tokens, now_s)) > 0:
                return wait_s
            self._take(tokens, now_s)
        self._on_way.append(tokens)
        return 0.0

    def replied(self, limits: Mapping[str, str], tokens: int) -> None:
        """A reply came, with what the server says of its limits, and took so many tokens."""
        now_s = self._now()
        thought = self._ended()
        self._alarm = max(0.0, self._alarm - CALM)
        self._served.append(now_s)
        if self._at_once < ENOUGH:
            self._at_once += 1
        for buckets in (self._set, self._told.buckets):
            if TOKENS in buckets:
                buckets[TOKENS].take(tokens - thought)
        if limits:
            self._told.hear(limits, now_s)

    def refused(self, retry_after_s: float | None, took_s: float = 0.0) -> float:
        """The server said 429, so long after it was asked: how long this request shall wait."""
        now_s = self._now()
        self._ended()
        self._alarm += 1.0
        if self._learned is not None:
            self._learned.refused(now_s - took_s, now_s)
            self._alarm *= not self._learned.seeking
        if self._alarm >= ALARM + ODD * len(self._on_way):
            self._many(retry_after_s, now_s)
        return OWN_PAUSE_S if retry_after_s is None else min(LONGEST_S, retry_after_s)

    def failed(self) -> None:
        """A request brought nothing, for whatever other reason."""
        self._ended()

    def _many(self, retry_after_s: float | None, now_s: float) -> None:
        """Many were refused at once: let all wait, and seek the rate."""
        self._alarm = 0.0
        recent = [at_s for at_s in self._served if at_s > now_s - 2 * GUESS_S]
        guess = len(recent) / max(GUESS_S, now_s - recent[0]) if recent else 1 / GUESS_S
        pause_s = PAUSE_S if retry_after_s is None else min(LONGEST_S, retry_after_s)
        self._learned = Learned(guess, now_s + pause_s)

    def _longest_s(self, tokens: int, now_s: float) -> float:
        """How long until all that is known of limits bears the next request."""
        if self._learned is not None and self._learned.seeking and now_s - self._learned.bound_s > FREE_S:
            self._learned = None
        waits = [bucket.wait_s(amount, now_s) for bucket, amount in self._buckets(tokens)]
        if self._learned is not None:
            waits.append(self._learned.wait_s(now_s))
        return max(waits, default=0.0)

    def _take(self, tokens: int, now_s: float) -> None:
        for bucket, amount in self._buckets(tokens):
            bucket.take(amount)
        if self._learned is not None:
            self._learned.sent(now_s)

    def _buckets(self, tokens: int) -> list[tuple[Bucket, float]]:
        amounts = {REQUESTS: 1, TOKENS: tokens}
        known = (*self._set.items(), *self._told.buckets.items())
        return [(bucket, amounts[unit]) for unit, bucket in known]

    def _ended(self) -> int:
        return self._on_way.popleft() if self._on_way else 0

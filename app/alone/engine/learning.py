"""How fast a server lets itself be asked that says so by 429 alone: found by what it really serves, as BBR does.

At first it is sought: the rate doubles each half second, and falls to the share that was served as soon as many of the
last requests were refused. Two refusals say that the server had nothing to give twice, so what it served in between is
what it serves at all, however large a burst it lets through. From then on the rate stays there, and every so often the
share that was refused is looked at: it grows gently while there is nothing to see, and falls by what is too much. What
is refused as often after a fall as before has nothing to do with the rate, and is borne as noise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from app.alone.engine.bucket import Bucket, steady

SLACK_S = 0.02
DOUBLING_S, MOST_A_CALL = 0.5, 1.5
"""How fast the rate grows while it is sought, and the most by which it grows from one call to the next."""
FEW, MANY, LOOK = 3, 0.3, 20
"""So many refusals, and such a share of the requests, are too much; after so many requests one looks anew."""
ENOUGH, ENOUGH_S, SHARE = 20, 0.2, 0.15
"""What must have been served since the server had nothing to give, for how long, and what share refused, to know."""
EPOCH_S, TOLERATED, MOST_NOISE, FORGET = 1.0, 0.02, 0.2, 0.9
GENTLY, MOST_GENTLY, CALM = 0.01, 0.05, 5
"""Growth a second once the rate is known: it begins small, is one more for every few calm looks, and has an end."""
SLOWEST = 0.2


@dataclass(slots=True)
class _Count:
    """What was sent since, and what of that was refused."""

    since_s: float
    sent: int = 0
    refused: int = 0

    @property
    def share(self) -> float:
        return self.refused / self.sent if self.sent else 0.0

    def served(self, until_s: float) -> float:
        """Requests a second that were not refused."""
        return (self.sent - self.refused) / max(1e-9, until_s - self.since_s)


@dataclass(slots=True)
class Learned:
    """The rate at which a server that refused many requests at once is asked now."""

    rate: float
    empty_s: float
    """When it had nothing to give."""
    until_s: float
    """Until when it is left alone."""
    seeking: bool = True
    bound_s: float = 0.0
    """When somebody had to wait for the rate."""
    _bucket: Bucket = field(init=False)
    _all: _Count = field(init=False)
    _look: _Count = field(init=False)
    _sent_s: float = field(init=False)
    _bound: bool = False
    _calm: int = 0
    _noise: float = 0.0
    _before: float | None = None
    """The rate before it was lowered, while it is not clear whether that helps."""

    def __post_init__(self) -> None:
        self._bucket = steady(self.rate, SLACK_S, self.until_s)
        self._all = _Count(self.empty_s)
        self._look = _Count(self.until_s)
        self._sent_s = self.bound_s = self.until_s

    def wait_s(self, now_s: float) -> float:
        """How long until a request may go."""
        wait_s = max(self.until_s - now_s, self._bucket.wait_s(1.0, now_s))
        if wait_s > 0:
            self._bound, self.bound_s = True, now_s
        return wait_s

    def sent(self, now_s: float) -> None:
        """A request goes: if it had to wait, the next need wait a little less."""
        self._bucket.take(1.0)
        self._all.sent += 1
        self._look.sent += 1
        if self._bound:
            self._grow(min(1.0, now_s - self._sent_s))
        self._sent_s, self._bound = now_s, False
        if self.seeking:
            if self._look.sent >= LOOK and self._look.share < MANY:
                self._look = _Count(now_s)
        elif self._look.sent > LOOK and now_s - self._look.since_s >= EPOCH_S:
            self._judge(now_s)

    def refused(self, sent_s: float, now_s: float) -> None:
        """A request was refused that was sent then."""
        if sent_s >= self.until_s:
            self._all.refused += 1
        if sent_s >= self._look.since_s:
            self._look.refused += 1
        if not self.seeking:
            return
        if self._known(now_s):
            self.seeking = False
            self._set(self._all.served(now_s), now_s)
        elif self._look.refused >= FEW and self._look.share >= MANY:
            self._set(self.rate * max(1 - self._look.share, 1 - MANY * 2), now_s)

    def _known(self, now_s: float) -> bool:
        found = self._all
        long_enough = now_s - found.since_s >= ENOUGH_S and found.sent - found.refused >= ENOUGH
        return long_enough and found.refused >= FEW and found.share >= SHARE

    def _judge(self, now_s: float) -> None:
        """Look at what was refused of late, and go slower by what is too much."""
        share, before = self._look.share, self._before
        excess = share - self._noise
        self._before = None
        if excess <= TOLERATED or self._look.refused < 2:
            self._calm += 1
            self._noise = max(share, self._noise * FORGET) if share < self._noise else self._noise
            self._look = _Count(now_s)
        elif before is not None:  # slower did not help
            self._noise = min(MOST_NOISE, share)
            self._set(before, now_s)
        else:
            self._before, self._calm = self.rate, 0
            self._set(self.rate * (1 - excess), now_s)

    def _grow(self, seconds: float) -> None:
        if self.seeking:
            by = min(MOST_A_CALL, 2 ** (seconds / DOUBLING_S))
        else:
            by = 1 + seconds * min(MOST_GENTLY, GENTLY * (1 + self._calm / CALM))
        self._change(self.rate * by)

    def _set(self, rate: float, now_s: float) -> None:
        self._change(max(SLOWEST, rate))
        self._look = _Count(now_s)

    def _change(self, rate: float) -> None:
        self.rate = self._bucket.rate = rate
        self._bucket.burst = max(1.0, rate * SLACK_S)

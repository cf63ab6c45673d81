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
DOUBLING_S, AGAIN_S, MOST_A_CALL = 0.5, 3.0, 1.5
"""In what time the rate doubles while it is sought, and in the first seconds after it was too much; the most by which
it grows from call to call."""
FEW, MANY, LOOK, LOOK_LONG, DEEPEST = 3, 0.4, 20, 60, 0.25
"""So many refusals, and such a share of the requests, are too much; after so many requests one looks anew; to what
share of it the rate falls at most."""
ENOUGH, ENOUGH_S, SHARE = 15, 0.2, 0.15
"""What must have been served since the server had nothing to give, for how long, and what share refused, to know."""
CLIMB, BELOW = 10, 0.95
"""After a second fall the rate is known to be this share of what so many requests climbed to before a refusal."""
EPOCH_S, TOLERATED, FALLS, MOST_NOISE, FORGET = 1.0, 0.02, 3, 0.2, 0.98
"""For how long one looks at least, what is no matter, after how many falls that changed nothing it is noise, the most
that is, and what of it is left after a look that shows less."""
GENTLY, MOST_GENTLY, CALM = 0.01, 0.03, 5
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
    until_s: float
    """Until when it is left alone."""
    seeking: bool = True
    bound_s: float = 0.0
    """When somebody had to wait for the rate."""
    _bucket: Bucket = field(init=False)
    _look: _Count = field(init=False)
    _since: _Count = field(init=False)
    """From the first of some falls on."""
    _sent_s: float = field(init=False)
    _empty: _Count | None = None
    """From when on it had nothing to give."""
    _climbed: int = 0
    """How many requests went since the last fall before one was refused."""
    _top: float = 0.0
    """The rate when that one was refused."""
    _climbing: bool = True
    """Whether none was refused since the last fall."""
    _fell_s: float | None = None
    _bound: bool = False
    _calm: int = 0
    _noise: float = 0.0
    _falls: int = 0
    _before: float = 0.0
    _seen: float = 0.0
    """The rate before the first of some falls, and the share that was refused then."""

    def __post_init__(self) -> None:
        self._bucket = steady(self.rate, SLACK_S, self.until_s)
        self._look, self._since = _Count(self.until_s), _Count(self.until_s)
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
        self._look.sent += 1
        self._since.sent += 1
        if self._empty is not None:
            self._empty.sent += 1
        if self._bound:
            self._grow(min(1.0, now_s - self._sent_s))
        self._sent_s, self._bound = now_s, False
        if self.seeking:
            if not self._climbing and self._look.sent >= LOOK:
                self._look, self._climbing = _Count(now_s), True
        elif self._look.sent > (LOOK_LONG if self._noise else LOOK) and now_s - self._look.since_s >= EPOCH_S:
            self._judge(now_s)

    def refused(self, sent_s: float, now_s: float) -> None:
        """A request was refused that was sent then."""
        if self.seeking:
            if sent_s >= self.until_s:
                self._refused_seeking(sent_s, now_s)
        elif sent_s >= self._look.since_s:
            self._look.refused += 1
            self._since.refused += 1

    def _refused_seeking(self, sent_s: float, now_s: float) -> None:
        if self._climbing:
            self._climbing, self._climbed, self._top = False, self._look.sent, self.rate
            self._look = _Count(now_s)
        elif sent_s >= self._look.since_s:
            self._look.refused += 1
        if self._empty is None:
            self._empty = _Count(now_s)
        elif sent_s >= self._empty.since_s:
            self._empty.refused += 1
        too_much = self._look.refused >= FEW and self._look.share >= MANY
        if self._known(self._empty, now_s):
            self._settle(self._empty.served(now_s), now_s)
        elif too_much and self._fell_s is not None and self._climbed >= CLIMB:
            served = self._empty.served(now_s) if self._lasted(self._empty, now_s) else self._top
            self._settle(min(served, self._top * BELOW), now_s)
        elif too_much:
            self._fell_s, self._climbing = now_s, True
            self._set(self.rate * max(DEEPEST, 1 - self._look.share), now_s)

    def _known(self, empty: _Count, now_s: float) -> bool:
        return self._lasted(empty, now_s) and empty.refused >= FEW and empty.share >= SHARE

    def _lasted(self, empty: _Count, now_s: float) -> bool:
        """Whether enough was served since then to say how fast; where few were refused it may have been noise."""
        return now_s - empty.since_s >= ENOUGH_S and empty.sent - empty.refused >= ENOUGH

    def _settle(self, rate: float, now_s: float) -> None:
        self.seeking = False
        self._set(rate, now_s)

    def _judge(self, now_s: float) -> None:
        """Look at what was refused of late, and go slower by what is too much."""
        share = self._look.share
        excess = share - self._noise
        if excess <= TOLERATED:
            self._calm += 1
            self._falls = self._falls if self._calm < 2 else 0
            self._noise = max(share, self._noise * FORGET) if share < self._noise else self._noise
            self._look = _Count(now_s)
        elif self._falls == FALLS and self._since.share >= self._seen / 2:
            self._falls, self._noise = 0, min(MOST_NOISE, self._since.share)
            self._set(self._before, now_s)
        else:
            if self._falls in (0, FALLS):
                self._falls, self._before, self._seen = 0, self.rate, share
                self._since = _Count(now_s)
            self._calm, self._falls = 0, self._falls + 1
            self._set(self.rate * (1 - excess), now_s)

    def _grow(self, seconds: float) -> None:
        if self.seeking:
            lately = self._fell_s is not None and self._sent_s - self._fell_s < AGAIN_S / 2
            by = min(MOST_A_CALL, 2 ** (seconds / (AGAIN_S if lately else DOUBLING_S)))
        elif self._look.refused > self._noise * max(LOOK, self._look.sent):
            return
        else:
            by = 1 + seconds * min(MOST_GENTLY, GENTLY * (1 + self._calm / CALM))
        self._change(self.rate * by)

    def _set(self, rate: float, now_s: float) -> None:
        self._change(max(SLOWEST, rate))
        self._look = _Count(now_s)

    def _change(self, rate: float) -> None:
        self.rate = self._bucket.rate = rate
        self._bucket.burst = max(1.0, rate * SLACK_S)

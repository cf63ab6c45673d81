"""Limits of attempts to log in, by the clock that is passed in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from storage.client_networks import client_networks

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
# Wrong tries in a minute, of one address or of one browser.
MOST_TRIES = 5
# Wrong tries in an hour of one address for one account, or of one browser. So much less than the next that no network
# of IPV6_NETWORKS alone uses up what an account has.
PER_PAIR = 20
# Wrong tries in an hour for one account, of all browsers that were never logged in to it.
PER_ACCOUNT = 100


class TryLimit(NamedTuple):
    """At most so many tries in a window of time under a key, such as an account or an address."""

    key: str
    most: int = MOST_TRIES
    window_us: int = MINUTE_US


class LoginThrottle:
    def __init__(self, clock_us: Callable[[], int]) -> None:
        self._clock_us = clock_us
        self._lock = threading.Lock()
        self._taken: dict[TryLimit, list[int]] = {}
        self._swept_us = 0

    def take(self, *limits: TryLimit) -> int:
        """Count a try under each limit and give 0; or, where one is reached, count none and give seconds to wait."""
        now_us = self._clock_us()
        with self._lock:
            self._sweep(now_us)
            recent = {one: [at for at in self._taken.get(one, ()) if at > now_us - one.window_us] for one in limits}
            full = [times[-one.most] + one.window_us for one, times in recent.items() if len(times) >= one.most]
            if full:
                return -(-(max(full) - now_us) // 1_000_000)
            self._taken |= {one: [*times, now_us] for one, times in recent.items()}
            return 0

    def undo(self, *limits: TryLimit) -> None:
        with self._lock:
            for one in limits:
                if times := self._taken.pop(one, [])[:-1]:
                    self._taken[one] = times

    def _sweep(self, now_us: int) -> None:
        """Drop, now and then, the limits of clients that stopped trying."""
        if now_us - self._swept_us >= MINUTE_US:
            self._taken = {one: times for one, times in self._taken.items() if times[-1] > now_us - one.window_us}
            self._swept_us = now_us


def limits(name: str, address: str, browser: str) -> tuple[TryLimit, ...]:
    """The limits for which an attempt counts; a `browser` that was logged in to the account has one of its own."""
    if browser:
        own = f"browser {browser}"
        return TryLimit(own), TryLimit(own, PER_PAIR, HOUR_US)
    networks = client_networks(address)
    return (
        *(TryLimit(f"address {near}", MOST_TRIES * times) for near, times in networks),
        *(TryLimit(f"account {name} from {near}", PER_PAIR * times, HOUR_US) for near, times in networks),
        TryLimit(f"account {name}", PER_ACCOUNT, HOUR_US),
    )

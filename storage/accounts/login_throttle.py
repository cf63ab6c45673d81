"""The limit of wrong passwords: few a minute of one network, for whatever account, by the clock that is passed in.

An account has no limit of its own, as strangers would lock its owner out by it. A password has 10^8 guesses or more
(passwords.py), which take one network decades; many networks together are held by the two checks at once of a server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from storage.client_networks import client_networks

MINUTE_US = 60_000_000
MOST_TRIES = 5


class LoginThrottle:
    """Counts tries by a key, such as a network, each with how many it may have in a minute."""

    def __init__(self, clock_us: Callable[[], int]) -> None:
        self._clock_us = clock_us
        self._lock = threading.Lock()
        self._taken: dict[str, list[int]] = {}

    def take(self, limits: Mapping[str, int]) -> int:
        """Count a try under each key and give 0; or, where one has all of its tries, count none and give seconds to
        wait."""
        now_us = self._clock_us()
        with self._lock:
            fresh = {key: [at for at in times if at > now_us - MINUTE_US] for key, times in self._taken.items()}
            self._taken = {key: times for key, times in fresh.items() if times}
            full = [times[-most] for key, most in limits.items() if len(times := self._taken.get(key, [])) >= most]
            if full:
                return -(-(max(full) + MINUTE_US - now_us) // 1_000_000)
            for key in limits:
                self._taken.setdefault(key, []).append(now_us)
            return 0

    def undo(self, limits: Mapping[str, int]) -> None:
        with self._lock:
            for key in limits:
                if self._taken.get(key):
                    self._taken[key].pop()


def limits(address: str) -> dict[str, int]:
    """The networks of an address, each with its tries in a minute."""
    return {network: MOST_TRIES * times for network, times in client_networks(address)}

"""How often somebody tried to log in: by the clock that is handed in, so that a minute passes when a test says so."""

from __future__ import annotations

import ipaddress
import threading
from collections.abc import Callable

MOST_TRIES = 5
WINDOW_US = 60_000_000


class Tries:
    """At most `MOST_TRIES` in any minute under one key, such as an account or an address."""

    def __init__(self, clock_us: Callable[[], int]) -> None:
        self._clock_us = clock_us
        self._lock = threading.Lock()
        self._taken: dict[str, list[int]] = {}
        self._swept_us = 0

    def take(self, *keys: str) -> int:
        """Count a try under each key and give 0; or, where one has had enough, count none and give seconds to wait."""
        now_us = self._clock_us()
        with self._lock:
            self._sweep(now_us)
            recent = {key: [at for at in self._taken.get(key, ()) if at > now_us - WINDOW_US] for key in keys}
            full = [times[0] for times in recent.values() if len(times) >= MOST_TRIES]
            if full:
                return -(-(max(full) + WINDOW_US - now_us) // 1_000_000)
            self._taken |= {key: [*times, now_us] for key, times in recent.items()}
            return 0

    def clear(self, *keys: str) -> None:
        """Forget the tries under these keys: they ended well."""
        with self._lock:
            for key in keys:
                self._taken.pop(key, None)

    def _sweep(self, now_us: int) -> None:
        """Forget, now and then, the keys under which nobody tries any more."""
        if now_us - self._swept_us >= WINDOW_US:
            self._taken = {key: times for key, times in self._taken.items() if times[-1] > now_us - WINDOW_US}
            self._swept_us = now_us


def neighbourhood(address: str) -> str:
    """What one computer can choose from: an IPv4 address, or the 64 bits of a network of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)

"""The networks of a client, and how often one may do something: send requests, log in, begin sessions."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

# The networks of an address of IPv6 that count, by their bits, each with how many addresses it may count for. A
# computer chooses within 64 bits; a provider gives 56 or 48 to one home or one institution, which has 256 or 65,536 of
# the smallest.
IPV6_NETWORKS = {64: 1, 56: 2, 48: 4}
# How many names a limiter keeps before it looks for those that it can forget.
FEWEST = 1_000


def client_network(address: str) -> str:
    """The addresses that one computer can choose from: an IPv4 address, or the 64 bits of a network of IPv6."""
    return client_networks(address)[0][0]


@lru_cache(maxsize=10_000)
def client_networks(address: str) -> tuple[tuple[str, int], ...]:
    """The names under which a client is counted, each with its limit of addresses, the smallest network first."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ((address, 1),)
    if isinstance(found, ipaddress.IPv4Address) or found.ipv4_mapped is not None:
        return ((str(found), 1),)
    networks = ((ipaddress.ip_network((found, bits), strict=False), times) for bits, times in IPV6_NETWORKS.items())
    return tuple((str(network), times) for network, times in networks)


class GcraLimiter:
    """A limiter by GCRA (ITU-T I.371): a burst, then a steady rate per second. The library `limits` stores lists of
    times and scans them all every 10 ms, which took an eighth of a loaded server's processor time."""

    def __init__(self, rate: float, burst: int) -> None:
        self._each_s = 1 / rate
        self._most_s = burst / rate
        self._whole_s: dict[str, float] = {}
        self._full = FEWEST

    def __len__(self) -> int:
        return len(self._whole_s)

    def allow(self, name: str, now_s: float) -> bool:
        whole_s = max(self._whole_s.get(name, now_s), now_s) + self._each_s
        if whole_s - now_s > self._most_s + 1e-9:
            return False
        self._whole_s[name] = whole_s
        if len(self._whole_s) > self._full:
            self._forget(now_s)
        return True

    def refund(self, name: str) -> None:
        if name in self._whole_s:
            self._whole_s[name] -= self._each_s

    def _forget(self, now_s: float) -> None:
        """Drop the names whose full burst is available again."""
        self._whole_s = {name: whole_s for name, whole_s in self._whole_s.items() if whole_s > now_s}
        self._full = max(FEWEST, 2 * len(self._whole_s))


class AddressLimiter:
    """A limiter for each address, and for the networks of IPv6 that one client may have, which are larger."""

    def __init__(self, rate: float, burst: int) -> None:
        self._by_times = {times: GcraLimiter(times * rate, times * burst) for times in IPV6_NETWORKS.values()}

    def allow(self, address: str, now_s: float) -> bool:
        allowed: list[tuple[GcraLimiter, str]] = []
        for network, times in client_networks(address):
            if not self._by_times[times].allow(network, now_s):
                for limiter, name in allowed:
                    limiter.refund(name)
                return False
            allowed.append((self._by_times[times], network))
        return True

    def refund(self, address: str) -> None:
        for network, times in client_networks(address):
            self._by_times[times].refund(network)

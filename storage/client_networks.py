"""The networks of a client, by which tries, requests and connections are limited."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

# The networks of an address of IPv6 that count, by their bits, each with how many addresses it may count for. A
# computer chooses within 64 bits; a provider gives 56 or 48 to one home or one institution, which has 256 or 65,536 of
# the smallest.
IPV6_NETWORKS = {64: 1, 56: 2, 48: 4}


def client_network(address: str) -> str:
    """The addresses that one computer can choose from: an IPv4 address, or the 64 bits of a network of IPv6."""
    return client_networks(address)[0][0]


@lru_cache(maxsize=10_000)
def client_networks(address: str) -> tuple[tuple[str, int], ...]:
    """What a client counts for, each with how many addresses it may count for: an IPv4 address, or the networks of an
    address of IPv6, the smallest first."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ((address, 1),)
    if isinstance(found, ipaddress.IPv4Address) or found.ipv4_mapped is not None:
        return ((str(found), 1),)
    networks = ((ipaddress.ip_network((found, bits), strict=False), times) for bits, times in IPV6_NETWORKS.items())
    return tuple((str(network), times) for network, times in networks)

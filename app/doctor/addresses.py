"""Addresses of this machine and of others: what a name means, and whether something listens there."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

LOOPBACK = ("127.0.0.1", "::1")
WITHIN_S = 3
PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def connects(host: str, port: int, within_s: float = WITHIN_S) -> OSError | None:
    """Open a connection and close it; the error if there is none."""
    try:
        socket.create_connection((host, port), within_s).close()
    except OSError as fault:
        return fault
    return None


def other_loopback(url: str) -> str | None:
    """An address of this machine in the other version of IP, if something listens there.

    `localhost` can mean 127.0.0.1 or ::1, and a server may listen at one of them only.
    """
    parts = urlsplit(url)
    if parts.hostname is None or not is_loopback(parts.hostname):
        return None
    port = parts.port or PORTS[parts.scheme]
    for host in LOOPBACK:
        if host != parts.hostname and connects(host, port) is None:
            netloc = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            return urlunsplit(parts._replace(netloc=netloc))
    return None

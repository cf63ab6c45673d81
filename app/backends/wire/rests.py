"""Connections that are not read for a moment, where many replies come in: each word read alone costs more than it is.

A server sends each word by itself. To be told of each, read it and take its chunk apart costs as much as all else
that becomes of it, so that with many replies all of them are read a few times a second, on one clock.
"""

from __future__ import annotations

import asyncio

FEW = 100
"""So many replies at once are read as they come, so that who waits for the end of one has it at once."""
MOST_READS = 2_000
"""How often a second the others are read in all, as far as `LONGEST_REST_S` lets them."""
LONGEST_REST_S = 0.15


def rest_s(replies: int) -> float:
    """For how long a reply is not read once words of it came, while so many come in."""
    return 0.0 if replies <= FEW else min(replies / MOST_READS, LONGEST_REST_S)


class Rests:
    """All connections that rest now. They are read on together, when the first of them has rested."""

    def __init__(self) -> None:
        self._resting: list[asyncio.Transport] = []

    def rest(self, transport: asyncio.Transport, seconds: float) -> None:
        """Read nothing more of a connection until so long after the first of those that rest."""
        transport.pause_reading()
        self._resting.append(transport)
        if len(self._resting) == 1:
            asyncio.get_running_loop().call_later(seconds, self._read_on)

    def _read_on(self) -> None:
        resting, self._resting = self._resting, []
        for transport in resting:
            if not transport.is_closing():
                transport.resume_reading()

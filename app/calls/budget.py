"""What may still be spent: what is spent, and reserved for what has begun, never passes the limit.

A run of many calls reserves for each the most that it can cost, and gives back the rest. A study reserves for each
participant who has begun what one is expected to cost (app/session/budget_gate.py).
"""

from __future__ import annotations

import asyncio

from app.backends.base import Request
from app.errors import PriceUnknown
from experiments.study.model_spec import Price

LONGEST = 4_096
"""The tokens that a reply may have where `max_tokens` does not say so."""
OVERHEAD = 32
"""Tokens around a message."""


class Budget:
    """A sum of money; without a limit there is always enough."""

    def __init__(self, limit: float | None = None, spent: float = 0.0, reserved: float = 0.0) -> None:
        self._limit, self._spent, self._reserved = limit, spent, reserved
        self._calls = 0
        self._changed = asyncio.Event()
        self.exhausted = False
        """Whether a call did not fit any more."""

    @property
    def left(self) -> float:
        """What is neither spent nor reserved."""
        return float("inf") if self._limit is None else self._limit - self._spent - self._reserved

    def most_of(self, label: str, price: Price | None, request: Request) -> float:
        """The most that a call can cost: no token is shorter than a byte. Raises PriceUnknown where that is needed."""
        if price is None:
            if self._limit is not None:
                raise PriceUnknown(
                    f"{label}: nobody knows what it costs, so a budget cannot be kept. Give the model its `price` in "
                    "the study (`{prompt: 0, completion: 0}` where it costs nothing), or set no budget."
                )
            return 0.0
        if self._limit is None:
            return 0.0
        prompt = sum(len(message.text.encode()) + OVERHEAD for message in request.messages)
        return price.of(prompt, request.max_tokens or LONGEST)

    async def reserve(self, most: float) -> bool:
        """Reserve what a call can cost at most; False if it does not fit, also once those on their way are over."""
        while most > self.left:
            if not self._calls:
                self.exhausted = True
                return False
            self._changed.clear()
            await self._changed.wait()
        self._reserved += most
        self._calls += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """The call is over, and has cost that much."""
        self._reserved -= most
        self._calls -= 1
        self._spent += cost
        self._changed.set()

"""What a run may still spend: each call takes the most that it could cost before it is made, and gives back the rest.

So the budget holds whatever is on its way. A call that does not fit waits for those that are on their way; only when
none is, and it still does not fit, is the budget used up.
"""

from __future__ import annotations

import asyncio

from app.backends.base import Request
from experiments.core.model import Price

LONGEST = 4_096
"""The tokens that a reply may have where `max_tokens` does not say so."""
OVERHEAD = 32
"""Tokens around a message."""


class Wallet:
    """The money of one run."""

    def __init__(self, budget: float | None) -> None:
        self._budget = budget
        self.spent = 0.0
        self._held = 0.0
        self._calls = 0
        self._changed = asyncio.Event()

    @property
    def guards(self) -> bool:
        """Whether there is a budget."""
        return self._budget is not None

    async def take(self, most: float) -> bool:
        """Hold what a call can cost at most; False if the budget does not bear it."""
        while self._budget is not None and self.spent + self._held + most > self._budget:
            if not self._calls:
                return False
            self._changed.clear()
            await self._changed.wait()
        self._held += most
        self._calls += 1
        return True

    def settle(self, most: float, cost: float) -> None:
        """The call is over, and has cost that much."""
        self._held -= most
        self._calls -= 1
        self.spent += cost
        self._changed.set()


def most_of(price: Price | None, request: Request) -> float:
    """The most that a call can cost: no token is shorter than a byte."""
    if price is None:
        return 0.0
    prompt = sum(len(message.text.encode()) + OVERHEAD for message in request.messages)
    return price.of(prompt, request.max_tokens or LONGEST)

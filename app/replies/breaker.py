"""The circuit breaker: a model that fails again and again is left alone for a while, for everybody.

After `failures` in a row it is open: nobody asks, so nobody waits for what will not come. After `pause_s` one may try;
its success closes it again, its failure opens it for another pause.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.clock import Clock
from app.errors import BackendUnavailable


@dataclass(slots=True)
class Breaker:
    """The breaker of one model at one server."""

    clock: Clock
    failures: int
    pause_s: float
    failed: int = 0
    until_us: int = 0

    def check(self) -> None:
        """Raise BackendUnavailable while it is open."""
        now = self.clock.now_us()
        if self.failed >= self.failures and now < self.until_us:
            raise BackendUnavailable(
                f"The model failed {self.failed} times in a row and is left alone for {self.pause_s:g} s.",
                reason="circuit_open",
            )
        if self.failed >= self.failures:
            self.until_us = now + round(self.pause_s * 1e6)  # one tries, the others wait for what becomes of it

    def succeeded(self) -> None:
        """A reply came."""
        self.failed = 0

    def failed_again(self) -> None:
        """None came."""
        self.failed += 1
        self.until_us = self.clock.now_us() + round(self.pause_s * 1e6)

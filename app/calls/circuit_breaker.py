"""The circuit breaker: if a model's server fails repeatedly, it gets no calls for a while, from any session.

After `failures` in a row it is open: nobody asks, so nobody waits for what will not come. After `pause_s` one may try;
a reply closes it again, a failure opens it for another pause. Only what says that nobody gets a reply is a failure;
what a text can bring about (a filter, a refusal, an empty reply) is none. Of one session in a row one failure counts,
and the session that failed last is not the one that tries: so no participant can keep the model from the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.clock import Clock
from app.errors import BackendDenied, BackendError, BackendUnavailable


@dataclass(slots=True)
class CircuitBreaker:
    clock: Clock
    failures: int
    pause_s: float
    failed: int = 0
    until_us: int = 0
    last: str = ""
    """The session of the last counted failure."""

    @property
    def is_open(self) -> bool:
        return self.failed >= self.failures

    def open_s(self, session: str) -> float:
        """For how long a session may not ask yet; 0.0 if it may, and is the one that tries where it is open."""
        if not self.is_open:
            return 0.0
        left_us = self.until_us - self.clock.now_us()
        if left_us > 0:
            return left_us / 1e6
        if session != self.last:
            self._pause()  # one tries, the others wait for what becomes of it
        return 0.0

    def error(self) -> BackendUnavailable:
        return BackendUnavailable(
            f"The model's server failed {self.failed} times in a row and is left alone for {self.pause_s:g} s.",
            reason="circuit_open",
        )

    def succeeded(self) -> None:
        self.failed, self.last = 0, ""

    def failed_again(self, session: str, error: BackendError) -> None:
        if not isinstance(error, BackendUnavailable | BackendDenied):
            self.left()
        elif session != self.last:
            self.failed, self.last = self.failed + 1, session
            self._pause()

    def left(self) -> None:
        """Record that a call ended without a result about the server's health; another call may try at once."""
        self.until_us = self.clock.now_us()

    def _pause(self) -> None:
        self.until_us = self.clock.now_us() + round(self.pause_s * 1e6)

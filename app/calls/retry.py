"""Retries of failed calls to a model's server: the failures that are retried, and the pauses.

A server that is busy or away is called again after a pause: its own Retry-After, or one that doubles. What came and is
no reply is worth one more try. A refusal by the model is an outcome, and a request that was rejected is so again.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from app.errors import BackendBroken, BackendError, BackendUnavailable
from storage.tables import SETTLED

BUSY = "status_429"
# The reason of the error for a reply that reveals its model, if the study wants such replies replaced.
LEAK = "leak"
BROKEN_TRIES = 2
MOST_DOUBLED = 16


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    tries: int
    wait_s: float
    longest_wait_s: float
    longest_retry_after_s: float
    """A server that asks for a longer pause is not called again."""
    patient: bool = False
    """True if no participant waits for the reply: then it waits for rate limits and open circuits, and 429 is no
    try."""

    @property
    def longest_admission_s(self) -> float:
        return float("inf") if self.patient else self.longest_wait_s

    def counts(self, error: BackendError) -> bool:
        return not (self.patient and error.reason == BUSY)

    def pause_s(self, error: BackendError, number: int, tries: int, broken: int, seed: str) -> float | None:
        """`tries` of the attempts count and `broken` brought no reply; None for no other attempt."""
        if tries >= self.tries:
            return None
        if isinstance(error, BackendBroken):
            again = error.reason == LEAK or (broken < BROKEN_TRIES and error.reason not in SETTLED)
            return 0.0 if again else None
        if not isinstance(error, BackendUnavailable):
            return None
        if error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= self.longest_retry_after_s else None
        pause_s: float = min(self.longest_wait_s, self.wait_s * 2 ** min(number - 1, MOST_DOUBLED))
        return pause_s * random.Random(f"{seed}:{number}").uniform(0.75, 1.25)  # noqa: S311  (spread, so that not all come at once)

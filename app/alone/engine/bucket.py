"""A token bucket: so much may be taken at once, and so much comes back a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """What may still be taken. A need above what the bucket holds waits until it is full, and leaves a debt."""

    rate: float
    """What comes back a second."""
    burst: float
    """The most it holds."""
    level: float
    at_s: float
    """When `level` held."""

    def wait_s(self, amount: float, now_s: float) -> float:
        """How long until so much can be taken; 0.0 if it can be now."""
        self._fill(now_s)
        return max(0.0, (min(amount, self.burst) - self.level) / self.rate)

    def take(self, amount: float) -> None:
        """Take, or give back what is less than 0."""
        self.level = min(self.burst, self.level - amount)

    def at_most(self, level: float, now_s: float) -> None:
        """Somebody who must know says that no more is left."""
        self._fill(now_s)
        self.level = min(self.level, level)

    def _fill(self, now_s: float) -> None:
        self.level = min(self.burst, self.level + self.rate * max(0.0, now_s - self.at_s))
        self.at_s = now_s


def steady(rate: float, slack_s: float, now_s: float) -> Bucket:
    """A bucket that lets through one by one, and what was late by so many seconds at once."""
    burst = max(1.0, rate * slack_s)
    return Bucket(rate, burst, 1.0, now_s)

"""How fast a model may be asked: by limits that are known (a stand-in, which knows the configured ones alone)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

MINUTE_S = 60.0
PAUSE_S = 1.0


class Pace:
    """When the next request to a model may go."""

    def __init__(
        self, requests_per_minute: float | None, tokens_per_minute: float | None, now: Callable[[], float]
    ) -> None:
        self._requests, self._tokens, self._now = requests_per_minute, tokens_per_minute, now
        self._next_s = 0.0

    def wait_s(self, tokens: int) -> float:
        """0.0: go now, and it is counted; else ask again after so many seconds."""
        now = self._now()
        if now < self._next_s:
            return self._next_s - now
        request_s = MINUTE_S / self._requests if self._requests else 0.0
        tokens_s = MINUTE_S * tokens / self._tokens if self._tokens else 0.0
        self._next_s = max(self._next_s, now - PAUSE_S) + max(request_s, tokens_s)
        return 0.0

    def replied(self, limits: Mapping[str, str], tokens: int) -> None:
        """A reply came, with what the server says of its limits."""

    def refused(self, retry_after_s: float | None, took_s: float = 0.0) -> float:
        """The server said 429, so long after it was asked: how long this request shall wait."""
        return PAUSE_S if retry_after_s is None else retry_after_s

    def failed(self) -> None:
        """A request brought nothing."""

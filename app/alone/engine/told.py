"""What servers say of their rate limits in the headers of replies: OpenAI's words and Anthropic's.

Both count by the minute and let what was taken come back steadily, so a limit and what remains of it are a bucket.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.alone.engine.bucket import Bucket

REQUESTS, TOKENS = "requests", "tokens"
HEADERS = {
    REQUESTS: (
        ("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests"),
        ("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining"),
    ),
    TOKENS: (
        ("x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens"),
        ("anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-remaining"),
    ),
}
MINUTE_S = 60.0


@dataclass(slots=True)
class Told:
    """The limits of one model on one server, as it last told them."""

    buckets: dict[str, Bucket] = field(default_factory=dict)

    def hear(self, limits: Mapping[str, str], now_s: float) -> None:
        """Take in what came with a reply; what is no number is passed over."""
        for unit, names in HEADERS.items():
            for limit_name, remaining_name in names:
                if limit_name in limits:
                    limit = _number(limits[limit_name])
                    self._hear(unit, limit, _number(limits.get(remaining_name)), now_s)

    def _hear(self, unit: str, limit: float | None, remaining: float | None, now_s: float) -> None:
        if not limit:
            return
        left = limit if remaining is None else remaining
        bucket = self.buckets.get(unit)
        if bucket is None or bucket.burst != limit:
            self.buckets[unit] = Bucket(limit / MINUTE_S, limit, left, now_s)
        else:
            bucket.at_most(left, now_s)


def _number(text: str | None) -> float | None:
    """A count of 0 or more."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None

"""Signed values with a timestamp, from a clock that the caller passes."""

from __future__ import annotations

from typing import Any

from itsdangerous import TimestampSigner, URLSafeTimedSerializer

from app.clock import Clock

SECOND_US = 1_000_000


class _Signer(TimestampSigner):
    def __init__(self, *args: Any, clock: Clock, **options: Any) -> None:
        super().__init__(*args, **options)
        self._clock = clock

    def get_timestamp(self) -> int:
        return self._clock.now_us() // SECOND_US


def with_expiry(secret: str, salt: str, clock: Clock) -> URLSafeTimedSerializer:
    """Signs and reads values for one purpose, which the `salt` names."""
    return URLSafeTimedSerializer(secret, salt=salt, signer=_Signer, signer_kwargs={"clock": clock})

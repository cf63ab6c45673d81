"""Values of a request that can be kept as they were sent; what a JSON reader also takes, but the log cannot write."""

from __future__ import annotations

from typing import TypeVar

import orjson

Value = TypeVar("Value")


def storable(value: Value) -> Value:
    """A value as it was sent; raises ValueError for what would be read otherwise than it was sent: a number beyond 64
    bits, NaN, an infinite one, half a character, or depth beyond bounds."""
    try:
        kept = orjson.loads(orjson.dumps(value))
    except orjson.JSONEncodeError as error:
        raise ValueError(f"cannot be stored: {error}") from None
    if kept != value:
        raise ValueError("cannot be stored: a number is infinite or none (NaN); allowed: finite numbers")
    return value

"""Numbers of things, in words: for screens, messages and files alike."""

from __future__ import annotations


def count(number: int, singular: str, plural: str = "") -> str:
    """A number of things: `1 row`, `2 rows`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"

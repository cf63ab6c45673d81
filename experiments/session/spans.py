"""How long each screen was there: from the fact that brought it up to the one that left it, from the facts alone."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.events import NOTES, Event

LEAVING = frozenset({"submitted", "skipped", "expired"})
"""Kinds of facts by which a screen is left behind."""


def spans(events: Iterable[Event]) -> dict[str, float]:
    """Seconds on each screen of a session that was left, by its path; only times, paths and kinds are looked at."""
    shown_us: dict[str, int] = {}
    left: dict[str, float] = {}
    before_us: int | None = None
    for event in events:
        if event.kind in NOTES:
            continue
        shown = shown_us.setdefault(event.path, event.at_us if before_us is None else before_us)
        if event.kind in LEAVING and event.path not in left:
            left[event.path] = (event.at_us - shown) / 1e6
        before_us = event.at_us
    return left

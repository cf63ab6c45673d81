"""What was decided about a running study: facts of its own stream, outside its hash, folded like a session's.

    budgeted {amount}    what its models' replies may cost altogether; null for no limit
    paused {why}         nobody new can begin
    opened {}            people can begin again

Those who have begun always go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from experiments.core.events import Event

KINDS = ("budgeted", "paused", "opened")


@dataclass(frozen=True, slots=True)
class Operations:
    """What holds for a study now."""

    budget: float | None = None
    paused: str | None = None
    """Why nobody new can begin; None while people can."""


def fold_operations(events: Iterable[Event]) -> Operations:
    """What holds after these facts of a study's stream; those of imports say nothing about it."""
    now = Operations()
    for event in events:
        match event.kind:
            case "budgeted":
                now = replace(now, budget=event.data["amount"])
            case "paused":
                now = replace(now, paused=event.data["why"])
            case "opened":
                now = replace(now, paused=None)
            case _:
                pass
    return now

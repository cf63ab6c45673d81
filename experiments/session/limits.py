"""How fast a participant may ask models: so many messages and retries in any minute, read from the log alone."""

from __future__ import annotations

from experiments.errors import Refused
from experiments.events import Event
from experiments.session.state import State

ASKING = ("said", "retried")
"""Facts after which a model is asked."""
MINUTE_US = 60_000_000
TOO_FAST = "That was very fast. Please wait a moment, then try again; your message is still there."


def refuse_hurry(state: State, events: tuple[Event, ...], per_minute: int) -> None:
    """Raise Refused if these new facts ask a model once more than is allowed in the minute before them."""
    asking = next((event for event in events if event.kind in ASKING and event.by == "participant"), None)
    if asking is None:
        return
    since_us = asking.at_us - MINUTE_US
    before = [event for event in state.events if event.kind in ASKING and event.at_us > since_us]
    if len(before) >= per_minute:
        raise Refused("too_fast", TOO_FAST)

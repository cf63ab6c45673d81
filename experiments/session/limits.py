"""How fast a participant may ask models, and for how much: messages and retries in any minute, and a limit of cost."""

from __future__ import annotations

from experiments.errors import Refused
from experiments.events import Event
from experiments.session.state import Place, State

ASKING = ("said", "retried")
"""Facts after which a model is asked."""
MINUTE_US = 60_000_000
TOO_FAST = "You are sending messages too quickly. Please wait a moment, then try again. Your message is still there."


def refuse_hurry(state: State, events: tuple[Event, ...], per_minute: int) -> None:
    """Raise Refused if these new facts ask a model once more than is allowed in the minute before them."""
    asking = next((event for event in events if event.kind in ASKING and event.by == "participant"), None)
    if asking is None:
        return
    since_us = asking.at_us - MINUTE_US
    before = [event for event in state.events if event.kind in ASKING and event.at_us > since_us]
    if len(before) >= per_minute:
        raise Refused("too_fast", TOO_FAST)


def spent(state: State) -> float:
    """What the replies in a session have cost, as far as that is known."""
    return sum((float(event.data.get("cost", 0.0)) for event in state.events if event.by == "model"), 0.0)


def messages_left(place: Place, of: int) -> int:
    """How many of so many messages can still be sent: none once the participant's `cost_limit` is reached."""
    limit = place.study.file.cost_limit
    return 0 if limit is not None and spent(place.state) >= limit else of

"""A conversation read from a chat's facts: its messages as people see them, and its turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from experiments.core.events import Event
from experiments.core.screen import Message

ROLES = {"said": "You", "replied": "Bot"}


def spoken(facts: Sequence[Event]) -> list[Event]:
    """What was said and replied, in order."""
    return [event for event in facts if event.kind in ROLES]


def messages(facts: Sequence[Event]) -> tuple[Message, ...]:
    """The same as participants see it: You and Bot."""
    return tuple(Message("You" if event.kind == "said" else "Bot", event.data["text"]) for event in spoken(facts))


def turns(facts: Sequence[Event]) -> list[tuple[Event, Event]]:
    """Each message that has a reply, with it."""
    return [(a, b) for a, b in pairwise(spoken(facts)) if (a.kind, b.kind) == ("said", "replied")]

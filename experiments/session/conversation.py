"""A conversation read from a chat's facts: its messages as people see them, its turns, and what a model is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from experiments.errors import Refused
from experiments.events import Event
from experiments.session.state import Location, State
from experiments.study.fields import Invalid, read_text
from experiments.study.screen import ChatMessage, Ended

if TYPE_CHECKING:
    from experiments.session.state import Location


ROLES = {"said": "You", "replied": "Bot"}
SPEAKERS = {"said": "user", "replied": "assistant"}
"""Who speaks, by the kind of event, as models know them."""
STOPPED = "You stopped the reply. Your message is saved."
"""What is said in place of a reply that was stopped before its first word."""
MESSAGE_BOX = "message"
"""What the box for a message is called where boxes are told apart."""
MESSAGE_CHARS = 4_000
ENDED: Mapping[str, Ended] = {"length": "cut_off", "stopped": "stopped"}
"""The finish reasons of replies that are not whole."""


def messages_of(facts: Sequence[Event]) -> list[Event]:
    """What was said and replied, in order."""
    return [event for event in facts if event.kind in ROLES]


def messages(facts: Sequence[Event]) -> tuple[ChatMessage, ...]:
    """A conversation as participants see it: You and Bot."""
    return tuple(
        ChatMessage("You" if event.kind == "said" else "Bot", event.data["text"], ended(event))
        for event in messages_of(facts)
    )


def ended(reply: Event) -> Ended:
    """How a reply ended that is not whole."""
    return ENDED.get(str(reply.data.get("finish_reason")), "")


def stopped_by_user(failed: Event) -> bool:
    """Whether there is no reply because the participant stopped it."""
    return failed.data.get("reason") == "stopped"


def cut(outcome: Event) -> bool:
    """Whether the participant stopped a reply, before its first word or in the midst of it."""
    return ended(outcome) == "stopped" or stopped_by_user(outcome)


def turns(facts: Sequence[Event]) -> list[tuple[Event, Event]]:
    """Each message that has a reply, with it."""
    return [(a, b) for a, b in pairwise(messages_of(facts)) if (a.kind, b.kind) == ("said", "replied")]


def prompt(place: Location, model: str, said: Sequence[Event], *, problem_in_prompt: bool) -> list[dict[str, str]]:
    """What a model is asked: its system prompt, perhaps with the problem, and the conversation so far."""
    system = _system(place, model)
    if problem_in_prompt:
        options = "\n".join(f"{option.key}. {option.text}" for option in place.problem.options)
        system = f"{system}\n\nThe problem being worked on:\n\n{place.problem.text}\n\n{options}".strip()
    start = [{"role": "system", "text": system}] if system else []
    return start + [{"role": SPEAKERS[event.kind], "text": event.data["text"]} for event in said]


def _system(place: Location, model: str) -> str:
    """The system prompt that a model is given here; the checker saw to it that there is one for each value."""
    system = place.study.model(model).system
    return place.fill(system if isinstance(system, str) else system.pick[str(place.look_up(system.by))])


def read_message(value: Any) -> str:
    """The text of a message; raises Refused."""
    try:
        return read_text(value, MESSAGE_CHARS, required=True)
    except Invalid as fault:
        blank = not isinstance(value, str) or not value.strip()
        wording = "Please write a message first." if blank else fault.said
        raise Refused("invalid", wording, {"text": wording}) from None


def count(facts: Sequence[Event], kind: str) -> int:
    """How many facts are of a kind."""
    return [event.kind for event in facts].count(kind)


ASKING = ("said", "retried")
"""Facts after which a model is asked."""
MINUTE_US = 60_000_000
TOO_FAST = "You are sending messages too quickly. Please wait a moment, then try again. Your message is still there."


def check_message_rate(state: State, events: tuple[Event, ...], per_minute: int) -> None:
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


def messages_left(place: Location, of: int) -> int:
    """How many of so many messages can still be sent: none once the participant's `cost_limit` is reached."""
    limit = place.study.file.cost_limit
    return 0 if limit is not None and spent(place.state) >= limit else of

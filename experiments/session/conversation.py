"""A conversation read from a chat's facts: its messages as people see them, its turns, and what a model is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from experiments.errors import Refused
from experiments.events import Event
from experiments.study.fields import Invalid, read_text
from experiments.study.screen import Ended, Message

if TYPE_CHECKING:
    from experiments.session.state import Place

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


def spoken(facts: Sequence[Event]) -> list[Event]:
    """What was said and replied, in order."""
    return [event for event in facts if event.kind in ROLES]


def messages(facts: Sequence[Event]) -> tuple[Message, ...]:
    """A conversation as participants see it: You and Bot."""
    return tuple(
        Message("You" if event.kind == "said" else "Bot", event.data["text"], ended(event)) for event in spoken(facts)
    )


def ended(reply: Event) -> Ended:
    """How a reply ended that is not whole."""
    return ENDED.get(str(reply.data.get("finish_reason")), "")


def by_click(failed: Event) -> bool:
    """Whether there is no reply because the participant stopped it."""
    return failed.data.get("reason") == "stopped"


def cut(outcome: Event) -> bool:
    """Whether the participant stopped a reply, before its first word or in the midst of it."""
    return ended(outcome) == "stopped" or by_click(outcome)


def turns(facts: Sequence[Event]) -> list[tuple[Event, Event]]:
    """Each message that has a reply, with it."""
    return [(a, b) for a, b in pairwise(spoken(facts)) if (a.kind, b.kind) == ("said", "replied")]


def prompt(place: Place, model: str, said: Sequence[Event], *, problem_in_prompt: bool) -> list[dict[str, str]]:
    """What a model is asked: its system prompt, perhaps with the problem, and the conversation so far."""
    system = _system(place, model)
    if problem_in_prompt:
        options = "\n".join(f"{option.key}. {option.text}" for option in place.problem.options)
        system = f"{system}\n\nThe problem being worked on:\n\n{place.problem.text}\n\n{options}".strip()
    start = [{"role": "system", "text": system}] if system else []
    return start + [{"role": SPEAKERS[event.kind], "text": event.data["text"]} for event in said]


def _system(place: Place, model: str) -> str:
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

"""Pictures in a conversation: those that are attached to the next message, and those that were sent. Pure.

    attached    the participant attaches a picture: its `sha256`, `type`, `width`, `height` and `bytes`
    detached    they remove it again, by its `sha256`; its content is deleted
    said        has `pictures`, those that were attached

The content of a picture is no part of an event. It is stored in the transaction of `attached`, and deleted once no
event of the session needs it (`dropped`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from experiments.errors import NOT_OFFERED, Refused
from experiments.events import Action, Data, Event, Fact
from experiments.session.timing import LEAVING_EVENTS
from experiments.study.location import State
from experiments.study.screen import Attachments, ShownPicture
from experiments.study.sections.attachments import AttachLimits
from problems.attachments import NewPicture

ATTACHED, DETACHED = "attached", "detached"
Facts = tuple[Fact, ...]
# How often pictures are attached at one step: they can be removed again.
MOST_CHANGES = 500
NO_MORE = "You cannot attach more pictures here."
# What the model reads in place of a picture that is no longer sent with the conversation.
LEFT_OUT = "[A picture that was sent here is not shown again.]"


def shown_pictures(data: Data) -> tuple[ShownPicture, ...]:
    """The pictures of a message, as whoever reads it sees them."""
    return tuple(ShownPicture(one["sha256"], one["width"], one["height"]) for one in data.get("pictures", ()))


def unsent(events: Sequence[Event], returned: frozenset[int]) -> tuple[Data, ...]:
    """The pictures that are attached to a step's next message; also those of the last one, if it was given back."""
    found: dict[str, Data] = {}
    for event in events:
        if event.kind == ATTACHED:
            found[event.data["sha256"]] = event.data
        elif event.kind == DETACHED:
            found.pop(event.data["sha256"], None)
        elif event.kind == "said":
            given_back = event.data.get("pictures", ()) if event.seq in returned else ()
            found = {one["sha256"]: one for one in given_back}
    return tuple(found.values())


def attachments(limits: AttachLimits, pictures: Sequence[Data]) -> Attachments:
    """What the page has for them: these are attached."""
    left, most_bytes = max(0, limits.per_message - len(pictures)), round(limits.max_mb * 1e6)
    return Attachments(shown_pictures({"pictures": pictures}), left, most_bytes, limits.max_side_px)


def attach_offers(limits: AttachLimits, pictures: Sequence[Data]) -> tuple[str, ...]:
    return (*(("attach",) if len(pictures) < limits.per_message else ()), *(("detach",) if pictures else ()))


def attached(pictures: Sequence[Data], events: Sequence[Event], action: Action) -> Facts:
    """What becomes of a picture that is attached or removed; raises Refused. Values from a page are no NewPicture."""
    given = action.data.get("picture")
    known = [one["sha256"] for one in pictures]
    if action.kind == "detach":
        if given not in known:
            raise Refused("not_offered", NOT_OFFERED)
        return (Fact(DETACHED, {"sha256": given}),)
    if not isinstance(given, NewPicture):
        raise Refused("not_offered", NOT_OFFERED)
    if sum(event.kind == ATTACHED for event in events) >= MOST_CHANGES:
        raise Refused("invalid", NO_MORE)
    return () if given.sha256 in known else (Fact(ATTACHED, given.facts),)


def dropped(before: State, after: State) -> frozenset[str]:
    """The pictures whose content no event of a session needs any longer, and which `before` needed."""
    return frozenset(_needed(before)) - frozenset(_needed(after))


def _needed(state: State) -> Iterator[str]:
    """Those that were sent, and those that are attached at a step that is not over."""
    for events in state.facts.values():
        if any(event.kind == ATTACHED for event in events):
            yield from (one["sha256"] for event in events for one in event.data.get("pictures", ()))
            over = state.outcome or any(event.kind in LEAVING_EVENTS for event in events)
            yield from () if over else (one["sha256"] for one in unsent(events, frozenset()))


def newest(messages: Sequence[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
    """The messages of a prompt with the `most` newest of their pictures."""
    found, left = [], most
    for message in reversed(messages):
        pictures = message.get("pictures", ())
        sent = pictures[max(0, len(pictures) - left) :] if left else ()
        left -= len(sent)
        notes = [LEFT_OUT] * (len(pictures) - len(sent))
        text = "\n\n".join(filter(None, (*notes, message["text"]))) if notes else message["text"]
        found.append({**message, "text": text, "pictures": tuple(sent)})
    return found[::-1]

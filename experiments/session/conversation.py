"""A conversation, read from a chat's events: its messages as participants see them, its turns, its pictures, and the
prompts. Pure.

    attached    the participant attaches a picture: its `sha256`, `type`, `width`, `height` and `bytes`
    detached    they remove it again, by its `sha256`; its content is deleted
    said        has `pictures`, those that were attached

The content of a picture is no part of an event. It is stored in the transaction of `attached`, and deleted once no
event of the session needs it (`dropped_pictures`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import Field as About

from experiments.errors import NOT_OFFERED, Refused
from experiments.events import Action, Data, Event, Fact
from experiments.session.timing import LEAVING_EVENTS
from experiments.session.tool_calls import CALLED, rounds_by_message, tool_rounds
from experiments.study.fields import Invalid, read_text
from experiments.study.location import Location, State
from experiments.study.screen import Attachments, ChatMessage, Ended, ShownPicture
from experiments.study.sections.attachments import AttachLimits
from experiments.study.sections.model_spec import PickByFactor, Texts
from experiments.study.sections.tools import ToolSet
from experiments.study.step import RatingSubject
from problems.attachments import NewPicture

T = TypeVar("T")
# The `source` of a reply that the study has, word for word.
SCRIPTED = "scripted"
ROLES = {"said": "You", "replied": "Bot", "opened": "Bot"}
SPEAKERS = {"said": "user", "replied": "assistant", "opened": "assistant"}
# What models read before the assistant's first words, as many servers refuse a conversation that begins with these.
BEGIN = "Please begin the conversation."
# Shown in place of a reply that was stopped before its first word.
STOPPED = "You stopped the reply. You can change your message and send it again."
# Shown in place of the assistant's first words.
NO_OPENING = "The first message could not be generated."
# Shown in place of the reply to a message that was refused.
UNANSWERED = "Your message could not be answered. You can change it and send it again."
TOO_LONG = (
    "Your message and the conversation before it are too long for the chatbot. You can shorten your message and send "
    "it again."
)
LENGTHS = frozenset({"context_length_exceeded", "status_413"})
# The reasons of failed replies that lie in the message or the length of the conversation: the same request would fail
# again. All others lie in the model's server.
REFUSED = frozenset({"content_filter", "refusal", *LENGTHS})
# The default for the number of further failures in a row after which participants can go on without a reply.
RETRIES = 1
MESSAGE_BOX = "message"
# The default for the number of characters that a participant's message may have.
MESSAGE_CHARS = 4_000
# A limit on the characters of a message; at most what fits into a request, in any script.
MessageChars = Annotated[int, About(ge=1, le=20_000)]
# Shown below what a participant could read of a reply that failed.
BROKEN_OFF = "The connection to the chatbot broke before this reply was complete."
ENDED: Mapping[str, Ended] = {
    **dict.fromkeys(("length", "too_long", "timeout_reply"), "cut_off"),
    **{"stopped": "stopped", "expired": "expired"},
}


def is_by_model(event: Event) -> bool:
    return event.kind in ("replied", "opened") and event.data.get("source") != SCRIPTED


def messages_of(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event.kind in ROLES]


def messages(events: Sequence[Event], tools: ToolSet | None = None) -> tuple[ChatMessage, ...]:
    """The messages as participants see them, with tools as `tools` shows them; last the read part of a failed reply."""
    refused = returned_messages(events)
    last = next((event for event in reversed(events) if event.kind in (*ROLES, "failed", "retried")), None)
    text = broken_off(last) if last is not None and "slot" not in last.data else ""
    broken = (ChatMessage("Bot", text),) if text else ()
    used = {one.called.seq: one for one in tool_rounds(events)} if tools else {}
    said = [
        ChatMessage(
            "You", event.data["text"], "unanswered" if event.seq in refused else "", pictures=shown_pictures(event.data)
        )
        if event.kind == "said"
        else used[event.seq].message(tools)
        if tools and event.seq in used
        else ChatMessage("Bot", event.data["text"], ended(event))
        for event in events
        if event.kind in ROLES or event.seq in used
    ]
    return (*(one for one in said if one.text or one.steps or not one.interim), *broken)


def broken_off(event: Event) -> str:
    """The part of a failed reply that a participant could read."""
    return str(event.data.get("text", "")) if event.kind == "failed" else ""


def ended(event: Event) -> Ended:
    """Empty if the reply is complete."""
    return ENDED.get(str(event.data.get("finish_reason")), "")


def stopped_by_user(event: Event) -> bool:
    """True if the participant stopped the reply before its first word."""
    return event.data.get("reason") == "stopped"


def ended_by_clock(data: Data) -> Data:
    """The data of a reply, or of one that failed, where a deadline stopped it and not the participant."""
    reasons = {name: "expired" for name in ("finish_reason", "reason") if data.get(name) == "stopped"}
    return {**data, **reasons}


def cut(event: Event) -> bool:
    """True if the participant stopped a reply, before its first word or later."""
    return ended(event) == "stopped" or stopped_by_user(event)


def is_refusal(event: Event) -> bool:
    """True if a reply failed because of the message."""
    return event.kind == "failed" and event.data.get("reason") in REFUSED


def why_unanswered(event: Event) -> str:
    """Return the text that participants read in place of the reply to a refused message."""
    return TOO_LONG if event.data.get("reason") in LENGTHS else UNANSWERED


def gives_back(event: Event) -> bool:
    """True without a reply where the message can be changed: refused, or stopped before the first word."""
    return is_refusal(event) or (event.kind == "failed" and stopped_by_user(event))


def returned_messages(events: Sequence[Event]) -> frozenset[int]:
    """The messages by `seq`. They get no reply: the next takes their place, in prompts and in the count."""
    returned, said = set[int](), 0
    for event in events:
        if event.kind == "said":
            said = event.seq
        elif event.kind == "retried":
            returned.discard(said)
        elif said and gives_back(event):
            returned.add(said)
    return frozenset(returned)


def failures_in_a_row(events: Sequence[Event]) -> int:
    """The failures since the last reply; of several models, the most of any. Stopped replies do not count."""
    failures = Counter[str]()
    for event in events:
        slot = str(event.data.get("slot", ""))
        if event.kind == "replied":
            failures[slot] = 0
        elif event.kind == "failed" and not stopped_by_user(event):
            failures[slot] += 1
    return max(failures.values(), default=0)


def turns(events: Sequence[Event]) -> list[tuple[Event, Event]]:
    """The pairs of a message and its reply; messages without a reply are left out."""
    return [(a, b) for a, b in pairwise(messages_of(events)) if (a.kind, b.kind) == ("said", "replied")]


def turn_of(events: Sequence[Event], event: Event) -> int:
    """The turn of an event of a conversation: how many messages the participant had sent by then."""
    return sum(fact.kind == "said" and fact.seq <= event.seq for fact in events)


def rated_reply(scale: str, events: Sequence[Event], event: Event) -> RatingSubject:
    slot, model = str(event.data.get("slot", "")), str(event.data.get("model", ""))
    return RatingSubject(scale, event.path, turn_of(events, event), slot, model)


def prompt(
    location: Location,
    model: str,
    events: Sequence[Event],
    *,
    problem_in_prompt: bool,
    additions: Sequence[str] = (),
    slot: str = "",
) -> list[dict[str, Any]]:
    """The messages of a request: the system prompt (with the problem and its options if `problem_in_prompt`, and with
    the `additions` to the letter; left out if empty), and the conversation so far. Of the study's pictures the model
    reads the alternative texts. A conversation that the assistant opens begins with a request to do so."""
    system = _system(location, model)
    if problem_in_prompt:
        options = "\n".join(f"{option.key}. {option.text}" for option in location.problem.options)
        about = f"The problem being worked on:\n\n{location.problem.text}\n\n{options}"
        system = f"{system}\n\n{location.study.described(about)}".strip()
    system = "\n\n".join(filter(None, (system, *additions)))
    start = [{"role": "system", "text": system}] if system else []
    begin = [] if events and events[0].kind == "said" else [{"role": "user", "text": BEGIN}]
    with_tools = any(event.kind == CALLED for event in location.facts)
    rounds = rounds_by_message(events, location.facts, slot) if with_tools else {}
    found = [*start, *begin, *rounds.get(0, ())]
    for event in events:
        pictures = {"pictures": event.data["pictures"]} if "pictures" in event.data else {}
        message = {"role": SPEAKERS[event.kind], "text": event.data["text"], **pictures}
        found += [message, *rounds.get(event.seq, ())]
    return found


def _system(location: Location, model: str) -> str:
    return location.study.described(chosen_text(location, location.study.model(model).system))


def chosen_text(location: Location, texts: Texts) -> str:
    """A text, or the one of several that is meant for the condition, filled."""
    return location.fill(chosen(location, texts))


def chosen(location: Location, one: T | PickByFactor[T]) -> T:
    """Return the value for all, or that of the condition. Validation ensures that there is one."""
    return one.pick[str(location.look_up(one.by))] if isinstance(one, PickByFactor) else one


def read_message(value: Any, max_chars: int, *, required: bool = True) -> str:
    """The text of a message. Raises Refused if it is blank though `required`, or longer than `max_chars`."""
    try:
        return read_text(value, max_chars, required=required)
    except Invalid as fault:
        blank = not isinstance(value, str) or not value.strip()
        wording = "Please write a message first." if blank else fault.said
        raise Refused("invalid", wording, {"text": wording}) from None


def count(events: Sequence[Event], kind: str) -> int:
    return [event.kind for event in events].count(kind)


def sent_messages(events: Sequence[Event]) -> int:
    """Count the messages sent, without those given back."""
    return count(events, "said") - len(returned_messages(events))


ASKING = ("said", "retried")
MINUTE_US = 60_000_000
TOO_FAST = "You are sending messages too quickly. Please wait a moment, then try again. Your message is still there."


def check_message_rate(state: State, events: tuple[Event, ...], per_minute: int) -> None:
    """Raise Refused if these new events would call a model after `per_minute` calls in the last minute."""
    asking = next((event for event in events if event.kind in ASKING and event.by == "participant"), None)
    if asking is None:
        return
    since_us = asking.at_us - MINUTE_US
    before = [event for event in state.events if event.kind in ASKING and event.at_us > since_us]
    if len(before) >= per_minute:
        raise Refused("too_fast", TOO_FAST)


def spent(state: State) -> float:
    """The known cost of the replies in a session, in the study's currency."""
    calls = (event for event in state.events if event.by == "model" and event.kind != "written")
    return sum((float(event.data.get("cost", 0.0)) for event in calls), 0.0)


def messages_left(location: Location, of: int) -> int:
    """All of the remaining `of` messages, or none once the session's `cost_limit` is reached."""
    limit = location.study.file.cost_limit
    return 0 if limit is not None and spent(location.state) >= limit else of


ATTACHED, DETACHED = "attached", "detached"
Facts = tuple[Fact, ...]
# How often pictures are attached at one step: they can be removed again.
MOST_PICTURES_CHANGED = 500
NO_MORE_PICTURES = "You cannot attach more pictures here."
# What the model reads in place of a picture that is no longer sent with the conversation.
PICTURE_LEFT_OUT = "[A picture that was sent here is not shown again.]"


def shown_pictures(data: Data) -> tuple[ShownPicture, ...]:
    return tuple(ShownPicture(one["sha256"], one["width"], one["height"]) for one in data.get("pictures", ()))


def unsent_pictures(events: Sequence[Event], returned: frozenset[int]) -> tuple[Data, ...]:
    """Those of a step's next message; also those of the last one, if it was given back."""
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
    left, most_bytes = max(0, limits.per_message - len(pictures)), round(limits.max_mb * 1e6)
    return Attachments(shown_pictures({"pictures": pictures}), left, most_bytes, limits.max_side_px)


def attach_offers(limits: AttachLimits, pictures: Sequence[Data]) -> tuple[str, ...]:
    return (*(("attach",) if len(pictures) < limits.per_message else ()), *(("detach",) if pictures else ()))


def attached(pictures: Sequence[Data], events: Sequence[Event], action: Action) -> Facts:
    """Return the facts of attaching or removing a picture; raises Refused. Values from a page are no NewPicture."""
    given = action.data.get("picture")
    known = [one["sha256"] for one in pictures]
    if action.kind == "detach":
        if given not in known:
            raise Refused("not_offered", NOT_OFFERED)
        return (Fact(DETACHED, {"sha256": given}),)
    if not isinstance(given, NewPicture):
        raise Refused("not_offered", NOT_OFFERED)
    if sum(event.kind == ATTACHED for event in events) >= MOST_PICTURES_CHANGED:
        raise Refused("invalid", NO_MORE_PICTURES)
    return () if given.sha256 in known else (Fact(ATTACHED, given.facts),)


def dropped_pictures(before: State, after: State) -> frozenset[str]:
    """The pictures whose content no event of a session needs any longer, and which `before` needed."""
    return frozenset(_needed(before)) - frozenset(_needed(after))


def _needed(state: State) -> Iterator[str]:
    """Those that were sent, and those that are attached at a step that is not over."""
    for events in state.facts.values():
        if any(event.kind == ATTACHED for event in events):
            yield from (one["sha256"] for event in events for one in event.data.get("pictures", ()))
            over = state.outcome or any(event.kind in LEAVING_EVENTS for event in events)
            yield from () if over else (one["sha256"] for one in unsent_pictures(events, frozenset()))


def with_newest_pictures(messages: Sequence[Mapping[str, Any]], most: int) -> list[dict[str, Any]]:
    """The messages of a prompt with the `most` newest of their pictures."""
    found, left = [], most
    for message in reversed(messages):
        pictures = message.get("pictures", ())
        sent = pictures[max(0, len(pictures) - left) :] if left else ()
        left -= len(sent)
        notes = [PICTURE_LEFT_OUT] * (len(pictures) - len(sent))
        text = "\n\n".join(filter(None, (*notes, message["text"]))) if notes else message["text"]
        found.append({**message, "text": text, "pictures": tuple(sent)})
    return found[::-1]

"""A conversation with several models side by side, read from its events.

A column is identified by its slot (a, b, c, d from left to right), never by its model. The event `ordered` has the
models that were drawn, from left to right. A vote has `onward` if all models continue with one column's history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from experiments.events import Data, Event
from experiments.session.conversation import gives_back
from experiments.study.location import orders_of

SLOTS = "abcd"
TIE, BAD = "tie", "bad"
Pair = tuple[Event, Event | None]


@dataclass(slots=True)
class Replies:
    """The outcome in each column (`opened`, `replied` or `failed`; a missing one is in progress), by slot."""

    outcomes: dict[str, Event] = field(default_factory=dict)
    stopped: bool = False

    @property
    def returned(self) -> bool:
        """True if the message was given back, because of any of its replies."""
        return any(map(gives_back, self.outcomes.values()))

    def reply(self, slot: str) -> Event | None:
        """A column's reply; None if it failed or is in progress."""
        found = self.outcomes.get(slot)
        return found if found is not None and found.kind != "failed" else None

    def add(self, event: Event) -> None:
        match event.kind:
            case "opened" | "replied" | "failed":
                self.outcomes[event.data["slot"]] = event
            case "retried":
                self.outcomes.pop(event.data["slot"], None)
                self.stopped = False
            case "stopped":
                self.stopped = True
            case _:
                pass


@dataclass(slots=True)
class ComparisonRound(Replies):
    """A message, its replies, and the vote. The first has the replies by which the conversation was opened before."""

    said: Event = field(kw_only=True)
    vote: Event | None = None
    opening: Replies = field(default_factory=Replies)


def opening_replies(events: Sequence[Event]) -> Replies:
    found = Replies()
    for event in takewhile(lambda event: event.kind != "said", events):
        found.add(event)
    return found


def rounds(events: Sequence[Event]) -> list[ComparisonRound]:
    """The rounds of the conversation, in order. A round whose message was given back is replaced by the next one."""
    found: list[ComparisonRound] = []
    for event in events:
        match event.kind:
            case "said":
                if found and found[-1].returned:
                    found.pop()
                found.append(ComparisonRound(said=event, opening=Replies() if found else opening_replies(events)))
            case "voted":
                found[event.data["turn"]].vote = event
            case _ if found:
                found[-1].add(event)
            case _:
                pass
    return found


def models_by_slot(events: Sequence[Event]) -> Mapping[str, str]:
    return dict(zip(SLOTS, orders_of(events).get("models", ()), strict=False))


def histories(rounds: Sequence[ComparisonRound], slots: Sequence[str]) -> dict[str, list[Pair]]:
    """By slot, the conversation as that column's model has it; in the last round with its own reply."""
    past: dict[str, list[Pair]] = {slot: [] for slot in slots}
    for slot, event in rounds[0].opening.outcomes.items() if rounds else ():
        past[slot] += [(event, None)] if event.kind == "opened" else []
    onward = None
    for one in rounds:
        if onward is not None:
            past = {slot: list(past[onward]) for slot in slots}
        for slot in slots:
            past[slot].append((one.said, one.reply(slot)))
        onward = one.vote.data.get("onward") if one.vote else None
    return past


def winner(vote: Data) -> str:
    """The result of a vote: a slot, TIE or BAD. With scores, the slot with the highest score, or TIE."""
    if "winner" in vote:
        return str(vote["winner"])
    given = {slot: vote[f"score_{slot}"] for slot in SLOTS if f"score_{slot}" in vote}
    best = [slot for slot, score in given.items() if score == max(given.values())]
    return best[0] if len(best) == 1 else TIE

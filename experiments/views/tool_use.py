"""The calls of tools in a conversation, one after another, with what became of each: for analysts and researchers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.events import Event
from experiments.session.conversation_design import ConversationDesign
from experiments.session.tool_calls import (
    ALLOWED,
    CALLED,
    CALLING,
    DENIED,
    INTERRUPTED,
    RETURNED,
    ToolCallState,
    ToolRound,
    message_of,
    tool_rounds,
)
from experiments.study.location import Location

Decision = Literal["not_asked", "allowed", "refused", "undecided"]
# What ends a reply for which calls are made, or the wait for it.
AFTER = ("replied", "opened", "failed", "retried", "said")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """`message` is the `seq` of its message (0 before any), `number` counts calls for the `reply` from 1."""

    round: ToolRound
    call: ToolCallState
    message: int
    number: int
    reply: Event | None

    @property
    def called(self) -> Event:
        return self.round.called

    @property
    def slot(self) -> str:
        return str(self.called.data.get("slot", ""))

    @property
    def decision(self) -> Decision:
        """`undecided`: the participant was asked, or would have been, when the reply was stopped or failed."""
        if self.call.has(DENIED):
            return "refused"
        if self.call.has(ALLOWED):
            return "allowed"
        return "undecided" if self.call.has(INTERRUPTED) or not self.call.events else "not_asked"

    @property
    def reason(self) -> str:
        return self.call.why

    @property
    def begun_us(self) -> int | None:
        return self._at_us(CALLING)

    @property
    def returned_us(self) -> int | None:
        return self._at_us(RETURNED)

    @property
    def seconds(self) -> float | None:
        """From its begin to its end; of a call that was made again after an interruption, the last time."""
        ended_us, begun_us = self.returned_us, self.begun_us
        return None if ended_us is None or begun_us is None else (ended_us - begun_us) / 1e6

    @property
    def result(self) -> Mapping[str, object]:
        """Its result: `text`, and of a call that was made `chars`, `sha256`, and why it `failed`."""
        return self._data(RETURNED)

    @property
    def failed(self) -> str:
        return str(self.result.get("failed", "")) or (INTERRUPTED if self.call.last == INTERRUPTED else "")

    def _data(self, kind: str) -> Mapping[str, object]:
        return next((event.data for event in reversed(self.call.events) if event.kind == kind), {})

    def _at_us(self, kind: str) -> int | None:
        return next((event.at_us for event in reversed(self.call.events) if event.kind == kind), None)


def tool_uses(events: Sequence[Event]) -> tuple[ToolUse, ...]:
    """The calls of a conversation, or of all its columns, in the order in which they were asked for."""
    slots = dict.fromkeys(str(event.data.get("slot", "")) for event in events if event.kind == CALLED)
    found = [use for slot in slots for use in _of_column(events, slot)]
    return tuple(sorted(found, key=lambda use: use.called.seq))


def seen_before(location: Location) -> Mapping[int, str]:
    """The use of tools as text, by the number (`seq`) of the reply."""
    design, found = location.node, dict[int, dict[int, str]]()
    tools = design.tool_set(location)[1] if isinstance(design, ConversationDesign) else None
    for use in tool_uses(location.facts) if tools else ():
        if tools and use.reply:
            found.setdefault(use.reply.seq, {})[use.called.seq] = use.round.message(tools).as_text
    return {seq: "\n\n".join(filter(None, texts.values())) for seq, texts in found.items()}


def _of_column(events: Sequence[Event], slot: str) -> Iterator[ToolUse]:
    ends = [one for one in events if one.kind in AFTER and (one.kind == "said" or one.data.get("slot", "") == slot)]
    numbers = Counter[int]()
    for one in tool_rounds(events, slot):
        after = next((end for end in ends if end.seq > one.called.seq), None)
        reply = after if after is not None and after.kind in ("replied", "opened") else None
        for call in one.calls:
            pending = after.seq if after is not None else 0
            numbers[pending] += 1
            yield ToolUse(one, call, message_of(events, one), numbers[pending], reply)

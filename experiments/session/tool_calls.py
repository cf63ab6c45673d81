"""Tools in a conversation: a model's calls, the participant's decisions, the results, and the next task. Pure.

    called       the model asks for tools in place of a reply: `calls` (id, tool, arguments as it wrote them; `invalid`
                 why one cannot be made), `text` before them, and what it cost
    allowed      the participant allows the `call`, perhaps with a reason, `why`, which the model reads
    denied       the participant refuses it, perhaps with a reason as well
    calling      the `call` is about to be made: on disk before it is
    returned     what it gave, as `ToolResult` has it
    interrupted  the server stopped while a call was made that may have changed something: nobody knows whether it did

Calls are made one after another, in the order in which the model asked for them. When each has an end, a reply is due
again, with their results in its prompt. A call that only reads is made again after an interruption; another only once
the participant has allowed it (again).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.errors import NOT_OFFERED, Refused
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.study.fields import Invalid, read_text
from experiments.study.screen import WHY_CHARS, Approval, ChatMessage, StepState, ToolStep
from experiments.study.sections.tools import ToolSet

CALLED, CALLING, RETURNED, INTERRUPTED, ALLOWED, DENIED = (
    *("called", "calling", "returned", "interrupted", "allowed", "denied"),
)
ENDS = (RETURNED, DENIED)
REPLY_ENDS = ("opened", "replied", "failed", "retried")
OF_CALLS = (CALLING, RETURNED, INTERRUPTED, ALLOWED, DENIED)
# What whoever makes the calls asks to be recorded.
TOOL_ACTIONS: Mapping[str, str] = {"begin": CALLING, "return": RETURNED, "interrupt": INTERRUPTED}
# What the model reads in place of a result.
REFUSED = "The user did not allow this call"
NOT_ALLOWED = f"{REFUSED}."
WITH_REASON = f"{REFUSED}, and said: {{why}}"
ALLOWED_WITH = "{text}\n\nThe user allowed this call, and said: {why}"
NOT_MADE = "This call was not made."


@dataclass(frozen=True, slots=True)
class ToolCallState:
    id: str
    tool: str
    arguments: str
    events: tuple[Event, ...] = ()

    def has(self, *kinds: str) -> bool:
        return any(event.kind in kinds for event in self.events)

    @property
    def end(self) -> Event | None:
        return next((event for event in self.events if event.kind in ENDS), None)

    @property
    def why(self) -> str:
        """The participant's reason for their last decision."""
        decisions = [event for event in self.events if event.kind in (ALLOWED, DENIED)]
        return str(decisions[-1].data.get("why", "")) if decisions else ""

    @property
    def last(self) -> str:
        return self.events[-1].kind if self.events else ""

    @property
    def made(self) -> bool:
        """True if it reached its tool."""
        return self.end is not None and self.end.kind == RETURNED and self.end.data.get("failed", "error") == "error"

    def waits(self, tools: ToolSet) -> bool:
        if self.end or self.last == ALLOWED or self.last == CALLING:
            return False
        return self.has(INTERRUPTED) or (tools.asks(self.tool) and not self.has(ALLOWED))

    def step(self, tools: ToolSet, *, whole: bool = False, over: bool = False) -> ToolStep:
        """The call as the participant sees it; `whole`, to decide on it, has arguments; `over`: its reply ended."""
        end = self.end
        state: StepState = "waiting" if self.waits(tools) else "running"
        if over:
            state = "failed" if self.has(CALLING) else "not_made"
        if end is not None:
            state = "refused" if end.kind == DENIED else "failed" if end.data.get("failed") else "done"
        shown = tools.show == "steps"
        result = _in_order(str(end.data["text"])) if shown and end is not None and state == "done" else ""
        return ToolStep(
            tools.label(self.tool),
            state,
            self._named_arguments(tools) if shown or whole else (),
            result,
            _in_order(self.why),
        )

    def _named_arguments(self, tools: ToolSet) -> tuple[tuple[str, str], ...]:
        try:
            values: Any = json.loads(self.arguments or "{}")
        except ValueError:
            values = None
        if not isinstance(values, dict):
            return (("", _in_order(self.arguments)),)
        texts = {
            name: one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for name, one in values.items()
        }
        return tuple((_in_order(tools.label(name)), _in_order(text)) for name, text in texts.items())

    @property
    def result(self) -> str:
        """The text about its end that the model reads."""
        match self.end:
            case Event(kind="returned", data=data):
                return ALLOWED_WITH.format(text=data["text"], why=self.why) if self.why else str(data["text"])
            case Event(kind="denied"):
                return WITH_REASON.format(why=self.why) if self.why else NOT_ALLOWED
            case _:
                return NOT_MADE


def _in_order(text: str) -> str:
    """A text without the marks that would show its letters in another order."""
    return text.translate(dict.fromkeys((0x202D, 0x202E), "\N{REPLACEMENT CHARACTER}"))


@dataclass(frozen=True, slots=True)
class ToolRound:
    called: Event
    calls: tuple[ToolCallState, ...]
    over: bool = False
    """True if the reply that it was for has ended since, or was asked for again."""

    @property
    def open_call(self) -> ToolCallState | None:
        return next((call for call in self.calls if call.end is None), None)

    def message(self, tools: ToolSet) -> ChatMessage:
        steps = () if tools.show == "none" else tuple(call.step(tools, over=self.over) for call in self.calls)
        return ChatMessage("Bot", str(self.called.data.get("text", "")), steps=steps, interim=True)

    def messages(self) -> Iterator[dict[str, Any]]:
        """The round in a prompt: the assistant's message with its calls, and a message for each result."""
        calls = [{"id": call.id, "tool": call.tool, "arguments": call.arguments} for call in self.calls]
        yield {"role": "assistant", "text": self.called.data.get("text", ""), "calls": calls}
        yield from ({"role": "tool", "text": call.result, "call_id": call.id} for call in self.calls)


def tool_rounds(events: Sequence[Event], slot: str = "") -> tuple[ToolRound, ...]:
    """The rounds of a conversation, or of one of its columns, in order."""
    own = [event for event in events if event.data.get("slot", "") == slot]
    found = []
    for event in own:
        if event.kind == CALLED:
            later = [one for one in own if one.kind in OF_CALLS and one.data.get("round") == event.seq]
            over = any(one.seq > event.seq and one.kind in REPLY_ENDS for one in own)
            found.append(ToolRound(event, tuple(_calls(event, later)), over))
    return tuple(found)


def _calls(event: Event, later: Sequence[Event]) -> Iterator[ToolCallState]:
    for call in event.data["calls"]:
        its = tuple(one for one in later if one.data["call"] == call["id"])
        yield ToolCallState(call["id"], call["tool"], call["arguments"], its)


def message_of(events: Sequence[Event], tool_round: ToolRound) -> int:
    """The number (`seq`) of the message to which a round belongs; 0 before any."""
    before = (event.seq for event in events if event.kind == "said" and event.seq < tool_round.called.seq)
    return max(before, default=0)


def pending_rounds(events: Sequence[Event], slot: str = "") -> tuple[ToolRound, ...]:
    """Those of the reply that is pending."""
    return tuple(one for one in tool_rounds(events, slot) if not one.over)


def open_round(events: Sequence[Event], slot: str = "") -> ToolRound | None:
    rounds = pending_rounds(events, slot)
    return rounds[-1] if rounds and rounds[-1].open_call else None


def calls_made(events: Sequence[Event], slot: str = "") -> int:
    """Count the calls of the pending reply."""
    return sum(len(one.calls) for one in pending_rounds(events, slot))


def in_call(events: Sequence[Event], slot: str = "") -> bool:
    """True while a call is being made, or if one was when the server stopped."""
    found = open_round(events, slot)
    return bool(found and found.open_call and found.open_call.last == CALLING)


def awaited_approval(events: Sequence[Event], tools: ToolSet, slot: str = "") -> tuple[ToolRound, ToolCallState] | None:
    found = open_round(events, slot)
    call = found.open_call if found else None
    return (found, call) if found is not None and call is not None and call.waits(tools) else None


def approval(events: Sequence[Event], tools: ToolSet, slot: str = "") -> Approval | None:
    awaited = awaited_approval(events, tools, slot)
    if awaited is None:
        return None
    _, call = awaited
    return Approval(_named(call, slot), call.step(tools, whole=True), again=call.has(INTERRUPTED))


def _named(call: ToolCallState, slot: str) -> str:
    """The call's name on the page: models of several columns may give theirs the same."""
    return f"{slot}:{call.id}" if slot else call.id


def tool_task(events: Sequence[Event], path: str, name: str, tools: ToolSet, slot: str = "") -> PendingTask | None:
    """The due call; None if none is, or it must be allowed first. Its slot is its reply's: both are never due at
    once."""
    found = open_round(events, slot)
    call = found.open_call if found else None
    if found is None or call is None or call.waits(tools):
        return None
    asked = {"set": name, "tool": call.tool, "arguments": call.arguments}
    begun = {"begun": True} if call.last == CALLING else {}
    ids = {"round": found.called.seq, "call": call.id, **({"slot": slot} if slot else {})}
    return PendingTask("tool", path, {**asked, **begun, "ids": ids}, slot)


def decided(events: Sequence[Event], tools: ToolSet, action: Action, slots: Sequence[str] = ("",)) -> tuple[Fact, ...]:
    """Return the facts of the participant's decision on a call that waits for it; raises Refused."""
    for slot in slots:
        awaited = awaited_approval(events, tools, slot)
        if awaited is not None and action.data.get("call") == _named(awaited[1], slot):
            return (_decision(*awaited, action, slot),)
    raise Refused("not_offered", NOT_OFFERED)


def _decision(tool_round: ToolRound, call: ToolCallState, action: Action, slot: str) -> Fact:
    ids = {"round": tool_round.called.seq, "call": call.id, **({"slot": slot} if slot else {})}
    try:
        why = read_text(action.data.get("why", ""), WHY_CHARS, required=False)
    except Invalid as fault:
        raise Refused("invalid", fault.said, {"why": fault.said}) from None
    return Fact(ALLOWED if action.kind == "allow" else DENIED, {**ids, **({"why": why} if why else {})})


def called_facts(data: Data, seq: int) -> tuple[Fact, ...]:
    """Return the facts of a model's calls, as the event `seq`; a call that cannot be made ends at once."""
    slot = {"slot": data["slot"]} if "slot" in data else {}
    ends = (
        Fact(RETURNED, {"round": seq, "call": call["id"], **slot, "text": call["invalid"], "failed": "invalid"})
        for call in data["calls"]
        if call.get("invalid")
    )
    return (Fact(CALLED, data), *ends)


def result_facts(task: PendingTask, action: Action) -> tuple[Fact, ...]:
    """The event of a call that is made, has returned or was interrupted, as the pending `task` allows."""
    if action.kind == "begin" and task.data.get("begun"):
        raise Refused("not_offered", NOT_OFFERED)
    given: Data = action.data.get("result", {})
    return (Fact(TOOL_ACTIONS[action.kind], {**task.data["ids"], **given}),)


def made_calls(events: Sequence[Event], slot: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for one in (call for found in tool_rounds(events, slot) for call in found.calls):
        if one.made:
            yield one.tool, json.loads(one.arguments or "{}")


def rounds_by_message(messages: Sequence[Event], events: Sequence[Event], slot: str) -> dict[int, list[dict[str, Any]]]:
    """The rounds by the participant's message, 0 before any; of the column that replies next, or `slot`."""
    whose, following = dict[int, str](), slot
    for event in reversed(messages):
        if event.kind == "said":
            whose[event.seq], following = following, slot
        else:
            following = str(event.data.get("slot", ""))
    whose[0] = following
    own: dict[int, list[dict[str, Any]]] = {}
    for column in {*whose.values()}:
        for one in tool_rounds(events, column):
            asked = message_of(events, one)
            own.setdefault(asked, []).extend(one.messages() if whose.get(asked) == column else ())
    return own

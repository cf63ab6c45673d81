"""The design of a conversation, which `chat` and `compare` have in common: who begins, when words appear, and the end.

Numbers and texts are the same for all, or one for each value of a factor (`{by: factor, pick: {...}}`); a text may have
`{{names}}`. The log records what follows from it with each reply; nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field as About
from pydantic import (
    StringConstraints,
    Tag,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from experiments.errors import Refused
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.session.conversation import chosen, chosen_text, messages, read_message, sent_messages
from experiments.session.memory import memory_of
from experiments.session.state import visited
from experiments.session.timing import SECOND_US, shown_us
from experiments.session.tool_calls import (
    OF_CALLS,
    approval,
    calls_made,
    decided,
    in_call,
    message_of,
    open_round,
    tool_rounds,
    tool_task,
)
from experiments.study.base_model import Pattern, StrictModel
from experiments.study.location import Location
from experiments.study.reply_checks import matched
from experiments.study.screen import Approval, ChatMessage
from experiments.study.sections.model_spec import ONE_OR_EACH, Levels, PickByFactor, Texts, pick_faults
from experiments.study.sections.tools import ToolSet
from experiments.study.step import Step
from problems.pictures import is_picture

# Instead of words of the assistant: the model writes them.
BY_MODEL = "model"
OVER = "The conversation has ended. Please continue."
Fault = tuple[str, str]


def _allows(kind: str, most: int) -> WrapValidator:
    def read(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError:
            each = "or one for each value of a factor: `{by: condition, pick: {short: 1, long: 20}}`"
            raise ValueError(f"is no {kind} from 0 to {most}; write one, {each}") from None

    return WrapValidator(read)


Delay = Annotated[float, About(ge=0, le=120), _allows("number", 120)]
Pace = Annotated[float, About(ge=0, le=1000), _allows("number", 1000)]
Count = Annotated[int, About(ge=0, le=100_000), _allows("whole number", 100_000)]
Turn = Annotated[int, About(ge=1, le=100)]


class DelayByFactor(PickByFactor[Delay]):
    """A delay for each value of a factor or of a loop's variable."""


class PaceByFactor(PickByFactor[Pace]):
    """A pace for each value of a factor or of a loop's variable."""


class CountByFactor(PickByFactor[Count]):
    """A whole number for each value of a factor or of a loop's variable."""


Delays = Annotated[Annotated[Delay, Tag("one")] | Annotated[DelayByFactor, Tag("each")], ONE_OR_EACH]
Paces = Annotated[Annotated[Pace, Tag("one")] | Annotated[PaceByFactor, Tag("each")], ONE_OR_EACH]
Counts = Annotated[Annotated[Count, Tag("one")] | Annotated[CountByFactor, Tag("each")], ONE_OR_EACH]


class Ending(StrictModel):
    """The conditions under which a conversation ends by itself. Participants are told, and go on with the button."""

    after: Counts | None = None
    """The number of the participant's messages after whose reply it ends; by factor as `delay_s`."""
    mark: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """A text by which the assistant ends it, such as `[END]`: neither it nor what follows is shown. Tell the model in
    its system prompt."""
    pattern: Pattern | None = None
    """A regular expression: it ends with the first reply in which this is found within 0.05 s."""
    text: str = OVER
    """The text that participants read then."""

    @model_validator(mode="after")
    def _ends_somehow(self) -> Self:
        if self.after is None and self.mark is None and self.pattern is None:
            raise ValueError("needs `after`, `mark` or `pattern`, or it never ends the conversation")
        return self


class SystemAddition(StrictModel):
    """A text that is added to the models' system prompts in some turns."""

    from_turn: Annotated[int, About(ge=0, le=100)]
    """The first turn, by the participant's messages so far; 0 is the assistant's opening."""
    to_turn: Annotated[int, About(ge=0, le=100)] | None = None
    """The last turn. Until the end by default."""
    text: Texts
    """The text. Nothing is added where it is empty."""

    @property
    def turns(self) -> str:
        return f"{self.from_turn}-{'' if self.to_turn is None else self.to_turn}"


class Suggestions(StrictModel):
    """Messages that participants can choose instead of writing."""

    texts: Annotated[tuple[str, ...], About(min_length=1, max_length=8)]
    """The messages, a button each."""
    send: bool = False
    """True if a button sends its message at once. It fills the message box by default."""


class MessageLimits(NamedTuple):
    least: int
    most: int
    chars: int


class ConversationDesign(Step):
    """A conversation that can be designed."""

    remembers: ClassVar[bool] = True

    opens: Texts | None = None
    """The assistant's first words: a text, or `model` to have them written by the model. The participant begins where
    it is empty."""
    delay_s: Delays | None = None
    """Seconds from the participant's message to the reply's first word; or by factor, `{by: typing, pick: {human: 2,
    instant: 0}}`. A reply that takes longer is not delayed further."""
    pace: Paces | None = None
    """Characters a second at which words appear, by factor as `delay_s`. They appear as they come at 0."""
    scripted: dict[Turn, Texts] | None = None
    """Fixed replies by turn, such as `{3: I cannot help with that.}`; no model is called. Where one is empty the model
    replies."""
    ends: Ending | None = None
    """The conditions under which the conversation ends by itself. None by default."""
    system_additions: tuple[SystemAddition, ...] | None = None
    """Texts that are added to the models' system prompts in some turns."""
    suggestions: Suggestions | None = None
    """Suggested messages, which are recorded as such if they are sent, verbatim or edited."""
    tools: Texts | None = None
    """The set of `tools` that the model may use, by name; by factor as `opens`. None where it is empty."""
    max_reply_tokens: Counts | None = None
    """The maximum length of a reply in tokens, if the model's own is not shorter; no limit at 0. By factor as
    `delay_s`."""
    max_reply_chars: Counts | None = None
    """The number of characters at which a reply is cut, with a note; no limit at 0. By factor as `delay_s`."""

    def limits(self) -> MessageLimits:
        raise NotImplementedError

    def pictures(self) -> Mapping[str, Texts | None]:
        """The pictures beside the labels, by key."""
        raise NotImplementedError

    def opening(self, location: Location) -> str:
        """The assistant's first words, or `model`; empty where the participant begins."""
        return "" if self.opens is None else chosen_text(location, self.opens)

    def is_over(self, location: Location) -> bool:
        return any("ended_by" in event.data for event in location.facts)

    def shown(self, location: Location) -> dict[str, Any]:
        sends = bool(self.suggestions and self.suggestions.send)
        over = location.fill(self.ends.text) if self.ends and self.is_over(location) else ""
        design = {"suggestions": self.suggested(location), "sends_suggestion": sends, "over": over}
        return {**design, "may_end": self.ends is not None, "delay_s": _number(location, self.delay_s)}

    def suggested(self, location: Location) -> tuple[str, ...]:
        return tuple(map(location.fill, self.suggestions.texts)) if self.suggestions else ()

    def added_texts(self, location: Location) -> dict[str, str]:
        """Return the present additions to the system prompt, by the turns of each text."""
        turn = sent_messages(location.facts)
        ends = ((one, turn if one.to_turn is None else one.to_turn) for one in self.system_additions or ())
        now = (one for one, last in ends if one.from_turn <= turn <= last)
        return {one.turns: text for one in now if (text := chosen_text(location, one.text))}

    def additions(self, location: Location) -> list[str]:
        """The memory to the letter, and `system_additions`, in which pictures are their alternative texts."""
        added = self.added_texts(location).values()
        return [self._memory(location)[1], *map(location.study.described, added)]

    def _memory(self, location: Location) -> tuple[int, str]:
        return memory_of(location) if location.study.file.memory else (0, "")

    def reply_data(self, location: Location, slot: str = "") -> Data:
        """Return the data for the task of the pending reply that follow from the design, without empty ones."""
        said = [event for event in location.facts if event.kind == "said"]
        turn, since_us = sent_messages(location.facts), said[-1].at_us if said else shown_us(location)
        scripted = (self.scripted or {}).get(turn)
        fixed = (chosen_text(location, scripted) if scripted else "") if said else self.opening(location)
        delay_s, pace = _number(location, self.delay_s), _number(location, self.pace)
        from_us = since_us + round(delay_s * SECOND_US)
        data = {
            "opens": not said,
            "fixed": "" if fixed == BY_MODEL and not said else fixed,
            "pacing": {"from_us": from_us, "pace": pace} if delay_s or pace else None,
            "written": _written(location.facts, slot),
            "mark": self.ends.mark if self.ends else None,
            "additions": list(self.added_texts(location)),
            "memory": self._memory(location)[0],
            "max_tokens": int(_number(location, self.max_reply_tokens)),
            "max_chars": int(_number(location, self.max_reply_chars)),
        }
        return {name: value for name, value in data.items() if value}

    def tool_set(self, location: Location) -> tuple[str, ToolSet | None]:
        name = chosen_text(location, self.tools) if self.tools else ""
        return name, (location.study.file.tools or {})[name] if name else None

    def approval(self, location: Location, slot: str = "") -> Approval | None:
        _, tools = self.tool_set(location)
        return approval(location.facts, tools, slot) if tools else None

    def decided(self, location: Location, action: Action, slots: Sequence[str] = ("",)) -> tuple[Fact, ...]:
        """Return the facts of the participant's decision on a call; raises Refused."""
        _, tools = self.tool_set(location)
        assert tools is not None  # noqa: S101  (it is offered)
        return decided(location.facts, tools, action, slots)

    def due_call(self, location: Location, slot: str = "", *, stopped: bool) -> tuple[PendingTask, ...] | None:
        """The call due in place of a reply, or nothing while it waits for a decision; None where the reply is due."""
        name, tools = self.tool_set(location)
        if tools is None or not open_round(location.facts, slot) or (stopped and not in_call(location.facts, slot)):
            return None
        task = tool_task(location.facts, location.path, name, tools, slot)
        return (task,) if task else ()

    def offered_tools(self, location: Location, slot: str = "") -> Data:
        name, tools = self.tool_set(location)
        return {"tools": name, "calls_left": tools.max_calls - calls_made(location.facts, slot)} if tools else {}

    def receives(self, location: Location, reply: Data) -> Data:
        """The data to record: `ended_by` where it ends the conversation, `pattern_missing` where that is unknown."""
        data = {name: value for name, value in reply.items() if name != "marked"}
        if self.ends is None:
            return data
        after = int(_number(location, self.ends.after))
        found = self.ends.pattern is not None and matched(self.ends.pattern, reply["text"])
        why = {"mark": "marked" in reply, "pattern": found, "turns": 0 < after <= sent_messages(location.facts)}
        ended_by = next((name for name, is_so in why.items() if is_so), "")
        too_slow = {"pattern_missing": "time_limit"} if found is None else {}
        return {**data, **too_slow, **({"ended_by": ended_by} if ended_by else {})}

    def message(self, location: Location, given: Data, max_chars: int, *, blank: bool = False) -> dict[str, Any]:
        """`suggestion` is the number of the one that it was made of, from 1; the message may be `blank`."""
        text, texts = read_message(given.get("text"), max_chars, required=not blank), self.suggested(location)
        number = texts.index(text) + 1 if text in texts else given.get("suggestion")
        if number is None:
            return {"text": text}
        if not isinstance(number, int) or not 1 <= number <= len(texts):
            raise Refused("invalid", "There is no such suggested message.")
        return {"text": text, "suggestion": number, "suggested": "verbatim" if text in texts else "edited"}

    def level_faults(self, levels: Levels) -> Iterator[Fault]:
        """Numbers and texts by factor that some value of the factor leaves without one, and contradictions."""
        for key, value in self._by_factor().items():
            if isinstance(value, PickByFactor):
                yield from ((key, words) for words in pick_faults(value, levels))
        for key, picture in self.pictures().items():
            yield from ((key, words) for words in _picture_faults(picture))
        yield from self._contradictions()

    def _by_factor(self) -> dict[str, object]:
        return {
            **{"delay_s": self.delay_s, "pace": self.pace, "ends.after": self.ends and self.ends.after},
            **{"max_reply_tokens": self.max_reply_tokens, "max_reply_chars": self.max_reply_chars, "opens": self.opens},
            "tools": self.tools,
            **{f"scripted.{turn}": text for turn, text in (self.scripted or {}).items()},
            **{f"system_additions[{at}].text": one.text for at, one in enumerate(self.system_additions or ())},
            **self.pictures(),
        }

    def _ending_faults(self, ends: Sequence[int]) -> Iterator[Fault]:
        least, most, _ = self.limits()
        for last in filter(None, ends):
            if not least <= last <= most:
                yield "ends.after", f"{last} is not from `min_messages` ({least}) to `max_messages` ({most})"

    def _contradictions(self) -> Iterator[Fault]:
        _, most, room = self.limits()
        after = self.ends and self.ends.after
        ends = [*after.pick.values()] if isinstance(after, PickByFactor) else [after or 0]
        yield from self._ending_faults(ends)
        reached = min(most, max((last or most for last in ends), default=most))
        turns = {f"scripted.{turn}": turn for turn in self.scripted or ()}
        for at, one in enumerate(self.system_additions or ()):
            turns[f"system_additions[{at}]"] = one.from_turn
            if one.to_turn is not None and one.to_turn < (one.from_turn or self.opens is None):
                yield f"system_additions[{at}]", f"is for no turn: {one.turns}. Turn 0 needs `opens`"
        for key, turn in turns.items():
            if turn > reached:
                yield key, f"turn {turn} is never reached: the last one is {reached}"
        suggested = self.suggestions.texts if self.suggestions else ()
        for number, text in enumerate(suggested):
            if not text.strip() or len(text) > room or text in suggested[:number]:
                yield f"suggestions.texts[{number}]", f"is blank, given twice or longer than `max_chars`: {text[:60]!r}"


def _number(location: Location, value: float | PickByFactor[float] | None) -> float:
    return chosen(location, value or 0)


def _picture_faults(given: Texts | None) -> Iterator[str]:
    for text in given.pick.values() if isinstance(given, PickByFactor) else [given]:
        if text and not is_picture(text):
            yield f"{text[:60]!r} is no picture. Write ![what it shows](file.png)"


def _written(events: Sequence[Event], slot: str) -> Data | None:
    """The pending reply with its time, `at_us`, if it is written already and not all of it was shown."""
    own = (event for event in reversed(events) if event.kind == "said" or event.data.get("slot", "") == slot)
    last = next((event for event in own if event.kind in ("said", "retried", "written")), None)
    return {**last.data, "at_us": last.at_us} if last and last.kind == "written" else None


def reviewed(location: Location, events: Sequence[Event]) -> tuple[ChatMessage, ...]:
    """An earlier conversation, of which these events are shown, with the use of tools as the participant saw it."""
    path = events[0].path if events else ""
    place = next((one for one in visited(location.study, location.state) if one.path == path), None)
    design = place.node if place else None
    tools = design.tool_set(place)[1] if place and isinstance(design, ConversationDesign) else None
    if place is None or tools is None:
        return messages(events)
    said = {event.seq for event in events}
    rounds = {one.called.seq for one in tool_rounds(place.facts) if message_of(place.facts, one) in said}
    shown = (event for event in place.facts if event.seq in said | rounds or event.kind in OF_CALLS)
    return messages(tuple(shown), tools)

"""The design of a conversation, which `chat` and `compare` have in common: who begins, when words appear, and the end.

Every key is a value or depends on the condition: a number may be `"{{factor}}"`, a text may have `{{names}}` or be one
for each value (`{by: factor, pick: {...}}`). The log records what follows from it with each reply; nothing is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Discriminator,
    StringConstraints,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic import Field as About

from experiments.errors import Refused, plain_message, suggestion
from experiments.events import Data, Event
from experiments.session.conversation import chosen_text, read_message, sent_messages
from experiments.session.timing import SECOND_US, shown_us
from experiments.study.base_model import StrictModel
from experiments.study.location import Location
from experiments.study.sections.model_spec import PromptByFactor, Texts
from experiments.study.step import Step
from experiments.study.template import SLOT, names

# Instead of words of the assistant: the model writes them.
BY_MODEL = "model"
OVER = "The conversation has ended. Please continue."
Levels = Mapping[str, Sequence[str]]
Fault = tuple[str, str]


def _form(raw: Any) -> str:
    return "name" if isinstance(raw, str) and "{{" in raw else "number"


Name = Annotated[str, StringConstraints(pattern=rf"^{SLOT.pattern}$")]
Delay = Annotated[float, About(ge=0, le=120)]
Pace = Annotated[float, About(ge=0, le=1000)]
Count = Annotated[int, About(ge=0, le=100_000)]
Turn = Annotated[int, About(ge=1, le=100)]
DelayByFactor = Annotated[Annotated[Delay, Tag("number")] | Annotated[Name, Tag("name")], Discriminator(_form)]
PaceByFactor = Annotated[Annotated[Pace, Tag("number")] | Annotated[Name, Tag("name")], Discriminator(_form)]
CountByFactor = Annotated[Annotated[Count, Tag("number")] | Annotated[Name, Tag("name")], Discriminator(_form)]
NUMBERS: Mapping[str, TypeAdapter[Any]] = {
    "delay_s": TypeAdapter(Delay),
    "pace": TypeAdapter(Pace),
    **dict.fromkeys(("max_reply_tokens", "max_reply_chars", "ends.after"), TypeAdapter[Any](Count)),
}


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
    return pattern


class Ending(StrictModel):
    """When a conversation ends by itself. Participants are told, and go on with the button."""

    after: CountByFactor | None = None
    """The number of the participant's messages after whose reply it ends."""
    mark: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """A text by which the assistant ends it, such as `[END]`: neither it nor what follows is shown. Tell the model in
    its system prompt."""
    pattern: Annotated[str, StringConstraints(min_length=1), AfterValidator(_compiles)] | None = None
    """A regular expression: it ends with the first reply in which this is found."""
    text: str = OVER
    """What participants are told."""

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

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.to_turn is not None and self.to_turn < self.from_turn:
            raise ValueError(f"to_turn {self.to_turn} is before from_turn {self.from_turn}")
        return self

    def holds(self, turn: int) -> bool:
        return self.from_turn <= turn and (self.to_turn is None or turn <= self.to_turn)

    @property
    def turns(self) -> str:
        return f"{self.from_turn}-{'' if self.to_turn is None else self.to_turn}"


class Suggestions(StrictModel):
    """Messages that participants can choose instead of writing."""

    texts: Annotated[tuple[str, ...], About(min_length=1, max_length=8)]
    """The messages, a button each."""
    send: bool = False
    """Whether a button sends its message at once. It fills the message box by default."""


class ConversationDesign(Step):
    """A conversation that can be designed."""

    opens: Texts | None = None
    """The assistant's first words: a text, or `model` to have them written by the model. The participant begins where
    it is empty."""
    delay_s: DelayByFactor | None = None
    """Seconds from the participant's message to the first word of the reply. A reply that takes longer is not delayed
    further."""
    pace: PaceByFactor | None = None
    """Characters a second at which words appear. They appear as they come at 0."""
    scripted: dict[Turn, Texts] | None = None
    """Fixed replies by turn, such as `{3: I cannot help with that.}`; no model is called. Where one is empty the model
    replies."""
    ends: Ending | None = None
    """When the conversation ends by itself. Never by default."""
    system_additions: tuple[SystemAddition, ...] | None = None
    """Texts that are added to the models' system prompts in some turns."""
    suggestions: Suggestions | None = None
    """Suggested messages, which are recorded as such if they are sent, verbatim or edited."""
    max_reply_tokens: CountByFactor | None = None
    """The maximum length of a reply in tokens, if the model's own is not shorter; no limit at 0."""
    max_reply_chars: CountByFactor | None = None
    """The number of characters at which a reply is cut, with a note; no limit at 0."""

    def pictures(self) -> Mapping[str, Texts]:
        """The assistants' pictures, by their keys."""
        return {}

    def opening(self, location: Location) -> str:
        """The assistant's first words, or `model`; empty where the participant begins."""
        return "" if self.opens is None else chosen_text(location, self.opens)

    def is_over(self, location: Location) -> bool:
        return any("ended_by" in event.data for event in location.facts)

    def over(self, location: Location) -> str:
        """What participants are told once the conversation has ended by itself; empty until then."""
        return location.fill(self.ends.text) if self.ends and self.is_over(location) else ""

    def shown(self, location: Location) -> dict[str, Any]:
        """What a conversation's view has of its design."""
        sends = bool(self.suggestions and self.suggestions.send)
        design = {"suggestions": self.suggested(location), "sends_suggestion": sends, "over": self.over(location)}
        return {**design, "delay_s": _number(location, self.delay_s)}

    def suggested(self, location: Location) -> tuple[str, ...]:
        return tuple(map(location.fill, self.suggestions.texts)) if self.suggestions else ()

    def added_texts(self, location: Location) -> tuple[str, ...]:
        return tuple(text for _, text in self._additions(location))

    def _additions(self, location: Location) -> tuple[tuple[str, str], ...]:
        turn = sent_messages(location.facts)
        found = ((one.turns, chosen_text(location, one.text)) for one in self.system_additions or () if one.holds(turn))
        return tuple(one for one in found if one[1])

    def reply_data(self, location: Location, slot: str = "") -> Data:
        """What the design asks of the pending reply, for its task; nothing where it has no such key."""
        said = [event for event in location.facts if event.kind == "said"]
        turn, since_us = sent_messages(location.facts), said[-1].at_us if said else shown_us(location)
        fixed = self._scripted(location, turn) if said else self.opening(location)
        delay_s, pace = _number(location, self.delay_s), _number(location, self.pace)
        from_us = since_us + round(delay_s * SECOND_US)
        data = {
            "opens": not said,
            "fixed": "" if fixed == BY_MODEL and not said else fixed,
            "pacing": {"from_us": from_us, "pace": pace} if delay_s or pace else None,
            "written": _written(location.facts, slot),
            "mark": self.ends.mark if self.ends else None,
            "additions": [turns for turns, _ in self._additions(location)],
            "max_tokens": int(_number(location, self.max_reply_tokens)),
            "max_chars": int(_number(location, self.max_reply_chars)),
        }
        return {name: value for name, value in data.items() if value}

    def _scripted(self, location: Location, turn: int) -> str:
        found = (self.scripted or {}).get(turn)
        return "" if found is None else chosen_text(location, found)

    def receives(self, location: Location, reply: Data) -> Data:
        """What is recorded of a reply: with `ended_by` where it ends the conversation."""
        data = {name: value for name, value in reply.items() if name != "marked"}
        if self.ends is None:
            return data
        after = int(_number(location, self.ends.after))
        why = {
            "mark": "marked" in reply,
            "pattern": bool(self.ends.pattern and re.search(self.ends.pattern, reply["text"])),
            "turns": bool(after) and sent_messages(location.facts) >= after,
        }
        ended_by = next((name for name, is_so in why.items() if is_so), None)
        return {**data, **({"ended_by": ended_by} if ended_by else {})}

    def message(self, location: Location, given: Data, max_chars: int) -> dict[str, Any]:
        """The data of a message; `suggestion` is the number of the one that it was made of, from 1."""
        text, texts = read_message(given.get("text"), max_chars), self.suggested(location)
        number = texts.index(text) + 1 if text in texts else given.get("suggestion")
        if number is None:
            return {"text": text}
        if not isinstance(number, int) or not 1 <= number <= len(texts):
            raise Refused("invalid", "There is no such suggested message.")
        return {"text": text, "suggestion": number, "suggested": "verbatim" if text in texts else "edited"}

    def level_faults(self, levels: Levels) -> Iterator[Fault]:
        """Numbers and texts by factor that some value of the factor leaves without one, and contradictions."""
        numbers = {name: getattr(self, name) for name in NUMBERS if "." not in name}
        for key, value in {**numbers, "ends.after": self.ends and self.ends.after}.items():
            if isinstance(value, str):
                yield from ((key, words) for words in _number_faults(NUMBERS[key], value, levels))
        for key, texts in (*self._texts(), *self.pictures().items()):
            if isinstance(texts, PromptByFactor):
                yield from ((key, words) for words in _pick_faults(texts, levels))
        yield from self._contradictions()

    def _texts(self) -> Iterator[tuple[str, Texts]]:
        if self.opens is not None:
            yield "opens", self.opens
        yield from ((f"scripted.{turn}", text) for turn, text in (self.scripted or {}).items())
        yield from (
            (f"system_additions[{place}].text", one.text) for place, one in enumerate(self.system_additions or ())
        )

    def _contradictions(self) -> Iterator[Fault]:
        most, end = int(getattr(self, "max_messages", 100)), self.ends.after if self.ends else None
        last = min(most, end) if isinstance(end, int) and end else most
        turns = {f"scripted.{turn}": turn for turn in self.scripted or ()}
        turns |= {f"system_additions[{at}]": one.from_turn for at, one in enumerate(self.system_additions or ())}
        for key, turn in turns.items():
            if turn > last:
                yield key, f"turn {turn} is never reached: the conversation has at most {last} messages"
        if isinstance(end, int) and end > most:
            yield "ends.after", f"{end} is never reached: `max_messages` is {most}"
        if isinstance(end, int) and 0 < end < (least := int(getattr(self, "min_messages", 0))):
            yield "ends.after", f"{end} is below `min_messages`, which is {least}"
        if self.opens is None and any(one.to_turn == 0 for one in self.system_additions or ()):
            yield "system_additions", "turn 0 is the assistant's opening, which needs `opens`"
        yield from self._too_long()

    def _too_long(self) -> Iterator[Fault]:
        limit, room = self.max_reply_chars, int(getattr(self, "max_chars", 0))
        shown = [(key, texts) for key, texts in self._texts() if not key.startswith("system")]
        for key, texts in shown if isinstance(limit, int) and limit else ():
            for text in texts.pick.values() if isinstance(texts, PromptByFactor) else (texts,):
                if isinstance(limit, int) and len(text) > limit:
                    yield key, f"has {len(text)} characters; `max_reply_chars` is {limit}"
        suggested = self.suggestions.texts if self.suggestions else ()
        for number, text in enumerate(suggested):
            if not text.strip() or len(text) > room or text in suggested[:number]:
                yield f"suggestions.texts[{number}]", f"is blank, given twice or longer than `max_chars`: {text[:60]!r}"


def _number(location: Location, value: float | str | None) -> float:
    return float(location.fill(value)) if isinstance(value, str) else value or 0


def _number_faults(numbers: TypeAdapter[Any], value: str, levels: Levels) -> Iterator[str]:
    (name,) = names(value)
    if not levels.get(name, ("",)):
        yield f"{value} is no factor or loop's variable{suggestion(name, _varying(levels))}"
    for level in levels.get(name, ()):
        try:
            numbers.validate_python(level)
        except ValidationError as error:
            yield f"{name} can be {level!r}: {plain_message(error.errors()[0])}"


def _pick_faults(texts: PromptByFactor, levels: Levels) -> Iterator[str]:
    values = levels.get(texts.by, ())
    if not values:
        yield f"no factor or loop is called {texts.by!r}{suggestion(texts.by, _varying(levels))}"
        return
    yield from (f"has no text for {texts.by} = {value!r}" for value in values if value not in texts.pick)
    strays = (value for value in texts.pick if value not in values)
    yield from (f"{value!r} is not a value of {texts.by}{suggestion(value, values)}" for value in strays)


def _varying(levels: Levels) -> list[str]:
    return [name for name, values in levels.items() if values]


def _written(events: Sequence[Event], slot: str) -> Data | None:
    """The pending reply of a column, if its model has written it already and not all of it was shown: its data with
    the time, `at_us`."""
    for event in reversed(events):
        if event.kind == "said" or event.data.get("slot", "") == slot:
            if event.kind == "written":
                return {**event.data, "at_us": event.at_us}
            if event.kind in ("said", "retried"):
                return None
    return None

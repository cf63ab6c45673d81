"""The design of a conversation, which `chat` and `compare` have in common: who begins, when words appear, and the end.

Every key is a value or depends on the condition: a number may be `"{{factor}}"`, a text may have `{{names}}` or be one
for each value (`{by: factor, pick: {...}}`). The log records what follows from it with each reply; nothing is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import Discriminator, StringConstraints, Tag, TypeAdapter, ValidationError, model_validator
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


class Ending(StrictModel):
    """When a conversation ends by itself. Participants are told, and go on with the button."""

    after: CountByFactor | None = None
    """The number of the participant's messages after whose reply it ends."""
    mark: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """A text by which the assistant ends it, such as `[END]`: neither it nor what follows is shown. Tell the model in
    its system prompt."""
    pattern: re.Pattern[str] | None = None
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

    def opening(self, location: Location) -> str:
        """The assistant's first words, or `model`; empty where the participant begins."""
        return "" if self.opens is None else chosen_text(location, self.opens)

    def is_over(self, location: Location) -> bool:
        return any("ended_by" in event.data for event in location.facts)

    def shown(self, location: Location) -> dict[str, Any]:
        """What a conversation's view has of its design."""
        sends = bool(self.suggestions and self.suggestions.send)
        over = location.fill(self.ends.text) if self.ends and self.is_over(location) else ""
        design = {"suggestions": self.suggested(location), "sends_suggestion": sends, "over": over}
        return {**design, "delay_s": _number(location, self.delay_s)}

    def suggested(self, location: Location) -> tuple[str, ...]:
        return tuple(map(location.fill, self.suggestions.texts)) if self.suggestions else ()

    def added_texts(self, location: Location) -> dict[str, str]:
        """What is added to the system prompt now, by the turns of each text."""
        turn = sent_messages(location.facts)
        ends = ((one, turn if one.to_turn is None else one.to_turn) for one in self.system_additions or ())
        now = (one for one, last in ends if one.from_turn <= turn <= last)
        return {one.turns: text for one in now if (text := chosen_text(location, one.text))}

    def reply_data(self, location: Location, slot: str = "") -> Data:
        """What the design asks of the pending reply, for its task; nothing where it has no such key."""
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
            "max_tokens": int(_number(location, self.max_reply_tokens)),
            "max_chars": int(_number(location, self.max_reply_chars)),
        }
        return {name: value for name, value in data.items() if value}

    def receives(self, location: Location, reply: Data) -> Data:
        """What is recorded of a reply: with `ended_by` where it ends the conversation."""
        data = {name: value for name, value in reply.items() if name != "marked"}
        if self.ends is None:
            return data
        after = int(_number(location, self.ends.after))
        found = self.ends.pattern and self.ends.pattern.search(reply["text"])
        why = {"mark": "marked" in reply, "pattern": found, "turns": 0 < after <= sent_messages(location.facts)}
        ended_by = next((name for name, is_so in why.items() if is_so), "")
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
        for key, texts in self._texts().items():
            if isinstance(texts, PromptByFactor):
                yield from ((key, words) for words in _pick_faults(texts, levels))
        yield from self._contradictions()

    def _texts(self) -> dict[str, Texts | None]:
        pictures = getattr(self, "assistant_pictures", None) or ()
        return {
            **{"opens": self.opens, "assistant_picture": getattr(self, "assistant_picture", None)},
            **{f"scripted.{turn}": text for turn, text in (self.scripted or {}).items()},
            **{f"system_additions[{at}].text": one.text for at, one in enumerate(self.system_additions or ())},
            **{f"assistant_pictures[{at}]": text for at, text in enumerate(pictures)},
        }

    def _contradictions(self) -> Iterator[Fault]:
        least, most, room = (int(getattr(self, name)) for name in ("min_messages", "max_messages", "max_chars"))
        last = after if self.ends and isinstance(after := self.ends.after, int) and after else most
        if last != most and not least <= last <= most:
            yield "ends.after", f"{last} is not from `min_messages` ({least}) to `max_messages` ({most})"
        turns = {f"scripted.{turn}": turn for turn in self.scripted or ()}
        for at, one in enumerate(self.system_additions or ()):
            turns[f"system_additions[{at}]"] = one.from_turn
            if one.to_turn is not None and one.to_turn < (one.from_turn or self.opens is None):
                yield f"system_additions[{at}]", f"is for no turn: {one.turns}. Turn 0 needs `opens`"
        for key, turn in turns.items():
            if turn > min(last, most):
                yield key, f"turn {turn} is never reached: the conversation has at most {min(last, most)} messages"
        suggested = self.suggestions.texts if self.suggestions else ()
        for number, text in enumerate(suggested):
            if not text.strip() or len(text) > room or text in suggested[:number]:
                yield f"suggestions.texts[{number}]", f"is blank, given twice or longer than `max_chars`: {text[:60]!r}"


def _number(location: Location, value: float | str | None) -> float:
    return float(location.fill(value)) if isinstance(value, str) else value or 0


def _number_faults(numbers: TypeAdapter[Any], value: str, levels: Levels) -> Iterator[str]:
    (name,) = names(value)
    if not levels.get(name, ("",)):
        yield f"{value} is no factor or loop's variable{suggestion(name, list(filter(levels.get, levels)))}"
    for level in levels.get(name, ()):
        try:
            numbers.validate_python(level)
        except ValidationError as error:
            yield f"{name} can be {level!r}: {plain_message(error.errors()[0])}"


def _pick_faults(texts: PromptByFactor, levels: Levels) -> Iterator[str]:
    values = levels.get(texts.by, ())
    if not values:
        yield f"no factor or loop is called {texts.by!r}{suggestion(texts.by, list(filter(levels.get, levels)))}"
        return
    yield from (f"has no text for {texts.by} = {value!r}" for value in values if value not in texts.pick)
    strays = (value for value in texts.pick if value not in values)
    yield from (f"{value!r} is not a value of {texts.by}{suggestion(value, values)}" for value in strays)


def _written(events: Sequence[Event], slot: str) -> Data | None:
    """The pending reply of a column, if its model has written it already and not all of it was shown: its data with
    the time, `at_us`."""
    own = (event for event in reversed(events) if event.kind == "said" or event.data.get("slot", "") == slot)
    last = next((event for event in own if event.kind in ("said", "retried", "written")), None)
    return {**last.data, "at_us": last.at_us} if last and last.kind == "written" else None

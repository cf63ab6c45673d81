"""Chat: a conversation with a model beside the problem, ended by an answer or by leaving it.

Facts here: said, replied, failed (a reply that could not be had), retried, rated, submitted. A reply is owed after
`said` or `retried`. The prompt is built from these facts alone. With `rate_each` the next message has to wait until the
reply is rated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field as About

from experiments.core.events import Action, Event, Fact, Job
from experiments.core.fields import Field, Invalid, Scale, Single, read_text
from experiments.core.place import Place
from experiments.core.screen import Asked, Chat, Panel, Text
from experiments.core.step import Step, read_or_refuse, step
from experiments.core.talk import messages, spoken
from experiments.errors import Refused

MESSAGE_CHARS = 4_000


@step
class ChatStep(Step):
    """A conversation of at most `max_messages` messages; with `answer` the problem is answered on the same screen."""

    step: Literal["chat"]
    text: str = ""
    """The instructions above the problem, in Markdown."""
    model: str = "{{model}}"
    """The model that replies: a name of the study's models, usually a factor or a loop's variable."""
    called: str = "AI Chatbot"
    """What participants see in place of the model's name."""
    max_messages: Annotated[int, About(ge=1, le=100)] = 20
    """How many messages can be sent."""
    min_messages: Annotated[int, About(ge=0, le=100)] = 0
    """How many messages must be sent before the screen can be left."""
    answer: bool = False
    """Whether the problem's options stand beside the chat and must be answered to go on."""
    rate_each: tuple[Literal["helpfulness", "correctness"], ...] = ()
    """Scales on which each reply must be rated before the next message or the end."""
    sees_problem: bool = False
    """Whether the model is given the problem in its system prompt. (ChatBench and CheckMate: no.)"""
    copying: bool = True
    """Whether the problem's text can be selected and copied."""
    button: str = "Continue"
    """The words on the button that ends the screen."""

    def asks(self) -> tuple[Field, ...]:
        """The problem, whose options are its own, if it is answered here; and the scales for each reply."""
        answer = (Field(name="answer", text="{{problem.text}}"),) if self.answer else ()
        return (*answer, *self._scales())

    def _scales(self) -> tuple[Field, ...]:
        return tuple(Scale.model_validate({"scale": name, "ask": "scale"}) for name in self.rate_each)

    def fields(self, place: Place) -> tuple[Field, ...]:
        """The problem's options, if it is answered here."""
        if not self.answer:
            return ()
        return (Single(name="answer", options={option.key: option.text for option in place.problem.options}),)

    def rating(self, place: Place) -> tuple[Field, ...]:
        """The scales for the last reply, while they are due."""
        return self._scales() if _last(place.facts, "replied", "rated", "said") == "replied" else ()

    def panel(self, place: Place) -> Panel:
        """The problem on one side, the conversation on the other."""
        text = (Text(place.fill(self.text)),) if self.text else ()
        waits = _last(place.facts, "said", "replied", "failed", "retried")
        chat = Chat(
            title=place.fill(self.called),
            messages=messages(place.facts),
            remaining=self.max_messages - _count(place.facts, "said"),
            max_chars=MESSAGE_CHARS,
            rating=self.rating(place),
            waiting=waits in ("said", "retried"),
            failed=waits == "failed",
            minimum=self.min_messages,
            dollar_maths=place.study.file.dollar_maths,
        )
        blocks = (*text, Asked(place.problem.text, copying=self.copying))
        return Panel(self.title, blocks, self.fields(place), chat, self.button)

    def offers(self, place: Place) -> tuple[str, ...]:
        """say, rate, retry and submit, each when it is its turn."""
        waits = _last(place.facts, "said", "replied", "failed", "retried")
        if waits in ("said", "retried"):
            return ()
        if self.rating(place):
            return ("rate",)
        said = _count(place.facts, "said")
        can_leave = said >= self.min_messages
        if waits == "failed":
            return ("retry", *(("submit",) if can_leave else ()))
        return (*(("say",) if said < self.max_messages else ()), *(("submit",) if can_leave else ()))

    def owed(self, place: Place) -> Job | None:
        """A reply to the last message that has none."""
        if _last(place.facts, "said", "replied", "failed", "retried") not in ("said", "retried"):
            return None
        name = place.fill(self.model)
        return Job("reply", place.path, {"model": name, "messages": self._prompt(place, name)})

    def _prompt(self, place: Place, name: str) -> list[dict[str, str]]:
        system = place.fill(place.study.model(name).system)
        if self.sees_problem:
            options = "\n".join(f"{option.key}. {option.text}" for option in place.problem.options)
            system = f"{system}\n\nThe problem being worked on:\n\n{place.problem.text}\n\n{options}".strip()
        start = [{"role": "system", "text": system}] if system else []
        roles = {"said": "user", "replied": "assistant"}
        return start + [{"role": roles[event.kind], "text": event.data["text"]} for event in spoken(place.facts)]

    def decide(self, place: Place, action: Action) -> tuple[Fact, ...]:
        """What was said, rated, retried or answered."""
        match action.kind:
            case "say":
                return (Fact("said", {"text": _message(action.data.get("text"))}),)
            case "rate":
                values = read_or_refuse(self.rating(place), action.data)
                return (Fact("rated", {"turn": _count(place.facts, "replied") - 1, **values}),)
            case "retry":
                return (Fact("retried"),)
            case _:
                return (Fact("submitted", read_or_refuse(self.fields(place), action.data)),)

    def gives(self) -> tuple[str, ...]:
        """`answer`, if it is given here."""
        return ("answer",) if self.answer else ()

    def needs(self) -> frozenset[str]:
        """A problem and a model; options, if it is answered here."""
        model = {"model"} if "{{model}}" in self.model.replace(" ", "") else set()
        return frozenset({"problem"} | model | ({"options"} if self.answer else set()))


def _message(value: Any) -> str:
    try:
        return read_text(value, MESSAGE_CHARS, required=True)
    except Invalid as fault:
        blank = not isinstance(value, str) or not value.strip()
        wording = "Please write a message first." if blank else str(fault)
        raise Refused("invalid", wording, {"text": wording}) from None


def _count(facts: Sequence[Event], kind: str) -> int:
    return sum(event.kind == kind for event in facts)


def _last(facts: Sequence[Event], *kinds: str) -> str | None:
    return next((event.kind for event in reversed(facts) if event.kind in kinds), None)

"""A conversation with one model, which `chat` and `work` have in common.

Events: attached, detached (a picture for the next message), opened (the assistant's first words), said, replied, failed
(no reply from the model), retried, stopped (the participant stopped the reply), written (the model is done, and not all
is shown yet), rated, submitted, skipped. A reply is pending after `said` or `retried`, and before both where the
assistant opens. The prompt is built from these events alone. With `rate_each`, each reply must be rated before the next
message. A reply that failed because of its message cannot be retried: the next `said` replaces that message, as it does
one whose reply was stopped before its first word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field as About

from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.session.conversation import (
    BROKEN_OFF,
    MESSAGE_BOX,
    MESSAGE_CHARS,
    NO_OPENING,
    RETRIES,
    STOPPED,
    MessageChars,
    attach_offers,
    attached,
    attachments,
    broken_off,
    chosen,
    chosen_text,
    count,
    failures_in_a_row,
    gives_back,
    messages,
    messages_left,
    messages_of,
    prompt,
    rated_reply,
    returned_messages,
    sent_messages,
    stopped_by_user,
    unsent_pictures,
    why_unanswered,
    with_newest_pictures,
)
from experiments.session.conversation_design import ConversationDesign, MessageLimits
from experiments.study.base_model import StrictModel
from experiments.study.fields import Field, Scale, TextField
from experiments.study.location import Location
from experiments.study.screen import ChatMessage, ChatView
from experiments.study.sections.attachments import Attach, AttachLimits
from experiments.study.sections.model_spec import Texts
from experiments.study.sections.recruitment import EndPage, Paste
from experiments.study.step import RatingSubject, read_or_refuse

NO_REPLY = "No reply could be generated. Your message is saved."
GIVEN_UP = (
    "No reply could be generated, so the study cannot continue. Your answers are saved. You do not need to do anything "
    "else."
)


# The kinds of the last event after which a reply is pending.
PENDING = ("opens", "said", "retried")


class OnFailure(StrictModel):
    """The action when the model gives no reply after all automatic retries. If the message is the reason (a content
    filter, a refusal, a conversation that is too long for the model), participants can change it and send it again, and
    it does not count as one of their messages. Otherwise they can ask again."""

    action: Literal["retry", "skip", "stop"] = "retry"
    """The action when the tries of `after_retries` fail as well. `retry`: participants can go on trying, or leave the
    screen, whatever `min_messages` is. `skip`: they can also skip the problem. `stop`: the session ends, with the code
    below; not if the message is the reason."""
    after_retries: Annotated[int, About(ge=0, le=20)] = RETRIES
    """The number of tries by the participant, after a first failure, before `action` applies."""
    text: str = NO_REPLY
    """The message to participants."""
    stop_text: str = GIVEN_UP
    """The text of the last page, where the session ends."""
    stop_code: str = ""
    """The completion code for sessions that end this way."""


class ModelConversation(ConversationDesign):
    """A conversation of at most `max_messages` messages with one model."""

    assistant_label: str = "AI Chatbot"
    """The label that participants see instead of the model's name."""
    assistant_picture: Texts | None = None
    """A picture beside the label, such as `![A woman with glasses](ada.png)`. None by default."""
    max_messages: Annotated[int, About(ge=1, le=100)] = 20
    """The maximum number of messages a participant can send."""
    min_messages: Annotated[int, About(ge=0, le=100)] = 0
    """The minimum number of messages before participants can leave the screen, unless the tries of `on_failure`
    have failed."""
    max_chars: MessageChars = MESSAGE_CHARS
    """The maximum number of characters of each message."""
    rate_each: tuple[Literal["helpfulness", "correctness"], ...] = ()
    """The scales on which each reply must be rated before the next message or the end."""
    problem_in_prompt: bool = False
    """True if the model's system prompt contains the problem. (Not in ChatBench and CheckMate.)"""
    attach: Attach | None = None
    """Files that participants can attach to messages: `[image]`. Nothing by default; or by factor,
    `{by: pictures, pick: {yes: [image], no: []}}`. The models must say `sees: [image]`."""
    attach_limits: AttachLimits | None = None
    """The limits of the number and of the size of pictures. Three a message by default, of 10 MB, which are made
    smaller to 1568 pixels."""
    on_failure: OnFailure = OnFailure()
    """The action when the model gives no reply."""
    paste: Paste | None = None
    """The effect of pasting into the message box: `allow`, `log` or `block`. The study's `paste` by default."""
    button: str = "Continue"
    """The label of the button that ends the screen."""

    def limits(self) -> MessageLimits:
        return MessageLimits(self.min_messages, self.max_messages, self.max_chars)

    def pictures(self) -> Mapping[str, Texts | None]:
        return {"assistant_picture": self.assistant_picture}

    def replies(self, location: Location) -> str:
        """The model that replies here, by its name in the study."""
        raise NotImplementedError

    def questions_asked(self) -> tuple[Field, ...]:
        return _scales(self.rate_each)

    def fields(self, location: Location) -> tuple[Field, ...]:
        return ()

    def boxes(self, fields: Sequence[Field]) -> tuple[TextField, ...]:
        return (*super().boxes(fields), TextField(name=MESSAGE_BOX, max_chars=self.max_chars, paste=self.paste))

    def rating(self, location: Location) -> tuple[Field, ...]:
        if not self.rate_each or _last(location.facts, "replied", "rated", "said") != "replied":
            return ()
        return self._filled_scales(location)

    def _filled_scales(self, location: Location) -> tuple[Scale, ...]:
        return tuple(scale.filled(location.fill_markdown) for scale in _scales(self.rate_each))

    def _messages(self, location: Location) -> tuple[ChatMessage, ...]:
        said = messages(location.facts, self.tool_set(location)[1])
        given = {event.data["turn"]: event.data for event in location.facts if event.kind == "rated"}
        if not given:
            return said
        scales = self._filled_scales(location)
        bots = (at for at, one in enumerate(said) if one.role == "Bot" and not one.interim)
        replies = enumerate(bots, start=-count(location.facts, "opened"))  # an opening is not rated
        rated = {
            at: tuple(scale.options[str(given[turn][scale.name])] for scale in scales)
            for turn, at in replies
            if turn in given
        }
        return tuple(replace(one, rated=rated.get(at, ())) for at, one in enumerate(said))

    def done(self, location: Location) -> bool:
        return any(event.kind in ("submitted", "skipped") for event in location.facts)

    def chat(self, location: Location) -> ChatView:
        waits, sent, left = self._waits(location), sent_messages(location.facts), self._left(location)
        return ChatView(
            title=location.fill(self.assistant_label),
            picture=chosen_text(location, self.assistant_picture) if self.assistant_picture else "",
            **self.shown(location),
            messages=self._messages(location),
            remaining=left,
            max_chars=self.max_chars,
            rating=self.rating(location),
            waiting=waits in PENDING,
            approval=self.approval(location) if waits in PENDING and not _stopped(location.facts) else None,
            failed=self._no_reply(location) if waits == "failed" else "",
            way_on=waits == "failed" and self._given_up(location),
            refused=self._refused(location),
            minimum=0 if self._given_up(location) else min(self.min_messages, sent + left),
            paste=self.paste or location.study.file.paste,
            attachments=attachments(self._limits, _unsent(location)) if self._attaches(location) else None,
        )

    def _attaches(self, location: Location) -> bool:
        return self.attach is not None and "image" in chosen(location, self.attach)

    @property
    def _limits(self) -> AttachLimits:
        return self.attach_limits or AttachLimits()

    def _waits(self, location: Location) -> str | None:
        """The kind of the last event that decides it; `opens` before the assistant's first words."""
        last = _last(location.facts, "opened", "said", "replied", "failed", "retried")
        return "opens" if last is None and self.opening(location) else last

    def _no_reply(self, location: Location) -> str:
        if not count(location.facts, "said"):
            return NO_OPENING
        failed = _last_failed(location.facts)
        if stopped_by_user(failed):
            return STOPPED
        if broken_off(failed):
            return BROKEN_OFF
        return why_unanswered(failed) if self._refused(location) else location.fill(self.on_failure.text)

    def _left(self, location: Location) -> int:
        return (
            0 if self.is_over(location) else messages_left(location, self.max_messages - sent_messages(location.facts))
        )

    def _refused(self, location: Location) -> str:
        """The last message, if it was given back and another can be sent in its place."""
        *_, said = (None, *(event for event in location.facts if event.kind == "said"))
        if said is None or said.seq not in returned_messages(location.facts) or not self._left(location):
            return ""
        return str(said.data["text"])

    def offers(self, location: Location) -> tuple[str, ...]:
        found = self._offers(location)
        attach = attach_offers(self._limits, _unsent(location)) if self._attaches(location) else ()
        return (*found, *attach) if "say" in found else found

    def _offers(self, location: Location) -> tuple[str, ...]:
        waits = self._waits(location)
        if waits in PENDING:
            decides = ("allow", "deny") if self.approval(location) else ()
            return () if _stopped(location.facts) else (*decides, "stop")
        if self.rating(location):
            return ("rate",)
        sent, left, given_up = sent_messages(location.facts), self._left(location), self._given_up(location)
        leave = ("submit",) if given_up or sent >= min(self.min_messages, sent + left) else ()
        say = ("say",) if left else ()
        if waits != "failed":
            return (*say, *leave)
        again = say if gives_back(_last_failed(location.facts)) else ("retry",)
        skip = ("skip",) if self.on_failure.action == "skip" and given_up else ()
        return (*again, *skip, *leave)

    def _by_factor(self) -> dict[str, object]:
        return {**super()._by_factor(), "attach": self.attach}

    def _given_up(self, location: Location) -> bool:
        return failures_in_a_row(location.facts) > self.on_failure.after_retries

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        waits = self._waits(location)
        if waits in PENDING:
            stopped = _stopped(location.facts)
            calls = self.due_call(location, stopped=stopped)
            return (self._reply_task(location, stopped=stopped),) if calls is None else calls
        stops = waits == "failed" and self.on_failure.action == "stop" and self._given_up(location)
        if not stops or gives_back(_last_failed(location.facts)):
            return ()
        return (PendingTask("finish", location.path, {"outcome": "technical_failure"}),)

    def _reply_task(self, location: Location, *, stopped: bool) -> PendingTask:
        name, returned = self.replies(location), returned_messages(location.facts)
        held = [event for event in messages_of(location.facts) if event.seq not in returned]
        added = self.additions(location)
        said = prompt(location, name, held, problem_in_prompt=self.problem_in_prompt, additions=added)
        data = {
            "model": name,
            "messages": with_newest_pictures(said, self._limits.max_resent) if self.attach else said,
            "problem": location.shown_problem,
            **({"stopped": True} if stopped else {}),
        }
        data |= {**self.offered_tools(location), **self.reply_data(location)}
        return PendingTask("reply", location.path, data)

    def outcome_codes(self) -> Mapping[str, str]:
        return {"technical_failure": self.on_failure.stop_code} if self.on_failure.action == "stop" else {}

    def end_page(self, location: Location) -> EndPage:
        stopped = location.state.outcome == "technical_failure"
        return EndPage(text=self.on_failure.stop_text, code=self.on_failure.stop_code) if stopped else EndPage()

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        match action.kind:
            case "say":
                pictures = _unsent(location)
                message = self.message(location, action.data, self.max_chars, blank=bool(pictures))
                return (Fact("said", {**message, **({"pictures": pictures} if pictures else {})}),)
            case "attach" | "detach":
                return attached(_unsent(location), location.facts, action)
            case "allow" | "deny":
                return self.decided(location, action)
            case "rate":
                values = read_or_refuse(self.rating(location), action.data)
                return (Fact("rated", {"turn": count(location.facts, "replied") - 1, **values}),)
            case "retry" | "stop" | "skip" as done:
                return (Fact({"retry": "retried", "stop": "stopped", "skip": "skipped"}[done]),)
            case _:
                return (Fact("submitted", read_or_refuse(self.fields(location), action.data)),)

    def rates(self, location: Location, event: Event) -> Mapping[str, RatingSubject]:
        replies = [fact for fact in location.facts if fact.kind == "replied"]
        if event.kind != "rated" or not 0 <= event.data["turn"] < len(replies):
            return {}
        reply = replies[event.data["turn"]]
        return {name: rated_reply(name, location.facts, reply) for name in self.rate_each}


def _unsent(location: Location) -> tuple[Data, ...]:
    """The pictures that are attached to the next message."""
    return unsent_pictures(location.facts, returned_messages(location.facts))


def _scales(names: tuple[str, ...]) -> tuple[Scale, ...]:
    """The scales of these names; cached, as all screens have them in common."""
    return tuple(Scale.model_validate({"scale": name, "type": "scale"}) for name in names)


def _last_failed(events: Sequence[Event]) -> Event:
    *_, failed = (event for event in events if event.kind == "failed")
    return failed


def _stopped(events: Sequence[Event]) -> bool:
    return _last(events, "said", "retried", "stopped") == "stopped"


def _last(events: Sequence[Event], *kinds: str) -> str | None:
    for event in reversed(events):
        if event.kind in kinds:
            return event.kind
    return None

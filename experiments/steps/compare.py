"""Compare: two to four hidden models answer the same message side by side, and the participant votes.

Events: ordered (the drawn models, from left to right), opened, said, replied, written and failed (with their slot),
retried (with its slot), stopped (all replies in progress), voted, submitted. A message that a model refused, or whose
reply was stopped before its first word, is replaced by the next `said`. The models and their columns are drawn for each
conversation from the session's seed and the path. A vote is possible only when all models have replied. If a reply
failed, a retry requests all replies again that were stopped with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field as About
from pydantic import model_validator

from experiments.errors import Refused
from experiments.events import Action, Data, Event, Fact, PendingTask
from experiments.session import side_by_side as reading
from experiments.session.conversation import (
    MESSAGE_BOX,
    MESSAGE_CHARS,
    NO_OPENING,
    RETRIES,
    STOPPED,
    MessageChars,
    broken_off,
    chosen_text,
    count,
    cut,
    ended,
    failures_in_a_row,
    is_refusal,
    messages,
    messages_left,
    prompt,
    rated_reply,
    stopped_by_user,
    turn_of,
    why_unanswered,
)
from experiments.session.conversation_design import ConversationDesign, MessageLimits
from experiments.session.side_by_side import BAD, SLOTS, TIE, ComparisonRound, histories, models_by_slot, rounds, winner
from experiments.session.tool_calls import message_of, tool_rounds
from experiments.study.fields import Field, SingleChoice, Slider, TextField
from experiments.study.location import Location
from experiments.study.option_order import Draw
from experiments.study.problem_answer import OptionsStep
from experiments.study.screen import Block, ChatMessage, ChatView, Panel, ProblemBlock, ReplyView, RoundView
from experiments.study.sections.model_spec import Texts
from experiments.study.sections.recruitment import Paste
from experiments.study.step import RatingSubject, read_or_refuse, step

CALLED = "{{assistant_label}}"


@step
class CompareStep(ConversationDesign, OptionsStep):
    """A conversation with several models at once, each in its own column. Its `tools` must not change anything."""

    side_by_side: ClassVar[bool] = True

    step: Literal["compare"]
    text: str = ""
    """The instructions above the conversation, in Markdown."""
    models: Annotated[tuple[str, ...], About(max_length=100)] = ()
    """The models that can reply: names of the study's models, or factors and loops' variables (`{{model}}`). All of the
    study's models by default."""
    columns: Annotated[int, About(ge=2, le=4)] = 2
    """The number of models that reply, drawn anew for each conversation."""
    assistant_labels: Annotated[tuple[str, ...], About(min_length=2, max_length=4)] = ("A", "B", "C", "D")
    """The labels that participants see instead of the models' names, from left to right."""
    assistant_pictures: Annotated[tuple[Texts, ...], About(min_length=2, max_length=4)] | None = None
    """A picture beside each label, such as `![A blue robot](blue.png)`. None by default."""
    max_messages: Annotated[int, About(ge=1, le=100)] = 20
    """The maximum number of messages a participant can send."""
    min_messages: Annotated[int, About(ge=0, le=100)] = 1
    """The minimum number of messages before participants can end the conversation, unless a model has failed twice
    in a row."""
    max_chars: MessageChars = MESSAGE_CHARS
    """The maximum number of characters of each message."""
    vote: Literal["choice", "slider"] = "choice"
    """`choice`: a vote for one column, a tie, or none. `slider`: a number from 0 to 100 for each column."""
    vote_when: Literal["each_turn", "at_end"] = "each_turn"
    """`each_turn`: after each turn, before the next message. `at_end`: once, which ends the conversation."""
    continue_with: Literal["own", "winner"] = "own"
    """`own`: each model continues its own conversation. `winner`: after a vote for one column all continue that
    one."""
    question: str = "Which answer do you prefer?"
    """The text above the vote by choice."""
    better: str = "{{assistant_label}} is better"
    """The option for a column; `{{assistant_label}}` is the label of the column."""
    tie: str = "They are equally good"
    """The option for a tie."""
    bad: str = "None of them is good"
    """The option for none."""
    score: str = "How good is {{assistant_label}}'s answer?"
    """The text above the slider of a column."""
    worst: str = "Very bad"
    """The label of the slider's left end, which is 0."""
    best: str = "Very good"
    """The label of the slider's right end, which is 100."""
    problem_in_prompt: bool = False
    """True if the models' system prompts contain the problem."""
    no_reply_text: str = "No reply could be generated. Your message is saved."
    """The text in the column of a model that gave no reply."""
    copying: bool = True
    """True if participants can select and copy the problem's text."""
    paste: Paste | None = None
    """The effect of pasting into the message box: `allow`, `log` or `block`. The study's `paste` by default."""
    button: str = "End this conversation"
    """The label of the button that ends the conversation."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if len(self.assistant_labels) < self.columns:
            raise ValueError(f"`assistant_labels` has {len(self.assistant_labels)} names for {self.columns} columns")
        if self.assistant_pictures is not None and len(self.assistant_pictures) < self.columns:
            raise ValueError(f"`assistant_pictures` has {len(self.assistant_pictures)} for {self.columns} columns")
        if self.min_messages > self.max_messages:
            raise ValueError(f"min_messages {self.min_messages} is above max_messages {self.max_messages}")
        if self.continue_with == "winner" and self.vote_when == "at_end":
            raise ValueError("`continue_with: winner` needs a vote after each turn: `vote_when: each_turn`")
        return self

    @property
    def _slots(self) -> dict[str, str]:
        return dict(zip(SLOTS[: self.columns], self.assistant_labels, strict=False))

    def limits(self) -> MessageLimits:
        return MessageLimits(self.min_messages, self.max_messages, self.max_chars)

    def pictures(self) -> Mapping[str, Texts | None]:
        return {f"assistant_pictures[{at}]": text for at, text in enumerate(self.assistant_pictures or ())}

    def questions_asked(self) -> tuple[Field, ...]:
        if self.vote == "choice":
            return (SingleChoice(name="winner", text=self.question, options=self._choices()),)
        return (Slider(name="score", text=self.score, left=self.worst, right=self.best),)

    def _choices(self, say: Callable[[str], str] = str) -> dict[str, str]:
        votes = {slot: say(self.better).replace(CALLED, say(called)) for slot, called in self._slots.items()}
        return {**votes, TIE: self.tie, BAD: self.bad}

    def _ballot(self, location: Location) -> tuple[Field, ...]:
        (asked,) = self.questions_asked()
        if self.vote == "choice":
            options = self._choices(location.translate)
            return (asked.model_copy(update={"options": options}).filled(location.fill_markdown),)
        score, say = location.translate(self.score), location.translate
        texts = {slot: score.replace(CALLED, say(called)) for slot, called in self._slots.items()}
        columns = (asked.model_copy(update={"name": f"score_{slot}", "text": text}) for slot, text in texts.items())
        return tuple(column.filled(location.fill_markdown) for column in columns)

    def worded(self) -> tuple[Field, ...]:
        """Nothing: its questions are put together from its texts."""
        return ()

    def fields(self, location: Location) -> tuple[Field, ...]:
        return self._ballot(location) if "vote" in self.offers(location) else ()

    def boxes(self, fields: Sequence[Field]) -> tuple[TextField, ...]:
        return (*super().boxes(fields), TextField(name=MESSAGE_BOX, max_chars=self.max_chars, paste=self.paste))

    def orders(self, location: Location, draw: Draw) -> Data:
        names = [location.fill(name) for name in self.models] or list(location.study.file.models)
        columns = list(draw(names, f"{location.path}:columns"))[: self.columns]
        return {**super().orders(location, draw), "models": columns}

    def panel(self, location: Location) -> Panel:
        blocks: list[Block] = [*location.text_blocks(self.text)]
        if location.scope.problem:
            blocks.append(ProblemBlock(location.problem.text, copying=self.copying))
        found = rounds(location.facts)
        now = self._now(location, found)
        sent, left = _sent(found), self._left(location, found)
        refused = found[-1].said.data["text"] if found and found[-1].returned and left else ""
        chat = ChatView(
            title=", ".join(map(location.fill, self._slots.values())),
            messages=messages(location.facts),
            remaining=left,
            max_chars=self.max_chars,
            rating=self.fields(location),
            waiting=bool(self._waiting(now)),
            refused=str(refused),
            minimum=0 if _given_up(location) else min(self.min_messages, sent + left),
            paste=self.paste or location.study.file.paste,
            columns=self.columns,
            rounds=tuple(self._views(location, found)),
            **self.shown(location),
        )
        return Panel(self.title, tuple(blocks), (), chat, self.button)

    def _now(self, location: Location, rounds: Sequence[ComparisonRound]) -> reading.Replies | None:
        """The replies to the last message, or those by which the conversation is opened; None before any."""
        if rounds:
            return rounds[-1]
        return reading.opening_replies(location.facts) if self.opening(location) else None

    def _views(self, location: Location, rounds: Sequence[ComparisonRound]) -> Iterator[RoundView]:
        if self.opening(location):
            yield RoundView("", self._shown(location, reading.opening_replies(location.facts)))
        for one in rounds:
            yield RoundView(one.said.data["text"], self._shown(location, one), self._voted(location, one))

    def _shown(self, location: Location, comparison: reading.Replies) -> tuple[ReplyView, ...]:
        replies = []
        pictures = [chosen_text(location, one) for one in self.assistant_pictures or ()] or [""] * len(SLOTS)
        for (slot, called), picture in zip(self._slots.items(), pictures, strict=False):
            outcome = comparison.outcomes.get(slot)
            missing = outcome if outcome is not None and outcome.kind == "failed" else None
            failed = "" if missing is None else self._no_reply(location, missing)
            reply = comparison.reply(slot)
            text = reply.data["text"] if reply else broken_off(missing) if missing else ""
            how = ended(reply) if reply else "broken_off" if text else ""
            view = ReplyView(slot, location.fill(called), text, failed, outcome is None, how, picture)
            asked = self.approval(location, slot) if outcome is None and not comparison.stopped else None
            replies.append(replace(view, used=self._used(location, comparison, slot), approval=asked))
        return tuple(replies)

    def _used(self, location: Location, comparison: reading.Replies, slot: str) -> tuple[ChatMessage, ...]:
        """Return the messages of a column's model before it used tools, and the tools."""
        _, tools = self.tool_set(location)
        asked = comparison.said.seq if isinstance(comparison, ComparisonRound) else 0
        found = tool_rounds(location.facts, slot) if tools else ()
        used = (one.message(tools) for one in found if tools and message_of(location.facts, one) == asked)
        return tuple(one for one in used if one.text or one.steps)

    def _no_reply(self, location: Location, event: Event) -> str:
        if not count(location.facts, "said"):
            return NO_OPENING
        if is_refusal(event):
            return why_unanswered(event)
        return STOPPED if stopped_by_user(event) else location.fill(self.no_reply_text)

    def _voted(self, location: Location, comparison: ComparisonRound) -> str:
        if comparison.vote is None:
            return ""
        if self.vote == "choice":
            return location.fill(self._choices(location.translate)[winner(comparison.vote.data)])
        given = comparison.vote.data
        return ", ".join(f"{location.fill(called)}: {given[f'score_{slot}']}" for slot, called in self._slots.items())

    def _waiting(self, replies: reading.Replies | None) -> list[str]:
        return [slot for slot in self._slots if replies and slot not in replies.outcomes]

    def _failed(self, replies: reading.Replies | None) -> list[str]:
        return [slot for slot in self._slots if replies and replies.reply(slot) is None]

    def _stopped(self, replies: reading.Replies | None) -> list[str]:
        """The columns with replies that the participant stopped, with or without text."""
        outcomes = replies.outcomes if replies else {}
        return [slot for slot in self._slots if slot in outcomes and cut(outcomes[slot])]

    def offers(self, location: Location) -> tuple[str, ...]:
        found = rounds(location.facts)
        now = self._now(location, found)
        if now and self._waiting(now):
            decides = ("allow", "deny") if any(self.approval(location, slot) for slot in self._waiting(now)) else ()
            return () if now.stopped else (*decides, "stop")
        sent, left = _sent(found), self._left(location, found)
        enough = _given_up(location) or sent >= min(self.min_messages, sent + left)
        say, leave = ("say",) if left else (), ("submit",) if enough else ()
        if now and self._failed(now):
            return (*(say if now.returned else ("retry",)), *leave)
        if self.vote_when == "each_turn" and found and found[-1].vote is None:
            return ("vote",)
        end = "vote" if self.vote_when == "at_end" and found else "submit"
        return (*say, *((end,) if enough else ()))

    def _left(self, location: Location, rounds: Sequence[ComparisonRound]) -> int:
        return 0 if self.is_over(location) else messages_left(location, self.max_messages - _sent(rounds))

    def pending_tasks(self, location: Location) -> tuple[PendingTask, ...]:
        found = rounds(location.facts)
        now = self._now(location, found)
        waiting = self._waiting(now)
        if now is None or not waiting:
            return ()
        who, past = models_by_slot(location.facts), histories(found, list(self._slots))
        return tuple(
            task
            for slot in waiting
            for task in self._column_tasks(location, slot, who[slot], past[slot], stopped=now.stopped)
        )

    def _column_tasks(
        self, location: Location, slot: str, model: str, pairs: Sequence[reading.Pair], *, stopped: bool
    ) -> tuple[PendingTask, ...]:
        calls = self.due_call(location, slot, stopped=stopped)
        if calls is not None:
            return calls
        said = [event for pair in pairs for event in pair if event is not None]
        added = self.additions(location)
        messages = prompt(location, model, said, problem_in_prompt=self.problem_in_prompt, additions=added, slot=slot)
        stop = {"stopped": True} if stopped else {}
        data = {"model": model, "messages": messages, "problem": location.shown_problem, **stop}
        design = {**self.offered_tools(location, slot), **self.reply_data(location, slot)}
        return (PendingTask("reply", location.path, {**data, **design}, slot),)

    def decide(self, location: Location, action: Action) -> tuple[Fact, ...]:
        found = rounds(location.facts)
        match action.kind:
            case "say":
                return (Fact("said", self.message(location, action.data, self.max_chars)),)
            case "allow" | "deny":
                return self.decided(location, action, tuple(self._slots))
            case "stop":
                return (Fact("stopped"),)
            case "retry":
                return self._retried(self._now(location, found), action.data.get("slot"))
            case "vote":
                given = read_or_refuse(self._ballot(location), action.data)
                return self._vote(len(found) - 1, given)
            case _:
                return (Fact("submitted"),)

    def _retried(self, replies: reading.Replies | None, slot: Any) -> tuple[Fact, ...]:
        """Retry `slot`, or all failed ones; stopped ones too, as they must not be compared with a new reply."""
        failed, stopped = self._failed(replies), self._stopped(replies)
        if slot is not None and slot not in (*failed, *stopped):
            raise Refused("invalid", "No reply in that column can be requested again.")
        asked = {slot} if slot is not None else set(failed)
        return tuple(Fact("retried", {"slot": name}) for name in self._slots if name in asked | set(stopped))

    def _vote(self, turn: int, given: Mapping[str, Any]) -> tuple[Fact, ...]:
        best = winner(given)
        onward = {"onward": best} if self.continue_with == "winner" and best in SLOTS else {}
        end = (Fact("submitted"),) if self.vote_when == "at_end" else ()
        return (Fact("voted", {"turn": turn, **given, **onward}), *end)

    def rates(self, location: Location, event: Event) -> Mapping[str, RatingSubject]:
        found = rounds(location.facts)
        if event.kind != "voted" or not 0 <= event.data["turn"] < len(found):
            return {}
        turn, given = event.data["turn"], event.data
        rated = {"winner": given.get("winner", ""), **{f"score_{slot}": slot for slot in SLOTS}}
        return {name: self._rated(location, found[turn], name, slot) for name, slot in rated.items() if name in given}

    def _rated(self, location: Location, comparison: ComparisonRound, name: str, slot: str) -> RatingSubject:
        scale, reply = name.partition("_")[0], comparison.reply(slot)
        return (
            rated_reply(scale, location.facts, reply)
            if reply
            else RatingSubject(scale, location.path, turn_of(location.facts, comparison.said))
        )

    def references(self) -> Iterator[tuple[str, str]]:
        """`better` and `score` have a `{{assistant_label}}` of their own."""
        own = {name: getattr(self, name).replace(CALLED, "") for name in ("better", "score")}
        return super(CompareStep, self.model_copy(update=own)).references()

    def provides(self) -> tuple[str, ...]:
        """`winner`, the last vote by choice."""
        return ("winner",) if self.vote == "choice" else ()

    def asks_models(self, models: Sequence[str]) -> tuple[str, ...]:
        return self.models or tuple(models)

    def requires(self) -> frozenset[str]:
        """A problem, if it is in the prompts; a model, where one is drawn for the participant or the loop's turn."""
        model = {"model"} if any("{{model}}" in name.replace(" ", "") for name in self.models) else set()
        return frozenset(model | ({"problem"} if self.problem_in_prompt else set()))

    def faults(self, models: Sequence[str]) -> Sequence[str]:
        few = len(self.models or models) < self.columns
        return [f"has {len(self.models or models)} models for {self.columns} columns"] if few else []


def _sent(rounds: Sequence[ComparisonRound]) -> int:
    """Count the messages sent, without those given back."""
    return sum(not one.returned for one in rounds)


def _given_up(location: Location) -> bool:
    """Return True if a model gave no reply again after the participant's tries."""
    return failures_in_a_row(location.facts) > RETRIES

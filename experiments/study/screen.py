"""A participant's screen as plain values, which front ends render and simulated participants read. A screen contains
nothing that must stay hidden: no model names, no correct answers, no texts of later problems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from experiments.study.fields import DRAFT_CHARS, Field, draft_chars
from experiments.study.sections.recruitment import Paste
from problems import problem


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A text by the researcher, in Markdown."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class ProblemBlock:
    """The current problem; `options` are shown disabled if they are not a field of the form.

    `plain` and `plain_options` (by key) are without markup; participants do not see them. Simulated users read them, as
    ChatBench's do.
    """

    kind: ClassVar[str] = "problem"
    text: str
    options: tuple[tuple[str, str], ...] = ()
    copying: bool = True
    plain: str = ""
    plain_options: tuple[tuple[str, str], ...] = ()


# How an incomplete reply ended: `cut_off` at a limit of its length or time, `broken_off` by a failure, `stopped` by the
# participant, `expired` by a time limit of the study; empty if complete. A message of "You" is `unanswered` if it was
# given back.
TICKS = re.compile("`+")
WHY_CHARS = 500
# The name of a chat's next message in a draft, which no question has.
MESSAGE_DRAFT = "say:text"
# Those of a document that the server did not take: the version and text that it was made of, and its own text.
DOCUMENT_DRAFT = ("edit:version", "edit:base", "edit:text")
Ended = Literal["", "cut_off", "broken_off", "stopped", "expired", "unanswered"]


StepState = Literal["waiting", "running", "done", "failed", "refused", "not_made"]


@dataclass(frozen=True, slots=True)
class ToolStep:
    """A call of a tool as the participant sees it: `arguments` by name and the result are there only where the study
    shows them; `state` is `waiting`, `running`, `done`, `failed`, `refused`, or `not_made` if the reply ended first."""

    tool: str
    state: StepState
    arguments: tuple[tuple[str, str], ...] = ()
    result: str = ""
    why: str = ""
    """The participant's reason to allow or refuse it."""

    @property
    def as_text(self) -> str:
        """The shown parts, as a block of code in Markdown, in which nothing of it has a meaning."""
        shown = [f"{name}: {value}" for name, value in self.arguments]
        shown += [text for text in (self.result, self.why) if text]
        lines = "\n".join([f"{self.tool} ({self.state})", *shown])
        fence = "`" * max(3, 1 + max(map(len, TICKS.findall(lines)), default=0))
        return f"{fence}\n{lines}\n{fence}"


@dataclass(frozen=True, slots=True)
class Approval:
    """A call to allow, by a name that no other on the screen has; `again` if it may have been made already."""

    call: str
    step: ToolStep
    again: bool = False

    @property
    def draft(self) -> str:
        """The name of the reason for refusing it, while it is typed."""
        return f"why:{self.call}"


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture of a participant, by the hash of its content; width and height in pixels."""

    sha256: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Attachments:
    """Those of the next message, how many more can be, and the limits of a file in bytes, a picture in pixels."""

    pictures: tuple[ShownPicture, ...]
    left: int
    max_bytes: int
    max_side_px: int


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a conversation, with its sender as shown to the participant."""

    role: Literal["You", "Bot"]
    text: str
    ended: Ended = ""
    rated: tuple[str, ...] = ()
    """The points that the participant chose for this reply when it came, as texts."""
    steps: tuple[ToolStep, ...] = ()
    """The tools that the assistant used before its reply."""
    interim: bool = False
    """True for its text before it used tools, which is no reply yet."""

    @property
    def as_text(self) -> str:
        """Its text, and the tools used, where only text can be."""
        return "\n\n".join(filter(None, (self.text, *(step.as_text for step in self.steps))))

    pictures: tuple[ShownPicture, ...] = ()


@dataclass(frozen=True, slots=True)
class TranscriptBlock:
    """A finished conversation for review; `ratings[i]` are the fields that rate its i-th turn, if any.

    A turn is a message of "You" and what follows it. `you` and `bot` are the labels of the two; the title is the
    default for the latter. With `judged`, the last message is marked as the one that the form is about.
    """

    kind: ClassVar[str] = "transcript"
    title: str
    messages: tuple[ChatMessage, ...]
    problem: str = ""
    ratings: tuple[tuple[Field, ...], ...] = ()
    you: str = "You"
    bot: str = ""
    judged: bool = False
    own: bool = False
    """True for a conversation of the study, a problem's dialogue, and not one of this session."""


@dataclass(frozen=True, slots=True)
class NoticeBlock:
    """A notice about what happened before: a sentence, and the questions that it is about."""

    kind: ClassVar[str] = "notice"
    text: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A completion code and the link for it; `complete` if the study was completed."""

    kind: ClassVar[str] = "code"
    code: str
    url: str = ""
    complete: bool = True


@dataclass(frozen=True, slots=True)
class NextPartBlock:
    """A link to the page that says when the next wave of the study opens."""

    kind: ClassVar[str] = "next"
    url: str


Block = TextBlock | ProblemBlock | TranscriptBlock | NoticeBlock | CodeBlock | NextPartBlock


@dataclass(frozen=True, slots=True)
class ReplyView:
    """The content of a column (identified by slot) in a round: the reply, or why there is none yet."""

    slot: str
    called: str
    text: str = ""
    failed: str = ""
    waiting: bool = False
    ended: Ended = ""
    picture: str = ""
    used: tuple[ChatMessage, ...] = ()
    """The messages of its model before it used tools, and the tools."""
    approval: Approval | None = None


@dataclass(frozen=True, slots=True)
class RoundView:
    """The vote is a text once it is given; the message is empty where the assistants open."""

    message: str
    replies: tuple[ReplyView, ...]
    voted: str = ""


@dataclass(frozen=True, slots=True)
class ChatView:
    """A conversation; with `columns` one with several models, in `rounds`, where `rating` is the vote."""

    title: str
    messages: tuple[ChatMessage, ...]
    remaining: int
    max_chars: int
    rating: tuple[Field, ...] = ()
    waiting: bool = False
    failed: str = ""
    way_on: bool = False
    """True if the reply failed as often as the study allows, so that the screen can be left without it."""
    refused: str = ""
    """The message that was given back, while it can be changed and sent again."""
    minimum: int = 0
    columns: int = 0
    rounds: tuple[RoundView, ...] = ()
    paste: Paste = "allow"
    picture: str = ""
    """The assistant's picture, in Markdown."""
    suggestions: tuple[str, ...] = ()
    sends_suggestion: bool = False
    over: str = ""
    """The text for participants once the conversation has ended by itself."""
    may_end: bool = False
    """True if a rule may end the conversation before, so that nobody is told how many messages are left."""
    approval: Approval | None = None
    """The call of a tool that waits for the participant's decision."""
    delay_s: float = 0
    """The time for which a reply is held back on purpose."""
    attachments: Attachments | None = None
    """None where nothing can be attached."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots of the replies in progress; "" is the slot of a chat with a single model."""
        if self.columns:
            replies = (reply for round in self.rounds[-1:] for reply in round.replies)
            return tuple(reply.slot for reply in replies if reply.waiting and reply.approval is None)
        return ("",) if self.waiting and self.approval is None else ()

    @property
    def approvals(self) -> tuple[Approval, ...]:
        replies = (reply for round in self.rounds[-1:] for reply in round.replies)
        return tuple(one for one in (self.approval, *(reply.approval for reply in replies)) if one is not None)


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change to take back: the model's, one over others' words, or one that took such back (`undone`)."""

    version: int
    kind: Literal["model", "over", "over_model", "undone", "others_used"]
    removed: str
    added: str


@dataclass(frozen=True, slots=True)
class DocumentView:
    name: ClassVar[str] = "document"
    label: str
    text: str
    version: int
    max_chars: int
    min_words: int = 0
    markdown: bool = False
    paste: Paste = "allow"
    change: ChangeView | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """The content of a step's screen: text blocks, a form, perhaps a chat and a document, and the labels of its
    buttons."""

    title: str = ""
    blocks: tuple[Block, ...] = ()
    fields: tuple[Field, ...] = ()
    chat: ChatView | None = None
    button: str = "Continue"
    decline: str = ""
    """The label of a second button for not giving consent; no such button if it is empty."""
    document: DocumentView | None = None


@dataclass(frozen=True, slots=True)
class ProgressView:
    """The progress: a text ("Phase 2, question 3 of 9") and a share from 0 to 1."""

    words: str
    share: float


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a screen, in microseconds UTC; None if there is none. `more`: the time limit can be extended."""

    opens_us: int | None = None
    warns_us: int | None = None
    ends_us: int | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class HelpView:
    """The study's text about help, and what was asked and answered, each with whether it is the participant's own."""

    text: str
    messages: tuple[tuple[bool, str], ...]
    can_ask: bool = True


@dataclass(frozen=True, slots=True)
class Screen:
    """A participant's current screen: the panel of a step, its path, and the available actions."""

    path: str
    seen: int
    panel: Panel
    progress: ProgressView
    actions: tuple[str, ...]
    ended: bool = False
    outcome: str = ""
    """The outcome, if the session has ended."""
    timing: Timing | None = None
    """The time when the screen can be left, and when its time limit passes."""
    can_withdraw: bool = True
    """False if there is nothing of the participant's to delete: after a withdrawal or without consent."""
    help: HelpView | None = None


def dialogue(
    dialogue_messages: Sequence[problem.DialogueMessage], person: str, called: str, **more: Any
) -> TranscriptBlock:
    """A conversation between other people, labelled as `person` and `called`; the names in its source are not shown."""
    roles: dict[str, Literal["You", "Bot"]] = {"user": "You", "bot": "Bot"}
    messages = tuple(ChatMessage(roles[message.role], message.text) for message in dialogue_messages)
    return TranscriptBlock("The conversation", messages, you=person, bot=called, own=True, **more)


def fields_on_screen(screen: Screen) -> Iterator[Field]:
    """Every field on a screen: of its form, of the turns to rate, and of a chat's rating or vote."""
    yield from screen.panel.fields
    for block in screen.panel.blocks:
        if isinstance(block, TranscriptBlock):
            yield from (field for turn in block.ratings for field in turn)
    if screen.panel.chat is not None:
        yield from screen.panel.chat.rating


def typed(screen: Screen, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that belong to a screen: its fields, a chat's next message, reasons for refusing calls, and a document
    that was not taken."""
    room = {field.name: draft_chars(field) for field in fields_on_screen(screen)}
    if screen.panel.chat is not None:
        room |= dict.fromkeys((MESSAGE_DRAFT, *(one.draft for one in screen.panel.chat.approvals)), DRAFT_CHARS)
    if screen.panel.document is not None:
        room |= dict.fromkeys(DOCUMENT_DRAFT, DRAFT_CHARS)
    return {name: value for name, value in values.items() if len(str(value)) <= room.get(name, -1)}

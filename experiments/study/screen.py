"""What a participant sees, as values: any front end paints them, any bot reads them.

A screen holds nothing that is not due: no model's name, no right answer, no text of a problem to come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from experiments.study.fields import Field, draft_chars
from experiments.study.recruitment import Paste
from problems import problem


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A passage of the researcher's, in Markdown."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class ProblemBlock:
    """The problem being worked on; `options` are shown greyed where they are not a field of the form."""

    kind: ClassVar[str] = "problem"
    text: str
    options: tuple[tuple[str, str], ...] = ()
    copying: bool = True


Ended = Literal["", "cut_off", "stopped"]
"""How a reply ended that is not whole: at its model's limit, or by the participant's click."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation, as the participant knows its sender."""

    role: Literal["You", "Bot"]
    text: str
    ended: Ended = ""


@dataclass(frozen=True, slots=True)
class TranscriptBlock:
    """A finished conversation to look back on; `ratings[i]` are the fields that rate its i-th turn, if any.

    A turn is a message of "You" and what follows it. `you` and `bot` are what the two are called, the title standing
    in for the latter; with `judged` the last message is marked as what the form is about.
    """

    kind: ClassVar[str] = "transcript"
    title: str
    messages: tuple[ChatMessage, ...]
    problem: str = ""
    ratings: tuple[tuple[Field, ...], ...] = ()
    you: str = "You"
    bot: str = ""
    judged: bool = False


@dataclass(frozen=True, slots=True)
class NoticeBlock:
    """What has to be said about the answers that were given: a sentence, and the questions that it is about."""

    kind: ClassVar[str] = "notice"
    text: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A code, and where to take it; `complete` if it is that of the whole study done."""

    kind: ClassVar[str] = "code"
    code: str
    url: str = ""
    complete: bool = True


Block = TextBlock | ProblemBlock | TranscriptBlock | NoticeBlock | CodeBlock


@dataclass(frozen=True, slots=True)
class ReplyView:
    """What stands in a column of a round: the reply, or why there is none yet. Its slot says which column it is."""

    slot: str
    called: str
    text: str = ""
    failed: str = ""
    waiting: bool = False
    ended: Ended = ""


@dataclass(frozen=True, slots=True)
class RoundView:
    """A message with its replies side by side, and the vote in words once it is given."""

    message: str
    replies: tuple[ReplyView, ...]
    voted: str = ""


@dataclass(frozen=True, slots=True)
class ChatView:
    """The conversation beside the form: what was said, and what may be said next.

    With `columns` it is one with several at once, told round by round; `rating` is then the vote.
    """

    title: str
    messages: tuple[ChatMessage, ...]
    remaining: int
    max_chars: int
    rating: tuple[Field, ...] = ()
    waiting: bool = False
    failed: str = ""
    minimum: int = 0
    dollar_maths: bool = False
    columns: int = 0
    rounds: tuple[RoundView, ...] = ()
    paste: Paste = "allow"

    @property
    def slots(self) -> tuple[str, ...]:
        """The replies that are on their way; a chat with one at a time has no name for its own."""
        if self.columns:
            return tuple(reply.slot for round in self.rounds[-1:] for reply in round.replies if reply.waiting)
        return ("",) if self.waiting else ()


@dataclass(frozen=True, slots=True)
class Panel:
    """What one step puts on the screen: passages, a form, perhaps a chat, and the words of the buttons that end it."""

    title: str = ""
    blocks: tuple[Block, ...] = ()
    fields: tuple[Field, ...] = ()
    chat: ChatView | None = None
    button: str = "Continue"
    decline: str = ""
    """The words of a second button, by which people do not agree; none where it is empty."""


@dataclass(frozen=True, slots=True)
class ProgressView:
    """How far it is: words ("Phase 2, question 3 of 9") and a share of the whole, from 0 to 1."""

    words: str
    share: float


@dataclass(frozen=True, slots=True)
class Timing:
    """The times of a screen, in microseconds UTC; None where there is none. `more` says that time can be added."""

    opens_us: int | None = None
    warns_us: int | None = None
    ends_us: int | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class Screen:
    """A participant's present screen: a step's panel at its place, and the actions that are open."""

    path: str
    seen: int
    panel: Panel
    progress: ProgressView
    actions: tuple[str, ...]
    ended: bool = False
    outcome: str = ""
    """How the session ended, if it has."""
    timing: Timing | None = None
    """When the screen may be left, and when its time is over."""


def dialogue(said: Sequence[problem.DialogueMessage], person: str, called: str, **more: Any) -> TranscriptBlock:
    """A conversation between others: nobody is "You" in it, and what its source calls them is not told."""
    roles: dict[str, Literal["You", "Bot"]] = {"user": "You", "bot": "Bot"}
    messages = tuple(ChatMessage(roles[message.role], message.text) for message in said)
    return TranscriptBlock("The conversation", messages, you=person, bot=called, **more)


def asked(screen: Screen) -> Iterator[Field]:
    """Every field that a screen asks for: of its form, of turns to be rated, of a chat's rating or vote."""
    yield from screen.panel.fields
    for block in screen.panel.blocks:
        if isinstance(block, TranscriptBlock):
            yield from (field for turn in block.ratings for field in turn)
    if screen.panel.chat is not None:
        yield from screen.panel.chat.rating


def typed(screen: Screen, values: Mapping[str, Any]) -> dict[str, Any]:
    """What of a draft belongs to a screen: values of what it asks for, and a chat's next message as `text`, each up to
    twice as long as what could be sent, as one may still shorten it."""
    room = {field.name: 2 * draft_chars(field) for field in asked(screen)}
    if screen.panel.chat is not None:
        room["text"] = 2 * screen.panel.chat.max_chars
    return {name: value for name, value in values.items() if len(str(value)) <= room.get(name, -1)}

"""Conversations as the participant saw them, for researchers: turn by turn, with the models and the ratings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from experiments.events import Data, Event
from experiments.session.conversation import ended
from experiments.session.side_by_side import rounds
from experiments.session.state import Location
from experiments.study.fields import Field
from experiments.study.screen import ChatView, Panel, TranscriptBlock
from experiments.study.step import Step
from experiments.views.answers import AnswerView, answered

FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """A message of a conversation: `called` is its sender as shown to the participant, `model` the model that wrote it.

    `mark` is cut_off, stopped, expired or failed, or empty for a complete message. The text of a failed reply is its
    reason.
    """

    role: str
    called: str
    text: str
    at_us: int | None = None
    model: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """A message with its replies, the answers about it, and the vote as text."""

    lines: tuple[TranscriptLine, ...]
    answers: tuple[AnswerView, ...] = ()
    voted: str = ""


@dataclass(frozen=True, slots=True)
class ConversationView:
    """A conversation. `again`: it was shown for review, or is one of other people. `waiting`: a reply is in
    progress."""

    title: str
    turns: tuple[TranscriptTurn, ...]
    again: bool = False
    waiting: bool = False
    own: bool = False
    """Whether it is part of the study, a problem's dialogue."""

    @property
    def rated(self) -> bool:
        """Whether anything was answered about its turns."""
        return any(turn.answers for turn in self.turns)


def conversations_of(place: Location, panel: Panel, given: Data) -> tuple[ConversationView, ...]:
    """The conversations on a screen: those under review, with the answers given there, and the current one."""
    found = [_transcript(place, block, given) for block in panel.blocks if isinstance(block, TranscriptBlock)]
    if panel.chat is not None:
        held = _rounds(panel.chat, place.facts) if panel.chat.columns else _chat(place, panel.chat)
        found.append(ConversationView(panel.chat.title, held, waiting=panel.chat.waiting))
    return tuple(found)


def _transcript(place: Location, block: TranscriptBlock, given: Data) -> ConversationView:
    """The conversation in turns, each starting with a message of "You"; in one piece if nothing is rated."""
    called = {"You": block.you, "Bot": block.bot or block.title}
    lines = [TranscriptLine(said.role, called[said.role], said.text, mark=said.ended) for said in block.messages]
    starts = [number for number, line in enumerate(lines) if line.role == "You"] if block.ratings else []
    cuts = [*(starts if starts[:1] == [0] else [0, *starts]), len(lines)]
    parts = [tuple(lines[a:b]) for a, b in pairwise(cuts) if a < b]
    asked: list[tuple[Field, ...]] = [*([()] * (len(parts) - len(block.ratings))), *block.ratings]
    turns = (TranscriptTurn(part, answered(place, fields, given)) for part, fields in zip(parts, asked, strict=False))
    return ConversationView(block.title, tuple(turns), again=True, own=block.own)


def _chat(place: Location, chat: ChatView) -> tuple[TranscriptTurn, ...]:
    """The turns of a chat with replies and ratings; includes failed replies."""
    turns: list[tuple[list[TranscriptLine], list[AnswerView]]] = []
    replied: list[int] = []
    for event in place.facts:
        match event.kind:
            case "said":
                turns.append(([TranscriptLine("You", "You", event.data["text"], event.at_us)], []))
            case "replied" | "failed" if turns:
                replied += [len(turns) - 1] if event.kind == "replied" else []
                turns[-1][0].append(_reply(event, chat.title))
            case "rated" if 0 <= event.data["turn"] < len(replied):
                turns[replied[event.data["turn"]]][1].extend(answered(place, _reply_scales(place), event.data))
            case _:
                pass
    return tuple(TranscriptTurn(tuple(lines), tuple(answers)) for lines, answers in turns)


def _reply_scales(place: Location) -> tuple[Field, ...]:
    asked = place.node.questions_asked() if isinstance(place.node, Step) else ()
    return tuple(field.filled(place.fill) for field in asked if field.name != "answer")


def _reply(event: Event, called: str) -> TranscriptLine:
    model = str(event.data.get("model", ""))
    if event.kind == "failed":
        return TranscriptLine("Bot", called, str(event.data.get("reason", "")), event.at_us, model, FAILED)
    return TranscriptLine("Bot", called, event.data["text"], event.at_us, model, ended(event))


def _rounds(chat: ChatView, facts: Sequence[Event]) -> tuple[TranscriptTurn, ...]:
    """The rounds of a conversation with several models; replies are labelled by their column."""
    turns = []
    for recorded, shown in zip(rounds(facts), chat.rounds, strict=True):
        said = TranscriptLine("You", "You", recorded.said.data["text"], recorded.said.at_us)
        outcomes = [(recorded.outcomes.get(reply.slot), reply.called) for reply in shown.replies]
        replies = (_reply(outcome, called) for outcome, called in outcomes if outcome is not None)
        turns.append(TranscriptTurn((said, *replies), voted=shown.voted))
    return tuple(turns)

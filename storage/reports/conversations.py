"""The finished conversations of any study and origin, one after another.

A conversation is where something was said: a chat, a column of models side by side, or an imported row of ChatBench's
or MathConverse's release. It is finished when its screen was left or its session has ended. Of excluded sessions and of
those that withdrew there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from sqlalchemy import Connection, select

from experiments.events import Data, Event
from experiments.session.annotations import ANNOTATED, ConversationRef, latest_annotations
from experiments.session.conversation import is_by_model, messages_of
from experiments.session.side_by_side import histories, models_by_slot, rounds
from experiments.session.state import visited
from experiments.study.location import Location, State
from experiments.study.study import Study
from experiments.views.tool_use import seen_before
from problems.problem import DialogueMessage
from storage import tables
from storage.columns import literal
from storage.db.engine import Database
from storage.log.event_log import facts
from storage.log.folded_sessions import folded_sessions
from storage.log.seats import sessions_left_out
from storage.registers.imported_rows import recorded_rows, rows_of_events
from storage.registers.origins import Origin, origins
from storage.registers.study_status import study_stream
from storage.schemas.base import ReleasedRow

Talk = tuple[DialogueMessage, ...]
LETTERS = "ABCD"
# How MathConverse's release begins each message, and its two columns of them.
ENDS = (("User: ", "AI:"), ("human_interactions", "model_responses"))
_fact, _session, _seat = tables.events.c, tables.sessions.c, tables.seats.c


@dataclass(frozen=True, slots=True)
class ConversationProblem:
    """A problem as shown (of pictures the alternative texts); options, right and chosen one by letters shown."""

    text: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    right: str | None = None
    chosen: str | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    """The keys of the options by these letters, where their order was drawn."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a stream; all of a session's together where it is about no one place."""

    stream: str
    about: ConversationRef
    talks: tuple[Talk, ...]
    question: ConversationProblem = ConversationProblem()
    factors: Mapping[str, str] = field(default_factory=dict)
    """The participant's factors with their values; of an imported conversation none are known."""
    models: tuple[str, ...] = ()
    pictures: tuple[Data, ...] = ()
    """The facts about the pictures that the participant sent."""

    @property
    def said(self) -> Talk:
        return tuple(message for talk in self.talks for message in talk)


def origin_of(database: Database, study: str, wanted: str | None) -> str:
    """Raises StorageError if the study has no such sessions."""
    with database.connect() as connection:
        return origins(connection, study, wanted)[0]


def picture_note(picture: Data) -> str:
    return f"[Picture, {picture['width']} x {picture['height']} pixels]"


PictureText = Callable[[Data], str]


def conversations(
    database: Database, study: str, origin: str, *, whole: bool = False, picture_text: PictureText = picture_note
) -> Iterator[Conversation]:
    """The finished ones, with `whole` each session's as one; `picture_text` is what a message says of its pictures."""
    for held in _sessions(database, study, origin, picture_text):
        if whole and held:
            yield replace(
                held[0],
                about=ConversationRef(),
                talks=tuple(one.talks[0] for one in held),
                pictures=tuple(picture for one in held for picture in one.pictures),
                models=tuple(dict.fromkeys(model for one in held for model in one.models)),
                question=ConversationProblem(),
            )
        elif not whole:
            yield from held


def _sessions(database: Database, study: str, origin: str, picture_text: PictureText) -> Iterator[list[Conversation]]:
    if origin != Origin.IMPORT:
        for session in folded_sessions(database, study, (origin,), sessions_left_out(study, origin)):
            yield list(_own_conversations(session.study, session.state, session.stream, picture_text))
        return
    out = select(_seat.stream).where(_seat.study == study, _seat.excluded.is_not(None))
    query = select(_session.stream).where(_session.study == study, _session.origin == origin)
    with database.connect() as connection:
        known = _questions(connection, study)
        wanted = connection.execute(query.where(_session.stream.not_in(out)).order_by(_session.ordinal)).scalars().all()
    for stream in wanted:
        with database.connect() as connection:
            yield list(_imported(stream, facts(connection, stream), known))


def _own_conversations(study: Study, state: State, stream: str, picture_text: PictureText) -> Iterator[Conversation]:
    for place in visited(study, state):
        if place.done() or state.outcome:
            for slot, talk in _talks(place, picture_text):
                yield _conversation(place, slot, talk, stream)


def conversation_at(location: Location, slot: str, stream: str) -> Conversation:
    return _conversation(location, slot, dict(_talks(location, picture_note))[slot], stream)


def _conversation(location: Location, slot: str, talk: Talk, stream: str) -> Conversation:
    about, models = ConversationRef(location.path, slot), tuple(_models(location.facts, slot))
    pictures = tuple(one for event in messages_of(location.facts) for one in event.data.get("pictures", ()))
    return Conversation(stream, about, (talk,), _problem_of(location), location.state.factors, models, pictures)


def _models(events: Sequence[Event], slot: str) -> Iterator[str]:
    replied = (event.data for event in events if is_by_model(event) and event.data.get("slot", "") == slot)
    return iter(dict.fromkeys(str(data["model"]) for data in replied if data.get("model")))


def _talks(location: Location, picture_text: PictureText) -> Iterator[tuple[str, Talk]]:
    """The talks by column, if several are side by side; what was shown of tools is above the reply that used them."""
    events, seen = location.facts, seen_before(location)

    def message(event: Event) -> DialogueMessage:
        pictures = map(picture_text, event.data.get("pictures", ()))
        text = "\n\n".join(filter(None, (seen.get(event.seq), *pictures, event.data["text"])))
        return DialogueMessage("user" if event.kind == "said" else "bot", text)

    slots = tuple(models_by_slot(events)) if any("slot" in event.data for event in messages_of(events)) else ()
    for slot, pairs in histories(rounds(events), slots).items() if slots else ():
        if pairs:
            yield slot, tuple(message(event) for pair in pairs for event in pair if event is not None)
    if not slots and (said := messages_of(events)):
        yield "", tuple(map(message, said))


def _problem_of(location: Location) -> ConversationProblem:
    problem = location.shown_problem
    if problem is None:
        return ConversationProblem()
    chosen = next((event.data.get("answer") for event in location.facts if event.kind == "submitted"), None)
    read = location.study.described
    options = {option.key: read(option.text) for option in problem.options}
    letter = None if chosen is None else location.letter(str(chosen))
    keys = dict(zip(options, location.option_keys, strict=False))
    return ConversationProblem(read(problem.text), options, problem.answer, letter, keys)


def _imported(
    stream: str, events: Sequence[Event], problems: Mapping[str, ConversationProblem]
) -> Iterator[Conversation]:
    for seq, row in rows_of_events(events).items():
        talk = _released(row)
        if talk:
            question = problems.get(str(row.values.get("question_id")), ConversationProblem())
            chosen = row.values.get("selected_answer")
            yield Conversation(stream, ConversationRef(of=seq), (talk,), replace(question, chosen=chosen))


def _released(row: ReleasedRow) -> Talk:
    """The messages of a row of a release; none where its table holds no conversations."""
    match row.table:
        case "conversations":
            said = orjson.loads(row.values["chat_history"] or "[]")
            return tuple(DialogueMessage("user" if one["role"] == "You" else "bot", one["content"]) for one in said)
        case "mathconverse_interactions":
            starts, names = ENDS
            pairs = zip(*(literal(row.values[name]) for name in names), strict=False)
            return tuple(
                DialogueMessage("bot" if number else "user", text.removeprefix(starts[number]).strip())
                for pair in pairs
                for number, text in enumerate(pair)
            )
        case _:
            return ()


def _questions(connection: Connection, study: str) -> dict[str, ConversationProblem]:
    rows = (row for row in recorded_rows(connection, study_stream(study)) if row.table == "questions")
    return {str(row.values["question_id"]): _question(row.values) for row in rows}


def _question(values: Mapping[str, Any]) -> ConversationProblem:
    def shown(name: str) -> str:
        return str(values[f"{name}_formatted"] or values[name] or "")

    options = {letter: shown(f"option_{letter}") for letter in LETTERS}
    return ConversationProblem(
        shown("question"), {key: text for key, text in options.items() if text}, values["answer"]
    )


Found = Mapping[tuple[str, ConversationRef], Event]


def annotated_in(database: Database, study: str, annotator: str, model: str | None = None) -> Found:
    """The newest finding of an annotator about each conversation of a study, by its stream; of one model if named."""
    joined = select(_fact.stream, *tables.EVENT).join(tables.sessions, _session.stream == _fact.stream)
    query = joined.where(_session.study == study, _fact.kind == ANNOTATED).order_by(_fact.stream, _fact.seq)
    with database.connect() as connection:
        rows = connection.execute(query).all()
    by_stream: dict[str, list[Event]] = {}
    for stream, *rest in rows:
        by_stream.setdefault(stream, []).append(Event(*rest))
    return {
        (stream, it): event
        for stream, annotations in by_stream.items()
        for (name, it), event in latest_annotations(annotations, model).items()
        if name == annotator
    }


def among(conversations: Iterable[Conversation], annotated: Found) -> Iterator[tuple[Conversation, Event]]:
    return ((one, annotated[one.stream, one.about]) for one in conversations if (one.stream, one.about) in annotated)

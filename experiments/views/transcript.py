"""The transcript of a session: the participant's screens and acts, step by step, from the study and the events alone.

A visit is a step that was reached, with the pages that were left there one after another (the pages of a text, the
attempts of a check), each as it was before it was left. The cost is linear in the number of events: the location before
each event is looked up among the locations visited in the end, and no prefix of the events is walked again.

The transcript has data that participants never see, such as the models that replied and the correct answers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any

from experiments.events import GIVEN, NOTES, Data, Event
from experiments.session.annotations import ANNOTATED
from experiments.session.conversation import ended, shown_pictures
from experiments.session.desk import is_ended_by_researcher
from experiments.session.document import EDITED, Document, splice
from experiments.session.engine import apply, fold, pending_tasks, screen
from experiments.session.fidelity import CHECKED
from experiments.session.reminders import REMINDED
from experiments.session.side_by_side import ComparisonRound, opening_replies, rounds
from experiments.session.state import current_location, visited
from experiments.session.timing import LEAVING_EVENTS, shown_us
from experiments.study.fields import Field
from experiments.study.location import Location, State, language_of
from experiments.study.screen import ChatView, DocumentView, Panel, Screen, ShownPicture, TranscriptBlock
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.views.answers import AnswerView, answered, given_by
from experiments.views.tool_use import ToolUse, tool_uses

FAILED = "failed"


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    """`called` is its sender as shown. `mark` is cut_off, stopped, expired, failed or empty. A failed reply has its
    reason as text, the call of a tool (`use`) what the model read of its result."""

    role: str
    called: str
    text: str
    at_us: int | None = None
    model: str = ""
    mark: str = ""
    use: ToolUse | None = None
    pictures: tuple[ShownPicture, ...] = ()


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    lines: tuple[TranscriptLine, ...]
    answers: tuple[AnswerView, ...] = ()
    voted: str = ""


@dataclass(frozen=True, slots=True)
class ConversationView:
    """`again`: shown for review, or one of other people. `waiting`: a reply is in progress."""

    title: str
    turns: tuple[TranscriptTurn, ...]
    again: bool = False
    waiting: bool = False
    own: bool = False
    """True if it is part of the study, a problem's dialogue."""
    document: bool = False
    """True if its lines are changes of a document."""

    @property
    def rated(self) -> bool:
        return any(turn.answers for turn in self.turns)


def conversations_of(location: Location, panel: Panel, given: Data) -> tuple[ConversationView, ...]:
    """The conversations on a screen: those under review, with the answers given there, and the current one."""
    found = [_transcript(location, block, given) for block in panel.blocks if isinstance(block, TranscriptBlock)]
    if panel.chat is not None:
        held = _rounds(panel.chat, location.facts) if panel.chat.columns else _chat(location, panel.chat)
        found.append(ConversationView(panel.chat.title, held, waiting=panel.chat.waiting))
    if panel.document is not None:
        label, name, turns = panel.document.label, panel.document.name, [*_changes(panel.document, location.facts)]
        if name in given:
            final = AnswerView(name, label, (given[name],), given[name])
            turns.append(TranscriptTurn((), (final,)))
        found.append(ConversationView(label, tuple(turns), document=True))
    return tuple(found)


def _changes(view: DocumentView, events: Sequence[Event]) -> Iterator[TranscriptTurn]:
    """Yield the changes of a document: a turn for those of one author before the other's."""
    edits = tuple(event for event in events if event.kind == EDITED)
    document = Document("", edits, view.text)
    for by, group in groupby(edits, key=lambda event: event.by):
        *_, last = own = list(group)
        change = splice(document.text_at(own[0].data["version"] - 1), document.text_at(last.data["version"]))
        text = "\n\n".join(f"{sign} {part}" for sign, part in (("−", change.removed), ("+", change.added)) if part)
        role, called = ("Bot", "Model") if by == "model" else ("You", "You")
        yield TranscriptTurn((TranscriptLine(role, called, text, last.at_us),))


def _transcript(location: Location, block: TranscriptBlock, given: Data) -> ConversationView:
    """The conversation in turns, each starting with a message of "You"; in one piece if nothing is rated."""
    called = {"You": block.you, "Bot": block.bot or block.title}
    said = (message for message in block.messages if message.text or not message.interim)
    lines = [
        TranscriptLine(one.role, called[one.role], one.text, mark=one.ended, pictures=one.pictures) for one in said
    ]
    starts = [number for number, line in enumerate(lines) if line.role == "You"] if block.ratings else []
    cuts = [*(starts if starts[:1] == [0] else [0, *starts]), len(lines)]
    parts = [tuple(lines[a:b]) for a, b in pairwise(cuts) if a < b]
    asked: list[tuple[Field, ...]] = [*([()] * (len(parts) - len(block.ratings))), *block.ratings]
    turns = (
        TranscriptTurn(part, answered(location, fields, given)) for part, fields in zip(parts, asked, strict=False)
    )
    return ConversationView(block.title, tuple(turns), again=True, own=block.own)


def _chat(location: Location, chat: ChatView) -> tuple[TranscriptTurn, ...]:
    """The turns of a chat with replies and ratings; includes failed replies."""
    turns: list[tuple[list[TranscriptLine], list[AnswerView]]] = []
    replied: list[int] = []
    uses = tool_uses(location.facts)
    for event in location.facts:
        match event.kind:
            case "said":
                pictures = shown_pictures(event.data)
                turns.append(([TranscriptLine("You", "You", event.data["text"], event.at_us, pictures=pictures)], []))
            case "opened" | "replied" | "failed":
                turns += [([], [])] if not turns else []
                replied += [len(turns) - 1] if event.kind == "replied" else []
                turns[-1][0].append(_reply(event, chat.title))
            case "called":
                turns += [([], [])] if not turns else []
                turns[-1][0].extend(_used([use for use in uses if use.called.seq == event.seq], chat.title))
            case "rated" if 0 <= event.data["turn"] < len(replied):
                turns[replied[event.data["turn"]]][1].extend(answered(location, _reply_scales(location), event.data))
            case _:
                pass
    return tuple(TranscriptTurn(tuple(lines), tuple(answers)) for lines, answers in turns)


def _reply_scales(location: Location) -> tuple[Field, ...]:
    asked = location.node.questions_asked() if isinstance(location.node, Step) else ()
    return tuple(field.filled(location.fill_markdown) for field in asked if field.name != "answer")


def _reply(event: Event, called: str) -> TranscriptLine:
    model = str(event.data.get("model", ""))
    if event.kind == "failed":
        return TranscriptLine("Bot", called, str(event.data.get("reason", "")), event.at_us, model, FAILED)
    return TranscriptLine("Bot", called, event.data["text"], event.at_us, model, ended(event))


def _used(uses: Sequence[ToolUse], called: str) -> Iterator[TranscriptLine]:
    """Yield a model's message before it asked for tools, if there is one, and each call."""
    for number, use in enumerate(uses):
        model, text = str(use.called.data["model"]), str(use.called.data.get("text", ""))
        if text and (number == 0 or uses[number - 1].called != use.called):
            yield TranscriptLine("Bot", called, text, use.called.at_us, model)
        at_us = use.call.events[-1].at_us if use.call.events else None
        yield TranscriptLine("Tool", use.call.tool, str(use.result.get("text", "")), at_us, model, use=use)


def _rounds(chat: ChatView, events: Sequence[Event]) -> tuple[TranscriptTurn, ...]:
    """The rounds of a conversation with several models; replies are labelled by their column."""
    turns, uses = [], tool_uses(events)
    opened = [opening_replies(events)] if chat.rounds and not chat.rounds[0].message else []
    for recorded, shown in zip((*opened, *rounds(events)), chat.rounds, strict=True):
        said = recorded.said if isinstance(recorded, ComparisonRound) else None
        message = [TranscriptLine("You", "You", said.data["text"], said.at_us)] if said else []
        asked = said.seq if said else 0
        lines = list[TranscriptLine]()
        for reply in shown.replies:
            own = [use for use in uses if (use.slot, use.message) == (reply.slot, asked)]
            lines += _used(own, reply.called)
            outcome = recorded.outcomes.get(reply.slot)
            lines += [_reply(outcome, reply.called)] if outcome is not None else []
        turns.append(TranscriptTurn((*message, *lines), voted=shown.voted))
    return tuple(turns)


OVER = LEAVING_EVENTS | {"declined", "finished"}
PAGES = OVER | {"turned", "missed"}
WORDS: Mapping[str, str] = {
    "enrolled": "session started",
    "assigned": "condition assigned",
    "drawn": "problems drawn",
    "ordered": "order drawn",
    "turned": "page turned",
    "submitted": "answers submitted",
    "missed": "check failed",
    "declined": "consent declined",
    "opened": "conversation opened by the assistant",
    "attached": "picture attached to the next message",
    "detached": "attached picture removed",
    "said": "message sent",
    "called": "tools asked for",
    "allowed": "call of a tool allowed",
    "denied": "call of a tool refused",
    "calling": "call of a tool begun",
    "returned": "call of a tool returned",
    "interrupted": "call of a tool interrupted",
    "edited": "document changed",
    "written": "reply written, not all shown yet",
    "replied": "reply received",
    "failed": "reply failed",
    "retried": "reply requested again",
    "stopped": "reply stopped",
    "rated": "rating submitted",
    "voted": "vote submitted",
    "skipped": "problem skipped",
    "extended": "time extended",
    "expired": "time ran out",
    "finished": "session ended",
    "withdrew": "participant withdrew",
    "noted": "note added",
    "flagged": "flag set",
    "annotated": "annotated by a model",
    "fidelity_checked": "reply checked by a rule",
    "withheld": "reply withheld by a rule",
    "recalled": "earlier waves recalled",
    "remembered": "memory put into the prompts",
    "proposed": "statements proposed by a model",
    "excluded": "session excluded",
    "included": "session included again",
    "paid": "payment recorded",
    "asked_for_help": "help asked for",
    "helped": "request for help answered",
    "time_given": "time given by a researcher",
    "subscribed": "asked to be reminded",
    "unsubscribed": "wants no more reminders",
    "reminder_sent": "reminder sent",
    "reminder_failed": "reminder failed",
}


@dataclass(frozen=True, slots=True)
class TranscriptRemark:
    """A note, a flag, an exclusion or an annotation; `who` is the researcher or the model, if recorded."""

    seq: int
    at_us: int
    kind: str
    text: str
    who: str = ""
    calm: bool = False
    """True for a verdict of `fidelity` that a rule was kept."""


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A page before an event of this kind left it (empty: the current one); `talks` have answers about turns."""

    screen: Screen
    kind: str
    at_us: int | None
    answers: tuple[AnswerView, ...] = ()
    talks: tuple[ConversationView, ...] = ()


@dataclass(frozen=True, slots=True)
class StepVisit:
    """A step that was reached: its pages, and when it was first shown and left (None if it is current)."""

    path: str
    step: str
    pages: tuple[VisitedPage, ...]
    shown_us: int
    left_us: int | None
    since_us: int
    """The time since the step before it was shown; 0 for the first step."""
    remarks: tuple[TranscriptRemark, ...] = ()

    @property
    def title(self) -> str:
        return self.pages[-1].screen.panel.title

    @property
    def stayed_us(self) -> int | None:
        """None if the screen is current."""
        return None if self.left_us is None else self.left_us - self.shown_us


@dataclass(frozen=True, slots=True)
class SessionTranscript:
    """A whole session. `last` is its last page, if it has ended; `remarks` are those made after the end."""

    begun_us: int
    language: str
    factors: Mapping[str, str]
    outcome: str
    visits: tuple[StepVisit, ...] = ()
    last: Screen | None = None
    remarks: tuple[TranscriptRemark, ...] = ()


@dataclass(slots=True)
class _Stay:
    step: str
    shown_us: int
    pages: list[VisitedPage] = field(default_factory=list)
    left: Event | None = None
    told: int = 0
    """The number of the step's events that the pages cover so far."""


def transcript_of(study: Study, events: Iterable[Event]) -> SessionTranscript:
    """The transcript of a session; without visits if it is withdrawn."""
    final = fold(events)
    noted = (event for event in final.events if event.kind in NOTES | {"withdrew"} or is_ended_by_researcher(event))
    said = [remark(study, event) for event in noted]
    known = SessionTranscript(
        begun_us=final.events[0].at_us if final.events else 0,
        language=language_of(study, final),
        factors=final.factors,
        outcome=final.outcome,
        last=screen(study, final) if final.outcome else None,
    )
    stays = _stays(study, final) if final.outcome != "withdrawn" else {}
    visits = tuple(_visits(stays, said))
    remarks = sum(len(visit.remarks) for visit in visits)
    return replace(known, visits=visits, remarks=tuple(said[remarks:]))


def _stays(study: Study, final_state: State) -> dict[str, _Stay]:
    """The steps that were shown, by path, in order."""
    places = {place.path: place for place in visited(study, final_state)}
    found: dict[str, _Stay] = {}
    state = State()
    for event in final_state.events:
        if event.kind in PAGES and event.path in places:
            _add_page(study, found, replace(places[event.path], state=state), event)
        state = apply(state, event)
    now = current_location(study, final_state)
    assigned = final_state.seq > 0 and not any(job.kind == "assign" for job in pending_tasks(study, final_state))
    if now is not None and assigned and not final_state.outcome:
        _add_page(study, found, now, None)
    return {path: stay for path, stay in found.items() if stay.pages}


def _add_page(study: Study, stays: dict[str, _Stay], location: Location, event: Event | None) -> None:
    """Add the page that an event left, or the current page. A step that is over at once was never shown."""
    if not isinstance(location.node, Step):
        return
    stay = stays.setdefault(location.path, _Stay(location.node.step, shown_us(location)))
    new = location.facts[stay.told :]
    if new or not any(job.kind == "finish" for job in location.node.pending_tasks(location)):
        stay.pages.append(_page(study, location, event))
    stay.told = len(location.facts) + 1
    if event is not None and event.kind in OVER:
        stay.left = event


def _page(study: Study, location: Location, event: Event | None) -> VisitedPage:
    shown = screen(study, location.state)
    panel, given = shown.panel, given_by(event)
    rated = {
        item.name
        for block in panel.blocks
        if isinstance(block, TranscriptBlock)
        for one in block.ratings
        for item in one
    }
    answers = answered(location, [item for item in panel.fields if item.name not in rated], given)
    kind, at_us = (event.kind, event.at_us) if event else ("", None)
    return VisitedPage(shown, kind, at_us, answers, conversations_of(location, panel, given))


def _visits(stays: Mapping[str, _Stay], transcript_remarks: Sequence[TranscriptRemark]) -> Iterator[StepVisit]:
    before_us, first = None, 0
    for path, stay in stays.items():
        until = (
            len(transcript_remarks)
            if stay.left is None
            else bisect_left(transcript_remarks, stay.left.seq, key=lambda one: one.seq)
        )
        since_us = 0 if before_us is None else stay.shown_us - before_us
        left_us = stay.left.at_us if stay.left else None
        remarks = tuple(transcript_remarks[first : max(first, until)])
        yield StepVisit(path, stay.step, tuple(stay.pages), stay.shown_us, left_us, since_us, remarks)
        before_us, first = stay.shown_us, max(first, until)


def remark(study: Study, event: Event) -> TranscriptRemark:
    data = event.data
    if event.kind == REMINDED:
        return TranscriptRemark(event.seq, event.at_us, event.kind, _reminder(study, data))
    if event.kind == ANNOTATED:
        said = f"{data['annotator']}: {_in_words(data['values'])}"
        return TranscriptRemark(event.seq, event.at_us, event.kind, said, str(data["model"]))
    if event.kind == CHECKED:
        kept = {True: "kept", False: "broken", None: "not known"}[data["kept"]]
        found = data.get("missing") or ("" if isinstance(data["value"], bool) else data["value"])
        said = f"{data['rule']}: {kept}, turn {data['turn']}" + (f" ({found})" if found not in ("", None) else "")
        return TranscriptRemark(event.seq, event.at_us, event.kind, said, str(data["model"]), data["kept"] is True)
    named = ("kind", "channel", "cause", "text", "failed", "why", "what", "outcome", "words")
    parts = [_in_words(data[name]) for name in named if data.get(name)]
    parts += [f"{data['seconds'] // 60:,} minutes"] if event.kind == GIVEN else []
    return TranscriptRemark(event.seq, event.at_us, event.kind, ": ".join(parts), str(data.get("who", "")))


def _reminder(study: Study, data: Data) -> str:
    (wave,) = (one.wave for one in study.waves if one.id == data["wave"])
    again = ", invited again" if data["round"] > 1 else ""
    return f"of {wave} ({data['kind']}{again}) by {data['channel']}"


def _in_words(value: Any) -> str:
    """A value as researchers read it: of JSON, as models and the log have it."""
    match value:
        case None:
            return "no value"
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return "; ".join(f"{name}: {_in_words(part)}" for name, part in value.items())
        case list() | tuple():
            return ", ".join(map(_in_words, value)) or "none"
        case _:
            return str(value)


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    number: int
    at_us: int
    since_us: int
    words: str
    by: str
    path: str


def timeline(study: Study, events: Sequence[Event]) -> tuple[TimelineEntry, ...]:
    begun_us = events[0].at_us if events else 0
    return tuple(
        TimelineEntry(number, event.at_us, event.at_us - begun_us, _words(study, event), event.by, event.path)
        for number, event in enumerate(events, 1)
    )


def _words(study: Study, event: Event) -> str:
    return f"reminded {_reminder(study, event.data)}" if event.kind == REMINDED else WORDS.get(event.kind, event.kind)


def state_at(events: Sequence[Event], number: int) -> State:
    return fold(events[: max(0, number)])

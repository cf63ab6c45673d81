"""A Screen painted: what each component of the page becomes. Pure: the same screen gives the same painting.

A part of the page that the browser already shows is not painted again, so that a half-filled form or a half-written
message is never wiped when a reply arrives. The browser says what it shows by handing back `shown`, which it need not
understand. Nothing goes out that is not in the Screen, and every text passes through markdown.py or autoescape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.web.participant.forms import FieldView, groups, view_of
from app.web.participant.study_context import StudyLook, labels, page_words
from app.web.participant.templates import MARK_CHARS, NOTHING, Draft, Part, digest_of
from experiments.study.fields import Field
from experiments.study.recruitment import Paste
from experiments.study.screen import Asked, Chat, Screen, Timing, Transcript

Update = Mapping[str, Any]


class Painting(NamedTuple):
    """What the page becomes: updates by component, and the few things that page.js has to know."""

    path: str
    seen: int
    marks: Mapping[str, str]
    """The content of each part, by a name that tells nothing; `shown` is all of them."""
    actions: tuple[str, ...]
    updates: Mapping[str, Update]
    layout: str
    """"chat" with a conversation beside the form, "compare" with several models at once, or "page"."""
    said: int
    """How many messages were sent."""
    slots: tuple[str, ...]
    """The replies that are on their way, each to be read from a stream of its own."""
    ended: bool
    look: StudyLook
    fresh: bool
    """Whether the page has just been loaded, and speaks English yet."""
    timing: Timing
    paste: Paste
    """What pasting into the message box does."""
    note: str
    faults: Mapping[str, str]
    now_us: int
    """What time it is for the server, from which the page counts."""

    def as_json(self) -> dict[str, Any]:
        """The response of the participant API to look and act."""
        say = self.look.words
        return {
            "path": self.path,
            "seen": self.seen,
            "shown": " ".join(self.marks.values()),
            "marks": self.marks,
            "actions": self.actions,
            "updates": self.updates,
            "layout": self.layout,
            "said": self.said,
            "slots": self.slots,
            "ended": self.ended,
            "timing": _timing_json(self.timing, self.now_us),
            "lang": self.look.language,
            "dir": say.direction,
            "words": page_words(say) if self.fresh else {},
            "paste": self.paste,
            "idle_s": None if self.ended else self.look.idle_s,
            "telemetry": self.look.telemetry,
            "refused": bool(self.note or self.faults),
            "note": self.note,
            "faults": self.faults,
        }


class Sheet:
    """A screen laid out in parts, each with a name of what it shows."""

    def __init__(self, screen: Screen, study: StudyLook) -> None:
        self._screen, self._study = screen, study
        self._parts = {"head": _head(screen, study), "left": _left(screen, study), "side": _side(screen)}
        self._parts |= {"talk": _talk(screen, study), "chat": _chat(screen, study)}
        self._digests = {name: digest_of(screen, name, part.about) for name, part in self._parts.items()}
        self._marks = {name: digest[:MARK_CHARS] for name, digest in self._digests.items()}
        self._marks["box"] = digest_of(screen, "box", ())[:MARK_CHARS]

    def needs_draft(self, shown: str | None) -> bool:
        """Whether it has a form or a message box that the browser does not show yet, half-filled as it was left."""
        asks = [name for name, part in self._parts.items() if part.asks] + ["box"] * bool(self._screen.panel.chat)
        known = (shown or "").split()
        return any(self._marks[name] not in known for name in asks)

    def paint(
        self,
        *,
        shown: str | None,
        draft: Draft,
        note: str = "",
        faults: Mapping[str, str] | None = None,
        now_us: int = 0,
    ) -> Painting:
        """The page for it. `shown` is what the last painting said, or None for a page just loaded."""
        screen, study, panel, marks = self._screen, self._study, self._screen.panel, self._marks
        known = (shown or "").split()
        updates: dict[str, Update] = {
            name: {"value": part.html(self._digests[name], study.language, draft)}
            for name, part in self._parts.items()
            if marks[name] not in known
        }
        updates |= labels(study.words) if shown is None else {}
        if panel.chat:
            box = _box(panel.chat, None if marks["box"] in known else str(draft.get("text") or ""))
            updates["box"] = {**updates.get("box", {}), **box}
        return Painting(
            path=screen.path,
            seen=screen.seen,
            marks=marks,
            actions=screen.actions,
            updates=updates,
            layout="page" if panel.chat is None else "compare" if panel.chat.columns else "chat",
            said=_said(panel.chat) if panel.chat else 0,
            slots=panel.chat.slots if panel.chat else (),
            ended=screen.ended,
            look=study,
            fresh=shown is None,
            timing=screen.timing or Timing(),
            paste=panel.chat.paste if panel.chat else "allow",
            note=note,
            faults=faults or {},
            now_us=now_us,
        )


def paint(screen: Screen, *, study: StudyLook, **more: Any) -> Painting:
    """The page for a screen, as `Sheet.paint` has it."""
    return Sheet(screen, study).paint(**more)


def _timing_json(timing: Timing, now_us: int) -> dict[str, Any]:
    """Milliseconds from now: the participant's clock may be wrong."""
    told = {"opens_ms": timing.opens_us, "warns_ms": timing.warns_us, "ends_ms": timing.ends_us}
    away = {name: None if at_us is None else (at_us - now_us) // 1000 for name, at_us in told.items()}
    return {**away, "more": timing.more}


def talk_chars(screen: Screen) -> int:
    """How long the conversations are that stand on it, in characters."""
    chat, talks = screen.panel.chat, [one for one in screen.panel.blocks if isinstance(one, Transcript)]
    said = [message.text for talk in talks for message in talk.messages]
    said += [message.text for message in chat.messages] if chat else []
    said += [reply.text for turn in chat.rounds for reply in turn.replies] if chat else []
    return sum(map(len, said))


def _head(screen: Screen, study: StudyLook) -> Part:
    can_leave = screen.outcome != "withdrawn"
    values = {"study": study, "progress": screen.progress, "ended": screen.ended, "can_leave": can_leave}
    return Part("head.html.j2", (screen.progress, *study, screen.ended, can_leave), lambda _: values, ())


def _left(screen: Screen, study: StudyLook) -> Part:
    panel = screen.panel
    ends = "submit" in screen.actions if panel.chat is None else not panel.chat.columns

    def values(draft: Draft) -> Mapping[str, Any]:
        talks = [block for block in panel.blocks if isinstance(block, Transcript)]
        rated = {item.name for block in talks for turn in block.ratings for item in turn}
        views = _views(panel.fields, draft, study.paste)
        return {
            "path": screen.path,
            "panel": panel,
            "study": study,
            "blocks": panel.blocks,
            "groups": groups(view for view in views if view.name not in rated),
            "judged": any(block.judged for block in talks),
            "ratings": {view.name: view for view in views if view.name in rated},
            "nocopy": any(isinstance(block, Asked) and not block.copying for block in panel.blocks),
            "common": bool(screen.outcome),
            "some_optional": {item.required for item in panel.fields} == {True, False},
            "ends": ends,
        }

    kinds = [block.kind for block in panel.blocks]
    about = (panel.title, kinds, panel.blocks, panel.fields, panel.button, panel.decline, ends)
    return Part("panel.html.j2", about, values, (study, bool(screen.outcome)), bool(panel.fields))


def _side(screen: Screen) -> Part:
    chat = screen.panel.chat
    if chat is None:
        return NOTHING
    said = _said(chat)
    missing = max(0, chat.minimum - said)
    actions = [name for name in screen.actions if name in ("retry", "skip", "stop", "vote", "submit")]

    def values(draft: Draft) -> Mapping[str, Any]:
        return {
            "chat": chat,
            "button": screen.panel.button,
            "can_say": "say" in screen.actions,
            "missing": missing,
            "fields": _views(chat.rating, draft),
            "actions": actions,
        }

    about = (said, len(chat.messages), chat.rating, chat.failed, chat.waiting, actions)
    if chat.columns:
        return Part("comparison_controls.html.j2", about, values, asks=bool(chat.rating))
    return Part("chat_controls.html.j2", about, values, (chat.remaining, missing), bool(chat.rating))


def _talk(screen: Screen, study: StudyLook) -> Part:
    """The rounds of a conversation with several at once."""
    chat = screen.panel.chat
    if chat is None or not chat.columns:
        return NOTHING
    values = {"chat": chat, "study": study, "actions": screen.actions}
    return Part("comparison.html.j2", (chat.rounds, "retry" in screen.actions), lambda _: values)


def _chat(screen: Screen, study: StudyLook) -> Part:
    """The messages of a conversation with one."""
    chat = screen.panel.chat
    if chat is None or chat.columns:
        return NOTHING
    values = {"chat": chat, "study": study}
    return Part("chat.html.j2", (chat.title, chat.messages, chat.slots), lambda _: values)


def _said(chat: Chat) -> int:
    return sum(message.role == "You" for message in chat.messages)


def _box(chat: Chat, text: str | None) -> Update:
    box: dict[str, Any] = {"max_length": chat.max_chars}
    return box if text is None else box | {"value": text}


def _views(fields: Sequence[Field], draft: Draft, paste: Paste = "allow") -> list[FieldView]:
    return [view_of(item, draft.get(item.name), paste) for item in fields]

"""A Screen painted: what each component of the page becomes. Pure: the same screen gives the same painting.

A part of the page that the browser already shows is not painted again, so that a half-filled form or a half-written
message is never wiped when a reply arrives. The browser says what it shows by handing back `shown`, which it need not
understand. Nothing goes out that is not in the Screen, and every text passes through markdown.py or autoescape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2s
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from app.languages import Catalogue, catalogue
from app.web import markdown
from app.web.forms import FieldView, groups, view_of
from app.web.look import StudyLook, labels, page_words
from experiments.core.fields import Field
from experiments.core.participation import Paste
from experiments.core.screen import Asked, Chat, Message, Screen, Timing, Transcript

Update = Mapping[str, Any]
NOT_WHOLE = {"cut_off": "This reply was cut off.", "stopped": "You stopped this reply."}
"""What stands below a reply that is not whole."""
FORMS = Path(__file__).parent / "forms"


@dataclass(frozen=True, slots=True)
class Painting:
    """What the page becomes: updates by component, and the few things that page.js has to know."""

    path: str
    seen: int
    marks: Mapping[str, str]
    """The content of each part, by a name that tells nothing; `shown` is all of them."""
    actions: tuple[str, ...]
    updates: Mapping[str, Update]
    layout: str
    """"chat" with a conversation beside the form, "compare" with several models at once, or "page"."""
    messages: tuple[Message, ...]
    """What the chat shows."""
    said: int
    """How many messages were sent."""
    slots: tuple[str, ...]
    """The replies that are on their way, each to be read from a stream of its own."""
    ended: bool
    look: StudyLook
    fresh: bool
    """Whether the page has just been loaded, and speaks English yet."""
    timing: Timing
    paste: Paste = "allow"
    """What pasting into the message box does."""
    note: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)
    now_us: int = 0
    """What time it is for the server, from which the page counts."""

    def as_json(self) -> dict[str, Any]:
        """The response of the participant API to look and act."""
        say = self.look.words
        return {
            "path": self.path,
            "seen": self.seen,
            "shown": " ".join(self.marks.values()),
            "marks": dict(self.marks),
            "actions": list(self.actions),
            "updates": {name: dict(update) for name, update in self.updates.items()},
            "layout": self.layout,
            "messages": [_said_json(message, say) for message in self.messages],
            "said": self.said,
            "slots": list(self.slots),
            "ended": self.ended,
            "timing": _timing_json(self.timing, self.now_us),
            "lang": self.look.language,
            "dir": say.direction,
            "words": page_words(say) if self.fresh else {},
            "dollars": self.look.dollar_maths,
            "paste": self.paste,
            "idle_s": None if self.ended else self.look.idle_s,
            "telemetry": self.look.telemetry,
            "refused": bool(self.note or self.faults),
            "note": self.note,
            "faults": dict(self.faults),
        }


def paint(
    screen: Screen,
    *,
    study: StudyLook,
    shown: str | None,
    draft: Mapping[str, Any],
    note: str = "",
    faults: Mapping[str, str] | None = None,
    now_us: int = 0,
) -> Painting:
    """The page for a screen. `shown` is what the last painting said, or None for a page just loaded."""
    panel = screen.panel
    parts = {"head": _head(screen, study), "left": _left(screen, study, draft), "side": _side(screen, draft)}
    parts["talk"] = _talk(screen, study)
    marks = {name: _mark(screen, name, part.about) for name, part in parts.items()}
    known = (shown or "").split()
    updates: dict[str, Update] = {
        name: {"value": parts[name].html(mark, study.language)} for name, mark in marks.items() if mark not in known
    }
    updates |= labels(study.words) if shown is None else {}
    mark_of_box = _mark(screen, "box", ())
    if panel.chat:
        updates["chat"] = {**updates.get("chat", {}), "label": panel.chat.title}
        box = _box(panel.chat, None if mark_of_box in known else str(draft.get("text") or ""))
        updates["box"] = {**updates.get("box", {}), **box}
    return Painting(
        path=screen.path,
        seen=screen.seen,
        marks=marks | {"box": mark_of_box},
        actions=screen.actions,
        updates=updates,
        layout="page" if panel.chat is None else "compare" if panel.chat.columns else "chat",
        messages=panel.chat.messages if panel.chat and not panel.chat.columns else (),
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


def _timing_json(timing: Timing, now_us: int) -> dict[str, Any]:
    """Milliseconds from now: the participant's clock may be wrong."""
    told = {"opens_ms": timing.opens_us, "warns_ms": timing.warns_us, "ends_ms": timing.ends_us}
    away = {name: None if at_us is None else (at_us - now_us) // 1000 for name, at_us in told.items()}
    return {**away, "more": timing.more}


def needs_draft(screen: Screen, study: StudyLook, shown: str | None) -> bool:
    """Whether a painting has a form or a message box that the browser does not show yet, half-filled as it was left."""
    chat, known = screen.panel.chat, (shown or "").split()
    parts = {"left": (_left(screen, study, {}), screen.panel.fields), "side": (_side(screen, {}), chat and chat.rating)}
    anew = any(asks and _mark(screen, name, part.about) not in known for name, (part, asks) in parts.items())
    return anew or (chat is not None and _mark(screen, "box", ()) not in known)


def shows_talk(screen: Screen) -> bool:
    """Whether whole conversations are rendered here; those of a chat are rendered in the browser."""
    chat = screen.panel.chat
    return (chat is not None and chat.columns > 0) or any(isinstance(one, Transcript) for one in screen.panel.blocks)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the page: its template, and what it is about (if that is unchanged, so is the part)."""

    template: str
    about: tuple[Any, ...]
    values: Mapping[str, Any]

    def html(self, mark: str, language: str) -> str:
        """The part's HTML, with its mark on it."""
        return _templates(language).get_template(self.template).render(self.values, mark=mark)


def _head(screen: Screen, study: StudyLook) -> Part:
    can_leave = screen.outcome != "withdrawn"
    values = {"study": study, "progress": screen.progress, "ended": screen.ended, "can_leave": can_leave}
    return Part("head.html.j2", (screen.progress, study, screen.ended, can_leave), values)


def _left(screen: Screen, study: StudyLook, draft: Mapping[str, Any]) -> Part:
    panel = screen.panel
    rated = {item.name for block in panel.blocks if isinstance(block, Transcript) for f in block.ratings for item in f}
    asked = [item for item in panel.fields if item.name not in rated]
    values = {
        "path": screen.path,
        "panel": panel,
        "study": study,
        "blocks": [(type(block).__name__.lower(), block) for block in panel.blocks],
        "groups": groups(_views(asked, draft, study.paste)),
        "judged": any(isinstance(block, Transcript) and block.judged for block in panel.blocks),
        "ratings": {name: view for name, view in _named(panel.fields, draft, study.paste) if name in rated},
        "nocopy": any(isinstance(block, Asked) and not block.copying for block in panel.blocks),
        "common": bool(screen.outcome),
        "some_optional": not all(item.required for item in panel.fields),
        "ends": "submit" in screen.actions if panel.chat is None else not panel.chat.columns,
    }
    about = (panel.title, panel.blocks, panel.fields, panel.button, panel.decline, values["ends"])
    return Part("left.html.j2", about, values)


def _side(screen: Screen, draft: Mapping[str, Any]) -> Part:
    chat = screen.panel.chat
    if chat is None:
        return Part("nothing.html.j2", (), {})
    said = _said(chat)
    values = {
        "chat": chat,
        "button": screen.panel.button,
        "can_say": "say" in screen.actions,
        "missing": max(0, chat.minimum - said),
        "fields": _views(chat.rating, draft),
        "actions": [name for name in screen.actions if name in ("retry", "skip", "stop", "vote", "submit")],
    }
    shown = (said, len(chat.messages), chat.rating, chat.failed, chat.waiting, values["actions"])
    return Part("voting.html.j2" if chat.columns else "side.html.j2", shown, values)


def _talk(screen: Screen, study: StudyLook) -> Part:
    """The rounds of a conversation with several at once."""
    chat = screen.panel.chat
    if chat is None or not chat.columns:
        return Part("nothing.html.j2", (), {})
    values = {"chat": chat, "study": study, "actions": screen.actions}
    return Part("talk.html.j2", (chat.rounds, "retry" in screen.actions), values)


def _said_json(message: Message, say: Catalogue) -> dict[str, str]:
    return {"role": message.role, "text": message.text, "mark": say(NOT_WHOLE.get(message.ended, ""))}


def _said(chat: Chat) -> int:
    return sum(message.role == "You" for message in chat.messages)


def _box(chat: Chat, text: str | None) -> Update:
    box: dict[str, Any] = {"max_length": chat.max_chars}
    return box if text is None else box | {"value": text}


def _views(fields: Sequence[Field], draft: Mapping[str, Any], paste: Paste = "allow") -> list[FieldView]:
    return [view_of(item, draft.get(item.name), paste) for item in fields]


def _named(fields: Sequence[Field], draft: Mapping[str, Any], paste: Paste) -> list[tuple[str, FieldView]]:
    return [(view.name, view) for view in _views(fields, draft, paste)]


def _mark(screen: Screen, name: str, about: tuple[Any, ...]) -> str:
    """A short name of a part's content, for the browser to hand back; it tells nothing."""
    return blake2s(repr((screen.path, name, about)).encode(), digest_size=6).hexdigest()


def _turns(talk: Transcript) -> list[tuple[tuple[Message, ...], tuple[Field, ...]]]:
    """A conversation cut into its rated turns, each begun by "You"; whole if nothing is rated."""
    if not talk.ratings:
        return [(talk.messages, ())]
    starts = [n for n, message in enumerate(talk.messages) if message.role == "You"]
    ends = [*starts[1:], len(talk.messages)]
    before = [(talk.messages[: starts[0]], ())] if starts[0] else []
    rated = zip(starts, ends, talk.ratings, strict=True)
    return [*before, *((talk.messages[start:end], ratings) for start, end, ratings in rated)]


def _markdown(text: str, **kinds: bool) -> Markup:
    if not kinds.get("images", True) and markdown.heavy(text):
        text = markdown.as_typed(text)
    return Markup(markdown.html(text, **kinds))  # noqa: S704  (markdown.py lets no tag of an author through)


def _line(text: str) -> Markup:
    return Markup(markdown.line(text))  # noqa: S704  (as above)


@cache
def _templates(language: str) -> Environment:
    """The templates in a language, which say what is their own by `t`."""
    known = Environment(
        loader=FileSystemLoader(FORMS),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known.filters |= {"markdown": _markdown, "line": _line, "turns": _turns}
    known.globals |= {"not_whole": NOT_WHOLE, "t": catalogue(language)}
    return known

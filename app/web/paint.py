"""A Screen painted: what each component of the page becomes. Pure: the same screen gives the same painting.

A part of the page that the browser already shows is not painted again, so that a half-filled form or a half-written
message is never wiped when a reply arrives. The browser says what it shows by handing back `shown`, which it need not
understand. Nothing goes out that is not in the Screen, and every text passes through markdown.py or autoescape.
"""

from __future__ import annotations

import re
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
from experiments.core.fields import Field
from experiments.core.screen import Asked, Chat, Message, Screen, Transcript

Update = Mapping[str, Any]
NOT_WHOLE = {"cut_off": "This reply was cut off.", "stopped": "You stopped this reply."}
"""What stands below a reply that is not whole."""
FORMS = Path(__file__).parent / "forms"
_WORDS_JS = (Path(__file__).parent / "static" / "words.js").read_text(encoding="utf-8")
PAGE_WORDS: Mapping[str, str] = dict(re.findall(r'^  (\w+): "(.*)",$', _WORDS_JS, re.MULTILINE))
"""What the page itself says in English, by the names that its script knows; words.js is where it stands."""


@dataclass(frozen=True, slots=True)
class StudyLook:
    """What every screen of a study has in common."""

    title: str
    language: str = "en"
    contact: str = ""
    dollar_maths: bool = False
    """Whether a single $ delimits maths in conversations."""

    @property
    def words(self) -> Catalogue:
        """Parley's own words in its language."""
        return catalogue(self.language)


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
    note: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)

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
            "lang": self.look.language,
            "dir": say.direction,
            "words": page_words(say) if self.fresh else {},
            "dollars": self.look.dollar_maths,
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
    updates |= _labels(study.words) if shown is None else {}
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
        note=note,
        faults=faults or {},
    )


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
    return Part("head.html.j2", (screen.progress, study), {"study": study, "progress": screen.progress})


def _left(screen: Screen, study: StudyLook, draft: Mapping[str, Any]) -> Part:
    panel = screen.panel
    rated = {item.name for block in panel.blocks if isinstance(block, Transcript) for f in block.ratings for item in f}
    asked = [item for item in panel.fields if item.name not in rated]
    values = {
        "path": screen.path,
        "panel": panel,
        "study": study,
        "blocks": [(type(block).__name__.lower(), block) for block in panel.blocks],
        "groups": groups(_views(asked, draft)),
        "judged": any(isinstance(block, Transcript) and block.judged for block in panel.blocks),
        "ratings": {name: view for name, view in _named(panel.fields, draft) if name in rated},
        "nocopy": any(isinstance(block, Asked) and not block.copying for block in panel.blocks),
        "common": bool(screen.outcome),
        "some_optional": not all(item.required for item in panel.fields),
        "ends": "submit" in screen.actions if panel.chat is None else not panel.chat.columns,
    }
    return Part("left.html.j2", (panel.title, panel.blocks, panel.fields, panel.button, values["ends"]), values)


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


def page_words(say: Catalogue) -> dict[str, str]:
    """What the page's script says, by its names; nothing in English, which it speaks already."""
    return {name: say(text) for name, text in PAGE_WORDS.items()} if say.words else {}


def _labels(say: Catalogue) -> dict[str, Update]:
    """What Gradio's own components say, which are built in English."""
    if not say.words:
        return {}
    right_to_left = {"rtl": say.direction == "rtl"}
    box = {"label": say("Your message"), "placeholder": say("Write a message")}
    return {"box": box | right_to_left, "send": {"value": say("Send")}, "chat": right_to_left, "preview": right_to_left}


def _said_json(message: Message, say: Catalogue) -> dict[str, str]:
    return {"role": message.role, "text": message.text, "mark": say(NOT_WHOLE.get(message.ended, ""))}


def _said(chat: Chat) -> int:
    return sum(message.role == "You" for message in chat.messages)


def _box(chat: Chat, text: str | None) -> Update:
    box: dict[str, Any] = {"max_length": chat.max_chars}
    return box if text is None else box | {"value": text}


def _views(fields: Sequence[Field], draft: Mapping[str, Any]) -> list[FieldView]:
    return [view_of(item, draft.get(item.name)) for item in fields]


def _named(fields: Sequence[Field], draft: Mapping[str, Any]) -> list[tuple[str, FieldView]]:
    return [(item.name, view_of(item, draft.get(item.name))) for item in fields]


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
    return Markup(markdown.html(text, **kinds))  # noqa: S704  (markdown.py lets no tag of an author through)


def _line(text: str) -> Markup:
    return Markup(markdown.line(text))  # noqa: S704  (as above)


@cache
def _templates(language: str) -> Environment:
    """The templates in a language, which say what is their own by `t`."""
    known = Environment(
        loader=FileSystemLoader(FORMS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known.filters |= {"markdown": _markdown, "line": _line, "turns": _turns}
    known.globals |= {"not_whole": NOT_WHOLE, "t": catalogue(language)}
    return known

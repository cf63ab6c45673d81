"""Renders a Screen as updates of the page's components. Pure: equal screens give equal updates.

A part of the page that the browser already shows is not sent again, so that a half-filled form or a half-written
message is not lost when a reply arrives. The browser names what it shows by returning the opaque string `shown`. Only
data of the Screen are sent, and every text passes through markdown.py or autoescape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2s
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import orjson
from cachetools import LRUCache
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel

from app.i18n.catalogues import Catalogue, catalogue
from app.rendering import markdown
from app.session.transitions import LoadedSession
from app.web.participant.forms import FieldView, groups, view_of
from experiments.session.conversation import BROKEN_OFF
from experiments.session.telemetry import has_honeypot, hidden_instruction, records_telemetry
from experiments.study.fields import Field
from experiments.study.screen import (
    DOCUMENT_DRAFT,
    MESSAGE_DRAFT,
    ChatMessage,
    ChatView,
    DocumentView,
    ProblemBlock,
    Screen,
    Timing,
    TranscriptBlock,
)
from experiments.study.sections.recruitment import Paste
from problems.pictures import PictureMap
from storage.registers.origins import Origin

# The note below an incomplete reply, or below a message that got none.
NOT_WHOLE = {
    "cut_off": "This reply reached the limit for replies and was cut off there.",
    "broken_off": BROKEN_OFF,
    "stopped": "You stopped this reply.",
    "expired": "Time was up before this reply was complete.",
    "unanswered": "This message was not answered.",
}
# What has become of a call of a tool.
TOOL_STATES = {
    "waiting": "waiting for you",
    "running": "in progress",
    "done": "done",
    "failed": "did not work",
    "refused": "not allowed",
    "not_made": "not made: the reply was ended before",
}
FORMS = Path(__file__).parent / "forms"
MARK_CHARS = 12
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
MOST_KEPT = 2_000
_KEPT: LRUCache[tuple[Any, ...], str] = LRUCache(MOST_KEPT)
# Guards the cache: long conversations are rendered in threads.
_LOCK = Lock()


Draft = Mapping[str, Any]


class Fragment(NamedTuple):
    """A part of the page. `about` is the content that decides whether the browser needs it again."""

    template: str
    about: tuple[Any, ...]
    values: Callable[[Draft], Mapping[str, Any]]
    also: tuple[Any, ...] | None = None
    asks: bool = False

    def html(self, digest: str, study: StudyContext, draft: Draft) -> str:
        about = (self.template, digest, study.language, study.pictures, study.dollar_maths, self.also)
        key = None if self.also is None or (self.asks and draft) else about
        with _LOCK:
            cached = None if key is None else _KEPT.get(key)
        if cached is not None:
            return cached
        templates = _templates(study.language, study.pictures, study.dollar_maths)
        html = templates.get_template(self.template).render(self.values(draft), mark=digest[:MARK_CHARS])
        if key is not None:
            with _LOCK:
                _KEPT[key] = html
        return html


NOTHING = Fragment("empty.html.j2", (), lambda _: {}, ())


def digest_of(screen: Screen, name: str, about: tuple[Any, ...]) -> str:
    """A hash of a part's content. Its first MARK_CHARS characters are sent to the browser as the part's mark."""
    content = orjson.dumps((screen.path, name, about), default=_as_json, option=orjson.OPT_NON_STR_KEYS)
    return blake2s(content, digest_size=16).hexdigest()


def _as_json(value: Any) -> Any:
    """JSON for a pydantic model (a question): its class and its values."""
    if isinstance(value, BaseModel):
        return type(value).__name__, value.__dict__
    raise TypeError(f"{type(value).__name__} has no JSON")


def _turns(block: TranscriptBlock) -> list[tuple[tuple[ChatMessage, ...], tuple[Field, ...]]]:
    """A conversation split into its rated turns, each starting with a message of "You"; in one piece if unrated."""
    if not block.ratings:
        return [(block.messages, ())]
    starts = [n for n, message in enumerate(block.messages) if message.role == "You"]
    ends = [*starts[1:], len(block.messages)]
    before = [(block.messages[: starts[0]], ())] if starts[0] else []
    rated = zip(starts, ends, block.ratings, strict=True)
    return [*before, *((block.messages[start:end], ratings) for start, end, ratings in rated)]


class TextFilters(NamedTuple):
    """Renders the texts of a study in its templates. markdown.py escapes what a text has of HTML."""

    copy: str
    pictures: PictureMap | None
    dollars: bool

    def markdown(self, text: str, *, copying: bool = True) -> Markup:
        copy = self.copy if copying else ""
        return Markup(markdown.html(text, dollars=self.dollars, copy=copy, pictures=self.pictures))  # noqa: S704

    def message(self, text: str, *, typed: bool = False, own: bool = False) -> Markup:
        """A message as HTML: of a model or `typed` by a person, or of a conversation that is the study's `own`."""
        pictures = self.pictures if own else None
        shown = markdown.render_message(text, dollars=self.dollars, copy=self.copy, typed=typed, pictures=pictures)
        return Markup(shown)  # noqa: S704

    def line(self, text: str) -> Markup:
        return Markup(markdown.line(text, dollars=self.dollars, pictures=self.pictures))  # noqa: S704

    def contact(self, text: str) -> Markup:
        """Render the person to contact; a mail address is a link, also if the author did not make it one."""
        shown = self.line(text)
        return shown if "<a " in shown else self.line(_ADDRESS.sub(r"<\g<0>>", text))


@lru_cache(maxsize=64)
def _templates(language: str, pictures: PictureMap | None, dollars: bool) -> Environment:
    """The templates in a language, for a study with these pictures; they translate their own texts with `t`."""
    environment = Environment(
        loader=FileSystemLoader(FORMS),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    say = catalogue(language)
    texts = TextFilters(say("Copy"), pictures, dollars)
    environment.filters |= {
        "markdown": texts.markdown,
        "said": texts.message,
        "line": texts.line,
        "contact": texts.contact,
        "turns": _turns,
    }
    environment.globals |= {"not_whole": NOT_WHOLE, "tool_states": TOOL_STATES, "t": say}
    # Set here and not by `import` in each template, which Jinja would evaluate again for every page.
    environment.globals["ask"] = environment.get_template("fields.html.j2").module
    environment.globals["show"] = environment.get_template("blocks.html.j2").module
    return environment


_WORDS_JS = (Path(__file__).parents[1] / "static" / "words.js").read_text(encoding="utf-8")
# The English texts of the page's script, by their names there; read from words.js.
PAGE_WORDS: Mapping[str, str] = dict(re.findall(r'^  (\w+): "(.*)",$', _WORDS_JS, re.MULTILINE))


class StudyContext(NamedTuple):
    title: str
    language: str = "en"
    contact: str = ""
    dollar_maths: bool = False
    pilot: bool = False
    paste: Paste = "allow"
    idle_s: float | None = None
    """After so many seconds without activity the page asks whether the participant is still there; None for never."""
    telemetry: bool = False
    pictures: PictureMap | None = None
    hidden_instruction: str = ""
    """The instruction for AI models beside boxes for long texts; empty if there is none."""
    honeypot: bool = False
    embedded: bool = False
    """True if the page stands in one of another site, which goes on when the study ends: then no link leaves it."""
    own_link: str = ""
    """Of an embedded page before a next wave: the link by which the person comes back, outside the frame."""
    next_opens: datetime | None = None
    """When the next wave opens, in the person's time zone."""

    @property
    def words(self) -> Catalogue:
        return catalogue(self.language)


def study_context_of(
    session: LoadedSession, *, embedded: bool = False, own_link: str = "", next_opens: datetime | None = None
) -> StudyContext:
    file, language = session.study.file, session.language
    title, contact = (session.study.translate(text, language) for text in (file.title, file.contact))
    return StudyContext(
        title,
        language,
        contact,
        file.dollar_maths,
        pilot=session.state.enrolled.get("origin") == Origin.PILOT,
        paste=file.paste,
        idle_s=file.session_limits.idle_after_s,
        telemetry=records_telemetry(session.study, session.state),
        pictures=session.study.pictures if session.study.pictures.by_key else None,
        hidden_instruction=hidden_instruction(session.study, session.state),
        honeypot=has_honeypot(session.study, session.state),
        embedded=embedded,
        own_link=own_link,
        next_opens=next_opens,
    )


def page_words(say: Catalogue) -> dict[str, str]:
    """The translated texts of the page's script, by name; empty for English, which the script contains."""
    return {name: say(text) for name, text in PAGE_WORDS.items()} if say.words else {}


def labels(say: Catalogue) -> dict[str, dict[str, Any]]:
    """Updates that translate the labels of Gradio's own components; empty for English, in which they are built."""
    if not say.words:
        return {}
    box = {"label": say("Your message"), "placeholder": say("Write a message"), "rtl": say.direction == "rtl"}
    return {"box": box, "send": {"value": say("Send")}}


# What a page is sent: updates by component, and data for page.js.
PageUpdate = dict[str, Any]


class ScreenView:
    """A screen divided into parts, each with a mark of its content."""

    def __init__(self, screen: Screen, study: StudyContext) -> None:
        self._screen, self._study = screen, study
        self._parts = {"head": _head(screen, study), "left": _left(screen, study), "side": _side(screen)}
        self._parts |= {"talk": _talk(screen, study), "chat": _chat(screen, study)}
        self._digests = {name: digest_of(screen, name, part.about) for name, part in self._parts.items()}
        self._marks = {name: digest[:MARK_CHARS] for name, digest in self._digests.items()}
        if (document := screen.panel.document) is not None:
            self._marks["document"] = digest_of(screen, "document", (document.version,))[:MARK_CHARS]
        self._marks["box"] = digest_of(screen, "box", _refused(screen.panel.chat))[:MARK_CHARS]

    def needs_draft(self, shown: str | None) -> bool:
        """Return True if a form or message box, new to the browser, must be rendered: it gets the draft."""
        panel = self._screen.panel
        asks = [name for name, part in self._parts.items() if part.asks]
        asks += ["box"] * bool(panel.chat) + ["left"] * bool(panel.document)
        shown_marks = (shown or "").split()
        return any(self._marks[name] not in shown_marks for name in asks)

    def paint(
        self,
        *,
        shown: str | None,
        draft: Draft,
        note: str = "",
        faults: Mapping[str, str] | None = None,
        now_us: int = 0,
    ) -> PageUpdate:
        """Return the changes from `shown` (None for a page just loaded) to this screen: the response of `/api/look` and
        `/api/act`. Its times are relative to `now_us`, the server's."""
        screen, study, panel, marks = self._screen, self._study, self._screen.panel, self._marks
        say, chat, timing, shown_marks = study.words, panel.chat, screen.timing or Timing(), (shown or "").split()
        updates = {
            name: {"value": part.html(self._digests[name], study, draft)}
            for name, part in self._parts.items()
            if marks[name] not in shown_marks
        }
        updates |= labels(say) if shown is None else {}
        if chat and marks["box"] not in shown_marks:
            updates["box"] = {**updates.get("box", {}), "value": str(draft.get(MESSAGE_DRAFT) or chat.refused)}
        return {
            "path": screen.path,
            "seen": screen.seen,
            "shown": " ".join(marks.values()),
            "marks": marks,
            "actions": screen.actions,
            "updates": updates,
            "layout": "page" if chat is None else "compare" if chat.columns else "chat",
            # how many messages the participant has sent in this conversation
            "said": _sent_messages(chat) if chat else 0,
            # those of the replies in progress, each of which has a stream
            "slots": chat.slots if chat else (),
            # how long a reply is held back on purpose
            "delay_ms": round(1000 * chat.delay_s) if chat else 0,
            "ended": screen.ended,
            "timing": _timing_json(timing, now_us),
            "help": screen.help and asdict(screen.help),
            "document": _document_json(panel.document, draft, known=marks.get("document") in shown_marks),
            "lang": study.language,
            "dir": say.direction,
            "words": page_words(say) if shown is None else {},
            "paste": chat.paste if chat else "allow",
            "idle_s": None if screen.ended else study.idle_s,
            "telemetry": study.telemetry,
            "refused": bool(note or faults),
            "note": note,
            "faults": faults or {},
        }


def render_page(screen: Screen, *, study: StudyContext, **more: Any) -> PageUpdate:
    return ScreenView(screen, study).paint(**more)


def _document_json(document: DocumentView | None, draft: Draft, *, known: bool) -> dict[str, Any] | None:
    """Return the data for document.js; without the text if the page has it, and with the draft if there is one."""
    if document is None:
        return None
    change = document.change and asdict(document.change)
    kept = [draft.get(name) for name in DOCUMENT_DRAFT] if DOCUMENT_DRAFT[-1] in draft else None
    text = None if known else document.text
    return {"version": document.version, "change": change, "text": text, "draft": kept}


def _timing_json(timing: Timing, now_us: int) -> dict[str, Any]:
    """The times in milliseconds from now, because the participant's clock may be wrong."""
    times_us = {"opens_ms": timing.opens_us, "warns_ms": timing.warns_us, "ends_ms": timing.ends_us}
    away = {name: None if at_us is None else (at_us - now_us) // 1000 for name, at_us in times_us.items()}
    return {**away, "more": timing.more}


def conversation_chars(screen: Screen) -> int:
    chat, talks = screen.panel.chat, [one for one in screen.panel.blocks if isinstance(one, TranscriptBlock)]
    said = [message.text for talk in talks for message in talk.messages]
    said += [message.text for message in chat.messages] if chat else []
    said += [reply.text for turn in chat.rounds for reply in turn.replies] if chat else []
    return sum(map(len, said))


def _head(screen: Screen, study: StudyContext) -> Fragment:
    own = {"progress": screen.progress, "ended": screen.ended, "can_leave": screen.can_withdraw}
    own |= {"helps": screen.help is not None}
    key = (*own.values(), *study._replace(pictures=None))
    return Fragment("head.html.j2", key, lambda _: {"study": study, **own}, ())


def _left(screen: Screen, study: StudyContext) -> Fragment:
    panel = screen.panel
    ends = "submit" in screen.actions if panel.chat is None else not panel.chat.columns

    def values(draft: Draft) -> Mapping[str, Any]:
        talks = [block for block in panel.blocks if isinstance(block, TranscriptBlock)]
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
            "nocopy": any(isinstance(block, ProblemBlock) and not block.copying for block in panel.blocks),
            "common": bool(screen.outcome),
            "some_optional": {item.required for item in panel.fields} == {True, False},
            "ends": ends,
        }

    kinds = [block.kind for block in panel.blocks]
    design = panel.document and replace(panel.document, text="", version=0, change=None)
    about = (panel.title, kinds, panel.blocks, panel.fields, panel.button, panel.decline, ends, design)
    also = None if panel.document else (study, bool(screen.outcome))  # its text is one person's
    return Fragment("panel.html.j2", about, values, also, bool(panel.fields))


def _side(screen: Screen) -> Fragment:
    chat = screen.panel.chat
    if chat is None:
        return NOTHING
    said = _sent_messages(chat)
    unanswered = sum(message.ended == "unanswered" for message in chat.messages)
    missing = max(0, chat.minimum - (said - unanswered))
    actions = [name for name in screen.actions if name in ("retry", "skip", "stop", "vote", "submit")]
    problems = [block for block in screen.panel.blocks if isinstance(block, ProblemBlock) and chat.rating]

    def values(draft: Draft) -> Mapping[str, Any]:
        return {
            "chat": chat,
            "button": screen.panel.button,
            "can_say": "say" in screen.actions,
            "missing": missing,
            "fields": _views(chat.rating, draft),
            "problem": problems[0] if problems else None,
            "draft": draft,
            "actions": actions,
        }

    design = (chat.over, chat.may_end, chat.suggestions, chat.approval, chat.attachments)
    about = (said, len(chat.messages), chat.rating, chat.failed, chat.way_on, chat.waiting, actions, problems, *design)
    if chat.columns:
        return Fragment("comparison_controls.html.j2", about, values, asks=bool(chat.rating))
    return Fragment(
        "chat_controls.html.j2", about, values, (chat.remaining, missing), bool(chat.rating or chat.approval)
    )


def _talk(screen: Screen, study: StudyContext) -> Fragment:
    chat = screen.panel.chat
    if chat is None or not chat.columns:
        return NOTHING

    def values(draft: Draft) -> Mapping[str, Any]:
        return {"chat": chat, "study": study, "actions": screen.actions, "draft": draft}

    about = (chat.rounds, "retry" in screen.actions)
    return Fragment("comparison.html.j2", about, values, asks=bool(chat.approvals))


def _chat(screen: Screen, study: StudyContext) -> Fragment:
    chat = screen.panel.chat
    if chat is None or chat.columns:
        return NOTHING
    values = {"chat": chat, "study": study}
    return Fragment("chat.html.j2", (chat.title, chat.picture, chat.messages, chat.slots), lambda _: values)


def _sent_messages(chat: ChatView) -> int:
    return sum(message.role == "You" for message in chat.messages)


def _refused(chat: ChatView | None) -> tuple[Any, ...]:
    """The refused message that the box holds again, and which one it is: the next one may have the same text."""
    return (chat.refused, _sent_messages(chat)) if chat and chat.refused else ()


def _views(fields: Sequence[Field], draft: Draft, paste: Paste = "allow") -> list[FieldView]:
    return [view_of(item, draft.get(item.name), paste) for item in fields]

"""The parts of the page as HTML: their templates, and names of what they show.

What is the same for many, a part without anything typed in it, is rendered once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from hashlib import blake2s
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import orjson
from cachetools import LRUCache
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel

from app.i18n.catalogues import catalogue
from app.web.rendering import markdown
from experiments.study.fields import Field
from experiments.study.screen import Message, Screen, Transcript

NOT_WHOLE = {"cut_off": "This reply was cut off.", "stopped": "You stopped this reply."}
"""What stands below a reply that is not whole."""
FORMS = Path(__file__).parent / "forms"
MARK_CHARS = 12
MOST_KEPT = 2_000
_KEPT: LRUCache[tuple[Any, ...], str] = LRUCache(MOST_KEPT)
_LOCK = Lock()
"""Conversations are painted in threads."""


Draft = Mapping[str, Any]


class Part(NamedTuple):
    """A part of the page: its template, and what it is about (if that is unchanged, so is the part)."""

    template: str
    about: tuple[Any, ...]
    values: Callable[[Draft], Mapping[str, Any]]
    """What the template is filled with, with what is typed; made where it is rendered, which is seldom."""
    also: tuple[Any, ...] | None = None
    """What else its HTML depends on; None where that is too much to say."""
    asks: bool = False
    """Whether something can be typed in it."""

    def html(self, digest: str, language: str, draft: Draft) -> str:
        """The part's HTML, with its mark on it; kept for the next one who sees the same, as most do."""
        key = None if self.also is None or (self.asks and draft) else (self.template, digest, language, self.also)
        with _LOCK:
            known = None if key is None else _KEPT.get(key)
        if known is not None:
            return known
        html = _templates(language).get_template(self.template).render(self.values(draft), mark=digest[:MARK_CHARS])
        if key is not None:
            with _LOCK:
                _KEPT[key] = html
        return html


NOTHING = Part("empty.html.j2", (), lambda _: {}, ())
"""A part that is not there."""


def digest_of(screen: Screen, name: str, about: tuple[Any, ...]) -> str:
    """A name of a part's content that no other has; its first MARK_CHARS go to the browser, and tell it nothing."""
    content = orjson.dumps((screen.path, name, about), default=_told, option=orjson.OPT_NON_STR_KEYS)
    return blake2s(content, digest_size=16).hexdigest()


def _told(value: Any) -> Any:
    """What has no JSON of its own: a question, by its kind and all that it is."""
    if isinstance(value, BaseModel):
        return type(value).__name__, value.__dict__
    raise TypeError(f"{type(value).__name__} has no JSON")


def _turns(talk: Transcript) -> list[tuple[tuple[Message, ...], tuple[Field, ...]]]:
    """A conversation cut into its rated turns, each begun by "You"; whole if nothing is rated."""
    if not talk.ratings:
        return [(talk.messages, ())]
    starts = [n for n, message in enumerate(talk.messages) if message.role == "You"]
    ends = [*starts[1:], len(talk.messages)]
    before = [(talk.messages[: starts[0]], ())] if starts[0] else []
    rated = zip(starts, ends, talk.ratings, strict=True)
    return [*before, *((talk.messages[start:end], ratings) for start, end, ratings in rated)]


def _markdown(copy: str, text: str, *, copying: bool = True) -> Markup:
    """A researcher's text."""
    return Markup(markdown.html(text, copy=copy if copying else ""))  # noqa: S704  (no tag of an author is let through)


def _said(copy: str, text: str, *, dollars: bool) -> Markup:
    """What somebody or a model wrote."""
    return Markup(markdown.said(text, dollars=dollars, copy=copy))  # noqa: S704  (as above)


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
    say = catalogue(language)
    copy = say("Copy")
    known.filters |= {
        "markdown": partial(_markdown, copy),
        "said": partial(_said, copy),
        "line": _line,
        "turns": _turns,
    }
    known.globals |= {"not_whole": NOT_WHOLE, "t": say}
    # Here and not by `import` in each template, which Jinja would look into again for every page.
    known.globals["ask"] = known.get_template("fields.html.j2").module
    known.globals["show"] = known.get_template("blocks.html.j2").module
    return known

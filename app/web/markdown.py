r"""Texts as HTML: Markdown with formulas between \( \), \[ \] or $$ $$, and never a tag of the author's.

HTML in a text is shown as it was typed. Formulas are taken out before Markdown sees them (its rules would eat their
backslashes, their stars and the lines that begin with a minus) and put back as MathML when it is done.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from app.web.maths import mathml

MAX_CHARS = 40_000
MAX_FORMULAS = 200
MOST_MARKS = 800
"""How much markup a text of a participant's or a model's may have; a long answer full of formulas has some hundreds."""

# Code comes first: what looks like a formula within it is code. page.js splits texts in the same way.
_CODE = (
    r"(?P<code>^[ ]{0,3}(?P<fence>```+(?!`)|~~~+(?!~))[^\n]*\n(?:[\s\S]*?^[ ]{0,3}(?P=fence)[^\n]*$|[\s\S]*\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)[\s\S]+?(?<!`)(?P=ticks)(?!`))"
)
_FORMULA = (
    r"\\\((?P<inline>[\s\S]{1,2000}?)\\\)|\\\[(?P<block>[\s\S]{1,2000}?)\\\]|\$\$(?P<dollars>[\s\S]{1,2000}?)\$\$"
)
_DOLLAR = r"|(?<![\\$])\$(?![\s$])(?P<dollar>[^$\n]*?(?<![\s\\]))\$(?![\d$])"
_SPLIT = {
    False: re.compile(f"{_CODE}|{_FORMULA}", re.MULTILINE),
    True: re.compile(f"{_CODE}|{_FORMULA}{_DOLLAR}", re.MULTILINE),
}
_MARK = re.compile("\ue000([0-9]+)\ue001")
_MARKUP = re.compile(r"[\[\]|*_`~<$\n]|\\[(\[]")
_COLUMNS = re.compile(r"(?:\|[^|\n]*){31}")
_TILDES = re.compile("~+")
_OWN = re.compile(r"data:image/(?:png|gif|jpeg|webp)[;,]|/(?!/)|[^:/]+(?:[/?#]|$)", re.IGNORECASE)
_LEADS = re.compile(r"https?:|mailto:|data:image/(?:png|gif|jpeg|webp)[;,]|[^:]*(?:[/?#]|$)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def html(text: str, *, images: bool = True, dollars: bool = False) -> str:
    """A text as blocks of HTML. `images` is for researchers' texts only; `dollars` makes a single $ delimit maths."""
    if len(text) > MAX_CHARS:
        return f"<pre>{escape(text)}</pre>"
    marked, formulas = _take_out(text, dollars)
    return _put_back(str((_FULL if images else _PLAIN).render(marked)), formulas)


@lru_cache(maxsize=4096)
def line(text: str, *, dollars: bool = False) -> str:
    """A text as a run of words, without paragraphs: a label, an option, a legend."""
    marked, formulas = _take_out(text, dollars)
    return _put_back(str(_PLAIN.renderInline(marked)).strip(), formulas)


def markup(text: str) -> int:
    """How many signs of markup it has."""
    return len(_MARKUP.findall(text))


def heavy(text: str, most: int = MOST_MARKS) -> bool:
    """Whether to render it may take seconds, here or in a browser; text.js has the same measure for the chat."""
    return markup(text) > most or bool(_COLUMNS.search(text))


def as_typed(text: str) -> str:
    """Markdown that shows a text as it was typed, as code."""
    fence = "~" * (3 + max((len(run) for run in _TILDES.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _take_out(text: str, dollars: bool) -> tuple[str, list[str]]:
    """The text with a mark in the place of each formula, and the formulas as MathML."""
    formulas: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if match["code"] or len(formulas) >= MAX_FORMULAS:
            return match[0]
        inline = match["inline"] or (match["dollar"] if dollars else None)
        formulas.append(mathml(inline or match["block"] or match["dollars"], display=inline is None))
        return f"\ue000{len(formulas) - 1}\ue001"

    return _SPLIT[dollars].sub(mark, text.replace("\ue000", "").replace("\ue001", "")), formulas


def _put_back(rendered: str, formulas: Sequence[str]) -> str:
    return _MARK.sub(lambda match: formulas[int(match[1])], rendered)


def _link_open(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """Links leave the page in a tab of their own: nobody loses a half-filled form, and no address is passed on."""
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    if str(tokens[index].attrs["href"]).lower().startswith("data:"):  # is for pictures alone
        del tokens[index].attrs["href"]
    return str(renderer.renderToken(tokens, index, options, env))


def _image(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """A picture of this host's own, or one that is in the text; of any other its words, as no page may fetch it."""
    if _OWN.match(str(tokens[index].attrs["src"])):
        return str(renderer.image(tokens, index, options, env))
    return escape(tokens[index].content)


def _parser(*, images: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": not images, "maxNesting": 20}).enable(
        ["table", "strikethrough"]
    )
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("image", _image)
    # To the web, to a mail, or within this host: no javascript:, blob: or whatever browsers think of next.
    parser.validateLink = lambda url: bool(_LEADS.match(url))  # type: ignore[method-assign]
    # A researcher's lines are wrapped by an editor and flow again; a participant's stay as they are.
    # What was typed stays as typed: &lt; is no < in a participant's text, and no picture is fetched from anywhere.
    return parser if images else parser.disable(["image", "entity"])


_FULL, _PLAIN = _parser(images=True), _parser(images=False)

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
    return str(renderer.renderToken(tokens, index, options, env))


def _parser(*, images: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": not images, "maxNesting": 20}).enable(
        ["table", "strikethrough"]
    )
    parser.add_render_rule("link_open", _link_open)
    # A researcher's lines are wrapped by an editor and flow again; a participant's stay as they are.
    # What was typed stays as typed: &lt; is no < in a participant's text, and no picture is fetched from anywhere.
    return parser if images else parser.disable(["image", "entity"])


_FULL, _PLAIN = _parser(images=True), _parser(images=False)

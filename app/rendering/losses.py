r"""Markup in an author's text that the page shows as source: the renderer's own verdict, for `parley check`.

A text is parsed as the page parses it. A formula that the page draws as its source is a loss, and so is markup that is
still markup after parsing: tags of HTML, commands of LaTeX outside of formulas, links to addresses that the page does
not open. Code shows everything as written, and loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from markdown_it.token import Token

from app.rendering.markdown import MAX_CHARS, MAX_FORMULAS, Parser
from app.rendering.maths import not_drawn
from problems.pictures import Picture, PictureMap, shortened

# How the page shows a text: as blocks of Markdown (`markdown.html`), as one line of it (`markdown.line`), or as it is
# typed (a title, the label of a button).
Form = Literal["blocks", "line", "plain"]

LONGEST = 60
BLOCKS = ("table", "fence", "code_block", "bullet_list", "ordered_list", "heading", "blockquote", "hr")
_OTHER = "\ufffc"
_MAY_LOSE = re.compile(r"[<\\$\[&\n*_~`]")
# What asks for something: the end of an element, one that ends at once or has an attribute, and one that needs no end.
# Not the mere mention of one, such as <img> without an attribute.
_TAG = re.compile(
    r"<!--|<(?:/(\w+)|(\w+)(?:\s[^<>]*)?/|(\w+)\s[^<>]*=[^<>]*|(hr|wbr|li|d[dt]|p|caption|t[rhd]|script|style))\s*>",
    re.IGNORECASE,
)
# Behind a letter or a dot a backslash may be part of a path, unless an argument follows: `2\frac{1}{2}`.
_COMMAND = re.compile(r"(?<!\\)(?:(?<![\w:/.])|(?=\\[A-Za-z]+\*?\{))\\([A-Za-z]+)\*?(\s*[{\[])?")
_OPENED = re.compile(r"(?<!\\)\\[(\[]")
_DOLLAR = re.compile(r"(?<![\\$])\$(?![\s$])([^$\n]*?(?<![\s\\]))\$(?![\d$])")
_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}")
_LINK = re.compile(
    r"!?\[[^\[\]\n]+\]\((?:[/#][^()\s]*|[^()\n]*:[^()\n]*(?:\([^()\n]*\))?[^()\n]*|[^()\n]*\.\w{2,4})\)"
    rf"|<[a-z][a-z0-9+.-]*:[^<>\s{_OTHER}]*>",  # [text](address)
    re.IGNORECASE,
)
HTML = (
    "which is shown as typed. Write Markdown, such as ![what it shows](file.png) and [text](https://...), or put the "
    "tag between backticks to show it as it is"
)
LATEX = r"where it is shown as typed. Write \( \) around a formula, and Markdown for the rest"
DOLLARS = r"a single $ is money. Set `dollar_maths: true` in the study, or write \( \) around the formula"
LINK = (
    "which is shown as typed. A link begins with https://, http:// or mailto:, or is /s/NAME for a study of the same "
    "server; no address has a blank"
)


@dataclass(frozen=True, slots=True)
class Loss:
    """Markup that is shown as it was written: a phrase whose subject is the text, and of what kind it is, for a file
    that has many of one."""

    kind: str
    what: str


def losses(text: str, form: Form, *, dollars: bool = False) -> tuple[Loss, ...]:
    """All that a text asks for and does not get, once each; pictures apart, which the study's folder has or has not.
    With `dollars` a single $ delimits maths."""
    return _losses(shortened(text), form, dollars) if _MAY_LOSE.search(text) or len(text) > MAX_CHARS else ()


@lru_cache(maxsize=16_384)
def _losses(text: str, form: Form, dollars: bool) -> tuple[Loss, ...]:
    if len(text) > MAX_CHARS:
        return (Loss("size", f"has {len(text):,} characters; above {MAX_CHARS:,} it is shown as typed. Divide it"),)
    env: dict[str, Any] = {"dollars": dollars, "authored": True, "pictures": _EveryPicture()}
    tokens = _BLOCKS.parse(text, env) if form == "blocks" else _LINE.parseInline(text, env)
    found = [loss for token in tokens if token.type == "inline" for loss in _inline(token.children or (), form)]
    found += _blocks(text) if form == "line" and "\n" in text.strip() else ()
    return tuple(dict.fromkeys(found))


class _EveryPicture(PictureMap):
    """Pictures of all names, as others say which there are."""

    def find(self, key: str) -> Picture:
        return Picture(key, "", 0, 0)


def _inline(children: Sequence[Token], form: Form) -> Iterator[Loss]:
    typed = ""
    for token in children:
        plain = token.type == "text" or (token.type == "text_special" and token.content == token.markup)
        typed += token.content if plain else "\n" if token.type in ("softbreak", "hardbreak") else _OTHER
        if form == "plain" and not plain and token.nesting >= 0 and token.type != "softbreak":
            yield Loss("plain", "has Markdown, and is shown without. Put this into a text or a question")
        elif token.type == "formula" and (reason := not_drawn(token.content, display=token.meta["display"])):
            what = f"has the formula {_short(token.content)}, which cannot be drawn: {reason}"
            yield Loss("formula", f"{what}. Write it with other commands, or show it as a picture")
    yield from _typed(typed)


def _typed(typed: str) -> Iterator[Loss]:
    """Markup that is left as typed in the text of a paragraph."""
    for tag in _TAG.finditer(typed):
        name = next(filter(None, tag.groups()), "")
        yield Loss("tag", f"holds {f'the HTML tag <{name}>' if name else 'a comment of HTML'}, {HTML}")
    for opened in _OPENED.finditer(typed):
        what = f"has {opened[0]} without the end of a formula. Close it; a formula has at most 2,000 characters"
        yield Loss("open formula", f"{what}, and a text at most {MAX_FORMULAS} of them")
    for command in _COMMAND.finditer(typed):
        if command[2] or (len(command[1]) > 1 and not not_drawn(command[0])):
            yield Loss("command", f"has `\\{command[1]}` outside of a formula, {LATEX}")
    for found in _DOLLAR.finditer(typed):
        if _is_formula(found[1]):
            yield Loss("dollars", f"has {_short(found[0])}, which is shown as typed: {DOLLARS}")
    yield from (Loss("link", f"has {_short(link[0])}, {LINK}") for link in _LINK.finditer(typed))


def _is_formula(found: str) -> bool:
    """True if the text between two dollars is mathematics and not sums of money or names of variables."""
    return bool(re.search(r"\\[A-Za-z]|[\^_]", found) or (re.search(r"[A-Za-z]", found) and not _WORD.search(found)))


def _blocks(text: str) -> Iterator[Loss]:
    """Blocks in a text of one line."""
    for token in _BLOCKS.parse(text, {"dollars": False, "authored": True}):
        if (kind := token.type.removesuffix("_open")) in BLOCKS:
            what = f"has Markdown of several lines ({kind.replace('_', ' ')}), which is shown as typed in a question"
            yield Loss("blocks", f"{what}, an option or a label. Put it into the text above the questions")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if len(flat) <= LONGEST else f"`{flat[:LONGEST]}...`"


def _parser(*, authored: bool) -> Parser:
    """The page's parser, with letters that were escaped by a backslash kept apart from the text."""
    parser = Parser(authored=authored)
    parser.disable("text_join")
    return parser


_BLOCKS, _LINE = _parser(authored=True), _parser(authored=False)

r"""Markup in an author's text that the page shows as source: the renderer's own verdict, for `parley check`.

A text is parsed as the page parses it. A formula that the page draws as its source is a loss, and so is markup that is
still markup after parsing: tags of HTML, commands of LaTeX outside of formulas, links to addresses that the page does
not open. Code shows everything as written, and loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from typing import Any, Literal

from markdown_it.token import Token

from app.rendering.markdown import MAX_CHARS, MAX_FORMULAS, MAX_NESTING, Parser, unmarked
from app.rendering.maths import not_drawn
from problems.pictures import Picture, PictureMap, shortened

# How the page shows a text: as blocks of Markdown (`markdown.html`), as one line of it (`markdown.line`), or as it is
# typed (a title, the label of a button).
Form = Literal["blocks", "line", "plain"]

# Elements that do something without an end tag or an attribute (HTML, 13.1.2.4, and the void elements of 13.1.2), and
# the two whose content is never shown.
LONE_TAGS = frozenset(
    {"hr", "wbr", "li", "dt", "dd", "p", "rt", "rp", "optgroup", "option", "caption", "colgroup", "thead"}
    | {"tbody", "tfoot", "tr", "td", "th", "script", "style"}
)
INSTEAD: Mapping[str, str] = {
    "img": "For a picture write ![what it shows](file.png)",
    "picture": "For a picture write ![what it shows](file.png)",
    "svg": "Save it as a PNG and write ![what it shows](file.png)",
    "a": "For a link write [text](https://...)",
    "math": r"For a formula write \( \) around LaTeX",
    **dict.fromkeys(("script", "style"), "A text runs no script and sets no style. Leave it out"),
    **dict.fromkeys(
        ("iframe", "embed", "object", "audio", "video", "source", "track"),
        "The page embeds and plays nothing. Link to it: [text](https://...)",
    ),
}
MARKDOWN = "Write Markdown, or put the tag between backticks to show it as it is"
LONGEST = 60
BLOCKS: Mapping[str, str] = {
    "table_open": "a table",
    "fence": "a block of code",
    "code_block": "a block of code",
    "bullet_list_open": "a list",
    "ordered_list_open": "a list",
    "heading_open": "a heading",
    "blockquote_open": "a quotation",
    "hr": "a rule",
}
_OTHER = "\ufffc"
_MAY_LOSE = re.compile(r"[<\\$\[&\n*_~`]|(?:(?:[-*+>]|\d+[.)])\s*){9}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});")
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


@dataclass(frozen=True, slots=True)
class Loss:
    """Markup that is shown as it was written: the line of the text, from 1, a phrase whose subject is the text, and of
    what kind it is, for a file that has many of one."""

    line: int
    what: str
    kind: str

    def __str__(self) -> str:
        return self.what if self.line == 1 else f"line {self.line} of the text: {self.what}"


def losses(text: str, form: Form, *, dollars: bool = False) -> tuple[Loss, ...]:
    """All that a text asks for and does not get, once each, in its order; pictures apart, which the study's folder has
    or has not. With `dollars` a single $ delimits maths."""
    return _losses(shortened(text), form, dollars) if _MAY_LOSE.search(text) or len(text) > MAX_CHARS else ()


@lru_cache(maxsize=16_384)
def _losses(text: str, form: Form, dollars: bool) -> tuple[Loss, ...]:
    if len(text) > MAX_CHARS:
        return (Loss(1, f"has {len(text):,} characters; above {MAX_CHARS:,} it is shown as typed. Divide it", "size"),)
    env: dict[str, Any] = {"dollars": dollars, "authored": True, "pictures": _EveryPicture()}
    tokens = _BLOCKS.parse(text, env) if form == "blocks" else _LINE.parseInline(text, env)
    found = list(_LossFinder(env, form).of(tokens))
    if form == "line" and "\n" in text.strip():
        found += _blocks(text)
    once = {loss.what: loss for loss in reversed(found)}
    return tuple(sorted(once.values(), key=lambda loss: loss.line))


class _LossFinder:
    """Finds the losses in the tokens of one text."""

    def __init__(self, env: Mapping[str, Any], form: Form) -> None:
        self._formulas, self._form = env["formulas"], form
        self._marked = str(env["marked"]).split("\n")

    def of(self, tokens: Sequence[Token]) -> Iterator[Loss]:
        at = 0
        for token in tokens:
            at = token.map[0] if token.map else at
            if token.level >= MAX_NESTING - 1:
                what = "is nested too deeply, and shown as typed. Use fewer lists within lists"
                yield Loss(self._line(at), what, "nesting")
                return
            if token.type == "inline":
                yield from self._inline(token.children or (), self._line(at))

    def _line(self, number: int) -> int:
        """The line of the text, from 1, for one of the text without formulas, which can have several lines."""
        before = "".join(f"{line}\n" for line in self._marked[:number])
        return 1 + unmarked(before, self._formulas).count("\n")

    def _inline(self, children: Sequence[Token], line: int) -> Iterator[Loss]:
        typed = ""
        for token in children:
            here = line + typed.count("\n")
            if token.type == "softbreak" or (token.type == "hardbreak" and self._form != "plain"):
                typed += "\n"
            elif token.type == "text" or (token.type == "text_special" and token.content == token.markup):
                typed += token.content
            else:
                typed += _OTHER + "\n" * token.content.count("\n")
                yield from (Loss(here, what, kind) for what, kind in self._drawn(token))
        for at, what, kind in _typed(typed, self._form):
            yield Loss(line + typed[:at].count("\n"), what, kind)

    def _drawn(self, token: Token) -> Iterator[tuple[str, str]]:
        """Losses of an element that the page draws, each with its kind."""
        if self._form == "plain":
            if token.nesting >= 0:
                yield "has Markdown, and is shown without. Put this into a text or a question", "plain"
        elif token.type == "formula" and (reason := not_drawn(token.content, display=token.meta["display"])):
            yield (
                f"has the formula {_short(token.content)}, which cannot be drawn: {reason}. Write it with other "
                "commands, or show it as a picture",
                "formula",
            )


class _EveryPicture(PictureMap):
    """Pictures of all names, as others say which there are."""

    def find(self, key: str) -> Picture:
        return Picture(key, "", 0, 0)


def _typed(typed: str, form: Form) -> Iterator[tuple[int, str, str]]:
    """Markup that is left as typed in the text of a paragraph, with its offset and its kind."""
    yield from _html(typed, form)
    yield from _latex(typed)
    for link in _LINK.finditer(typed):
        what = (
            f"has {_short(link[0])}, which is shown as typed. A link begins with https://, http:// or mailto:, or is "
        )
        yield link.start(), f"{what}/s/NAME for a study of the same server; no address has a blank", "link"


def _html(typed: str, form: Form) -> Iterator[tuple[int, str, str]]:
    for at, name in _Tags(typed).found if "<" in typed else ():
        kind = f"the HTML tag <{name}>" if name else "a comment or an instruction of HTML"
        yield at, f"holds {kind}, which is shown as typed. {INSTEAD.get(name, MARKDOWN)}", "tag"
    for entity in _ENTITY.finditer(typed) if form != "blocks" else ():
        if unescape(entity[0]) != entity[0]:
            what = f"has `{entity[0]}`, which is shown as typed. Write the character itself"
            yield entity.start(), what, "entity"


def _latex(typed: str) -> Iterator[tuple[int, str, str]]:
    for opened in _OPENED.finditer(typed):
        what = (
            f"has {opened[0]} without the end of a formula. Close it; a formula has at most 2,000 characters, and a "
            f"text at most {MAX_FORMULAS} of them"
        )
        yield opened.start(), what, "open formula"
    for command in _COMMAND.finditer(typed):
        if command[2] or (len(command[1]) > 1 and not not_drawn(command[0])):
            what = f"has `\\{command[1]}` outside of a formula, where it is shown as typed"
            yield command.start(), rf"{what}. Write \( \) around a formula, and Markdown for the rest", "command"
    for found in _DOLLAR.finditer(typed):
        if _is_formula(found[1]):
            what = f"has {_short(found[0])}, which is shown as typed: a single $ is money"
            instead = rf"{what}. Set `dollar_maths: true` in the study, or write \( \) around the formula"
            yield found.start(), instead, "dollars"


class _Tags(HTMLParser):
    """Reads a text as a browser would, and keeps the tags that ask for something: not the mere mention of one, such as
    <img> without an attribute."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[int, str]] = []
        self._starts = [0, *(end.end() for end in re.finditer("\n", text))]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LONE_TAGS or any(value is not None for _, value in attrs):
            self._keep(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._keep(tag)

    def handle_endtag(self, tag: str) -> None:
        self._keep(tag)

    def handle_comment(self, data: str) -> None:
        self._keep("")

    def handle_decl(self, decl: str) -> None:
        self._keep("")

    def handle_pi(self, data: str) -> None:
        self._keep("")

    def _keep(self, name: str) -> None:
        line, column = self.getpos()
        self.found.append((self._starts[line - 1] + column, name))


def _is_formula(found: str) -> bool:
    """True if the text between two dollars is mathematics and not sums of money or names of variables."""
    return bool(re.search(r"\\[A-Za-z]|[\^_]", found) or (re.search(r"[A-Za-z]", found) and not _WORD.search(found)))


def _blocks(text: str) -> Iterator[Loss]:
    """Blocks in a text of one line, by its lines."""
    for token in _BLOCKS.parse(text, {"dollars": False, "authored": True}):
        if token.type in BLOCKS and token.map:
            what = f"has {BLOCKS[token.type]}, which is shown as typed in a question, an option or a label"
            yield Loss(token.map[0] + 1, f"{what}. Put it into the text above the questions", "blocks")


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if len(flat) <= LONGEST else f"`{flat[:LONGEST]}...`"


def _parser(*, authored: bool) -> Parser:
    """The page's parser, with letters that were escaped by a backslash kept apart from the text."""
    parser = Parser(authored=authored)
    parser.disable("text_join")
    return parser


_BLOCKS, _LINE = _parser(authored=True), _parser(authored=False)

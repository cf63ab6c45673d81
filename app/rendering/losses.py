r"""What an author's text asks for and the page does not show: the renderer's own verdict, for `parley check`.

A text is parsed as the page parses it. A formula that the page draws as its source is a loss, and so is markup that is
still markup after parsing, because the page shows it as typed: tags of HTML, commands of LaTeX outside of formulas,
footnotes, links of a scheme that the page does not open. Code shows everything as typed, and loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from typing import Any, Literal
from urllib.parse import unquote

from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

from app.rendering.markdown import MAX_CHARS, MAX_FORMULAS, MAX_NESTING, Parser, unmarked
from app.rendering.maths import not_drawn
from problems.pictures import shortened

Form = Literal["blocks", "line", "plain"]
"""How the page shows a text: as blocks of Markdown (`markdown.html`), as one line of it (`markdown.line`), or as it is
typed (a title, the label of a button)."""

LONE_TAGS = frozenset(
    {"br", "hr", "wbr", "li", "dt", "dd", "p", "rt", "rp", "optgroup", "option", "caption", "colgroup", "thead"}
    | {"tbody", "tfoot", "tr", "td", "th", "script", "style"}
)
"""Elements that do something without an end tag or an attribute (HTML, 13.1.2.4, and the void elements of 13.1.2), and
the two whose content is never shown."""
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
"""What to write in place of a tag."""
MARKDOWN = "Write Markdown, or put the tag between backticks to show it as it is"
LONGEST = 60
"""The most characters of a text that an error quotes."""
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
"""What a text of one line cannot have, by the token that begins it."""
_OTHER = "\ufffc"
"""Stands for what is drawn, among the text that is shown as typed."""
_MAY_LOSE = re.compile(r"[<\\$\[|&\n*_~`]|(?:(?:[-*+>]|\d+[.)])\s*){9}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,31});")
_COMMAND = re.compile(r"(?<![\w:\\/.])\\([A-Za-z]+)\*?(\s*[{\[])?")
_DOLLAR = re.compile(r"(?<![\\$])\$(?![\s$])([^$\n]*?(?<![\s\\]))\$(?![\d$])")
_WORD = re.compile(r"(?<!\\)\b[^\W\d_]{2,}")
_LINK = re.compile(
    r"!?\[[^\[\]\n]+\]\((?:[^()\n]*:[^()\n]*(?:\([^()\n]*\))?[^()\n]*|[^()\n]*\.\w{2,4})\)"  # [text](address)
    rf"|<[a-z][a-z0-9+.-]*:[^<>\s{_OTHER}]*>"
    r"|^\[[^\[\]\n]+\]:[ \t]*[a-z][a-z0-9+.-]*:\S+",  # [name]: address
    re.IGNORECASE | re.MULTILINE,
)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_BOX = re.compile(r"\[[ xX]\]\s")
_DASHES = re.compile(r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t]*(?::?-{2,}:?[ \t]*)?$", re.MULTILINE)
_LEADS = re.compile(r"https?://|//|mailto:|/s/[\w-]{1,60}(?:[?#]|$)|\{\{", re.IGNORECASE)
"""Links to other sites open in a new tab; of this server's own addresses a text can name the studies."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What is not shown: the line of the text, from 1, and a phrase whose subject is the text."""

    line: int
    what: str

    def __str__(self) -> str:
        return self.what if self.line == 1 else f"line {self.line} of the text: {self.what}"


def losses(text: str, form: Form) -> tuple[Loss, ...]:
    """All that a text asks for and does not get, once each, in its order; pictures apart, which the study's folder has
    or has not."""
    return _losses(shortened(text), form) if _MAY_LOSE.search(text) or len(text) > MAX_CHARS else ()


@lru_cache(maxsize=16_384)
def _losses(text: str, form: Form) -> tuple[Loss, ...]:
    if len(text) > MAX_CHARS:
        return (Loss(1, f"has {len(text):,} characters; above {MAX_CHARS:,} it is shown as typed. Divide it"),)
    env: dict[str, Any] = {"dollars": False}
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
        """The losses of all tokens."""
        at, before = 0, ""
        for token in tokens:
            at = token.map[0] if token.map else at
            if token.level >= MAX_NESTING - 1:
                yield Loss(self._line(at), "is nested too deeply, and shown as typed. Use fewer lists within lists")
                return
            if token.type == "table_open" and token.level == 0 and token.map:
                yield from self._rows(*token.map)
            elif token.type == "inline":
                yield from self._inline(token.children or (), self._line(at), item=before == "list_item_open")
            if token.type != "paragraph_open":
                before = token.type

    def _line(self, number: int) -> int:
        """The line of the text, from 1, for one of the text without formulas, which can have several lines."""
        before = "".join(f"{line}\n" for line in self._marked[:number])
        return 1 + unmarked(before, self._formulas).count("\n")

    def _inline(self, children: Sequence[Token], line: int, *, item: bool) -> Iterator[Loss]:
        typed = ""
        for token in children:
            here = line + typed.count("\n")
            if token.type in ("softbreak", "hardbreak"):
                typed += "\n"
            elif token.type == "text" or (token.type == "text_special" and token.content == token.markup):
                typed += token.content
            else:
                typed += _OTHER + "\n" * token.content.count("\n")
                yield from (Loss(here, what) for what in self._drawn(token))
        for at, what in _typed(typed, self._form):
            yield Loss(line + typed[:at].count("\n"), what)
        if item and _BOX.match(typed):
            yield Loss(line, "has a task list, whose boxes are shown as typed. Ask with a question instead")

    def _drawn(self, token: Token) -> Iterator[str]:
        """What is lost of something that the page draws."""
        if self._form == "plain":
            if token.nesting >= 0:
                yield "has Markdown, and is shown without. Put this into a text or a question"
        elif token.type == "formula":
            if reason := not_drawn(token.content, display=token.meta["display"]):
                yield (
                    f"has the formula {_short(token.content)}, which cannot be drawn: {reason}. Write it with other "
                    "commands, or show it as a picture"
                )
        elif token.type == "text_special" and token.markup in (r"\(", r"\["):
            yield (
                f"has {token.markup} without the end of a formula. Close it; a formula has at most 2,000 characters, "
                f"and a text at most {MAX_FORMULAS} of them"
            )
        elif token.type == "link_open":
            target = unquote(str(token.attrs["href"]))
            if not _LEADS.match(target):
                yield (
                    f"links to {_short(target)}, which leads nowhere: files beside a study are not served, except "
                    "pictures, and headings have no anchors. Write a whole address that begins with https://, or "
                    "/s/NAME for a study of the same server"
                )

    def _rows(self, begin: int, end: int) -> Iterator[Loss]:
        """Rows of a table with more cells than its head, which are left out."""
        columns = _cells(self._marked[begin])
        for number in range(begin + 2, min(end, len(self._marked))):
            if (cells := _cells(self._marked[number])) > columns:
                yield Loss(
                    self._line(number),
                    f"has a row of {cells} cells in a table of {columns} columns; the others are not shown. Add "
                    r"columns to its head, or write \| for a line within a cell",
                )


def _typed(typed: str, form: Form) -> Iterator[tuple[int, str]]:
    """What is left as typed of the markup in the text of a paragraph, with where it begins."""
    yield from _html(typed, form)
    yield from _latex(typed)
    for link in _LINK.finditer(typed):
        what = f"has {_short(link[0])}, which is shown as typed"
        yield link.start(), f"{what}. A link begins with https://, http:// or mailto:, and no address has a blank"
    for note in _FOOTNOTE.finditer(typed):
        yield note.start(), f"has the footnote {_short(note[0])}, which is shown as typed. Write it into the text"
    for line in _DASHES.finditer(typed) if form == "blocks" else ():
        what = "has a table that is shown as typed"
        yield line.start(), f"{what}. Its line of dashes comes after its head, and has as many cells"


def _html(typed: str, form: Form) -> Iterator[tuple[int, str]]:
    for at, name in _Tags(typed).found if "<" in typed else ():
        kind = f"the HTML tag <{name}>" if name else "a comment or an instruction of HTML"
        yield at, f"holds {kind}, which is shown as typed. {INSTEAD.get(name, MARKDOWN)}"
    for entity in _ENTITY.finditer(typed) if form != "blocks" else ():
        if unescape(entity[0]) != entity[0]:
            yield entity.start(), f"has `{entity[0]}`, which is shown as typed. Write the character itself"


def _latex(typed: str) -> Iterator[tuple[int, str]]:
    for command in _COMMAND.finditer(typed):
        if command[2] or (len(command[1]) > 1 and not not_drawn(command[0])):
            what = f"has `\\{command[1]}` outside of a formula, where it is shown as typed"
            yield command.start(), rf"{what}. Write \( \) around a formula, and Markdown for the rest"
    for found in _DOLLAR.finditer(typed):
        if _is_formula(found[1]):
            what = f"has {_short(found[0])}, which is shown as typed: a single $ is money"
            yield found.start(), rf"{what}. Write \( \) around the formula"


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
    """Whether the text between two dollars is mathematics and not sums of money or names of variables."""
    return bool(re.search(r"\\[A-Za-z]|[\^_]", found) or (re.search(r"[A-Za-z]", found) and not _WORD.search(found)))


def _blocks(text: str) -> Iterator[Loss]:
    """Blocks in a text of one line, by its lines."""
    for token in _BLOCKS.parse(text, {"dollars": False}):
        if token.type in BLOCKS and token.map:
            what = f"has {BLOCKS[token.type]}, which is shown as typed in a question, an option or a label"
            yield Loss(token.map[0] + 1, f"{what}. Put it into the text above the questions")


def _cells(row: str) -> int:
    """How many cells a line of a table has."""
    return len(escapedSplit(re.sub(r"^\||(?<!\\)\|$", "", row.strip())))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"`{flat}`" if len(flat) <= LONGEST else f"`{flat[:LONGEST]}...`"


def _parser(*, written: bool) -> Parser:
    """The page's parser, with letters that were escaped by a backslash kept apart from the text."""
    parser = Parser(written=written, images=True)
    parser.disable("text_join")
    return parser


_BLOCKS, _LINE = _parser(written=True), _parser(written=False)

r"""Renders texts as HTML: Markdown, formulas, tables and code. HTML tags in a text are shown as typed.

All texts of researchers, participants and models are rendered here: panels, conversations, the console, and streamed
replies. Formulas are delimited by \( \), \[ \] or $$ $$, by single $ if the study says so, or are a bare environment.
They are replaced by marks before Markdown is parsed (it would change their backslashes, asterisks and lines that start
with a minus), and inserted as MathML afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from app.rendering.maths import mathml
from problems.pictures import PictureMap, shortened

MAX_CHARS = 40_000
MAX_FORMULAS = 200
MAX_NESTING = 20
"""The deepest nesting in levels of markdown-it: a list counts as two, a quote as one."""
MAX_COLOURED = 10_000
MOST_MARKS = 800
"""The most markup characters in a participant's or a model's text. A long answer full of formulas has some hundreds."""
LANGUAGES = frozenset(
    {
        "bash",
        "c",
        "c++",
        "cpp",
        "cs",
        "csharp",
        "css",
        "diff",
        "go",
        "haskell",
        "html",
        "java",
        "javascript",
        "js",
        "json",
        "julia",
        "kotlin",
        "latex",
        "lean",
        "lua",
        "make",
        "matlab",
        "octave",
        "perl",
        "php",
        "powershell",
        "python",
        "py",
        "python3",
        "r",
        "ruby",
        "rust",
        "scala",
        "sh",
        "shell",
        "sql",
        "swift",
        "tex",
        "toml",
        "ts",
        "typescript",
        "xml",
        "yaml",
        "yml",
    }
)
"""The languages with syntax highlighting, by the name after a code fence."""

# Code comes first: a formula within code is code.
_CODE = (
    r"(?P<code>^[ ]{0,3}(?P<fence>```+(?!`)|~~~+(?!~))[^\n]*\n(?:[\s\S]*?^[ ]{0,3}(?P=fence)[^\n]*$|[\s\S]*\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)[\s\S]+?(?<!`)(?P=ticks)(?!`))"
)
_FORMULA = (
    r"\\\((?P<inline>[\s\S]{1,2000}?)\\\)|\\\[(?P<block>[\s\S]{1,2000}?)\\\]|\$\$(?P<dollars>[\s\S]{1,2000}?)\$\$"
    r"|(?P<bare>\\begin\{(?P<name>(?:align|aligned|alignat|array|cases|equation|eqnarray|flalign|gather|gathered"
    r"|[pbBvV]?matrix|multline|split)\*?)\}[\s\S]{1,2000}?\\end\{(?P=name)\})"
)
_DOLLAR = r"|(?<![\\$])\$(?![\s$])(?P<dollar>[^$\n]*?(?<![\s\\]))\$(?![\d$])"
_SPLIT = {
    False: re.compile(f"{_CODE}|{_FORMULA}", re.MULTILINE),
    True: re.compile(f"{_CODE}|{_FORMULA}{_DOLLAR}", re.MULTILINE),
}
_OPEN = re.compile(_CODE + r"|\\[(\[]|\$\$|\\begin\{", re.MULTILINE)
_MARK = re.compile("(\ue000[0-9]{1,3}\ue001)")
_ENDS = re.compile(r"[.,;:!?)\]}%’”»…،؛؟。、，；：！？）」』】]+")  # noqa: RUF001
"""Punctuation before which no line breaks (UAX #14, rules LB13 and LB15)."""
_MARKUP = re.compile(r"[\[\]|*_`~<$\n]|\\[(\[]")
_COLUMNS = re.compile(r"(?:\|[^|\n]*){31}")
_TIMES = re.compile("(?<=[A-Za-z0-9)\\]}\ue001])[*]+(?=[A-Za-z0-9(\\[{\ue000])")
"""Asterisks right behind a number, a letter, a bracket or a formula, and right before another."""
_TILDES = re.compile("~+")
_LEADS = re.compile(r"https?:|mailto:|[^:]*(?:[/?#]|$)", re.IGNORECASE)
_COLOURS: HtmlFormatter[str] = HtmlFormatter(nowrap=True)

Env = MutableMapping[str, Any]


@lru_cache(maxsize=4096)
def html(
    text: str,
    *,
    images: bool = True,
    dollars: bool = False,
    typed: bool = False,
    copy: str = "Copy",
    pictures: PictureMap | None = None,
) -> str:
    """A text as blocks of HTML. `images` must be false for texts of participants and models; `dollars` makes a single $
    delimit maths; `typed` leaves the asterisks of a participant's 2*3*4 as they are; `copy` is the label of the button
    beside code, which is left out if empty. Of `pictures` those are shown that the text asks for; of any other only the
    alternative text."""
    text = shortened(text) if images or pictures else text
    if len(text) > MAX_CHARS:
        return f"<pre>{escape(text)}</pre>"
    parser = _FULL if images else _QUOTED if pictures else _PLAIN
    env = {"dollars": dollars, "typed": typed, "copy": copy, "pictures": pictures, "quoted": not images}
    tokens = parser.parse(text, env)
    if any(token.level >= MAX_NESTING - 1 for token in tokens):  # markdown-it leaves out what is deeper
        tokens = parser.parse(as_code(text), env)
    return str(parser.renderer.render(tokens, parser.options, env))


def render_message(
    text: str,
    *,
    dollars: bool,
    typed: bool = False,
    copy: str = "Copy",
    most: int = MOST_MARKS,
    pictures: PictureMap | None = None,
) -> str:
    """A model's message, or one that is `typed` by a person, as HTML; as code if rendering it could take seconds.
    `pictures` only for a conversation that is part of a study."""
    text = shortened(text) if pictures else text
    shown = as_code(text) if too_complex(text, most) else text
    return html(shown, images=False, dollars=dollars, typed=typed, copy=copy, pictures=pictures)


@lru_cache(maxsize=4096)
def line(text: str, *, dollars: bool = False, pictures: PictureMap | None = None) -> str:
    """A text as inline HTML, without paragraphs: a label, an option, a legend. With `pictures` as in `html`."""
    if pictures is None:
        return str(_PLAIN.renderInline(text, {"dollars": dollars})).strip()
    return str(
        _QUOTED.renderInline(shortened(text), {"dollars": dollars, "pictures": pictures, "quoted": True})
    ).strip()


def extended(text: str, *, dollars: bool) -> tuple[str, str]:
    """Split a growing text in two: the blocks that can no longer change, and the rest, which begins with the last block
    or with the first that has an unfinished formula."""
    env: Env = {"dollars": dollars}
    begins = [token.map[0] for token in _PLAIN.parse(text, env) if token.level == 0 and token.map]
    marked = str(env["marked"])
    lines = marked.split("\n")
    opened = next((found.start() for found in _OPEN.finditer(marked) if not found["code"]), len(marked))
    open_line = marked.count("\n", 0, opened)
    last = max((begin for begin in begins if begin <= open_line), default=0)
    sure, rest = ("\n".join(some) for some in ([*lines[:last], ""], lines[last:]))
    return unmarked(sure, env["formulas"]), unmarked(rest, env["formulas"])


def markup(text: str) -> int:
    """The number of markup characters in a text."""
    return len(_MARKUP.findall(text))


def too_complex(text: str, most: int = MOST_MARKS) -> bool:
    """Whether rendering a text could take seconds."""
    return markup(text) > most or bool(_COLUMNS.search(text))


def as_code(text: str) -> str:
    """Markdown that shows a text exactly as typed, as a code block."""
    fence = "~" * (3 + max((len(run) for run in _TILDES.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


@dataclass(frozen=True, slots=True)
class _Formula:
    source: str
    latex: str
    display: bool


def _take_out(state: StateCore) -> None:
    """Replace each formula by a mark."""
    formulas: dict[str, _Formula] = {}
    state.env["formulas"] = formulas

    def marked(match: re.Match[str]) -> str:
        if match["code"] or len(formulas) >= MAX_FORMULAS:
            return match[0]
        inline = match["inline"] or (match["dollar"] if state.env["dollars"] else None)
        latex = inline or match["block"] or match["dollars"] or match["bare"]
        mark = f"\ue000{len(formulas)}\ue001"
        formulas[mark] = _Formula(match[0], latex, inline is None)
        return mark

    text = state.src.replace("\ue000", "").replace("\ue001", "")
    state.env["marked"] = state.src = _SPLIT[state.env["dollars"]].sub(marked, text)


def _put_back(state: StateCore) -> None:
    """Replace the marks by formulas, or by their sources where only text is possible, as in code or a title."""
    if state.env["formulas"]:
        state.tokens = list(_with_formulas(state.tokens, state.env["formulas"]))


def _with_formulas(tokens: Sequence[Token], formulas: Mapping[str, _Formula]) -> Iterator[Token]:
    for token in tokens:
        if token.type == "text":
            yield from _text_with_formulas(token, formulas)
            continue
        token.content, token.info = unmarked(token.content, formulas), unmarked(token.info, formulas)
        for name, value in token.attrs.items():
            token.attrs[name] = unmarked(value, formulas) if isinstance(value, str) else value
        if token.children is not None:
            token.children = list(_with_formulas(token.children, formulas))
        yield token


def _text_with_formulas(text: Token, formulas: Mapping[str, _Formula]) -> Iterator[Token]:
    """A formula in a line, and the punctuation right behind it, are one span that no line breaks."""
    parts = _MARK.split(text.content)
    for at, part in enumerate(parts):
        formula = formulas.get(part)
        if formula is None:
            yield replace(text, content=part)
            continue
        drawn = Token("formula", "math", 0, content=formula.latex, meta={"display": formula.display})
        ends = None if formula.display else _ENDS.match("".join(parts[at + 1 : at + 2]))
        if ends is None:
            yield drawn
            continue
        parts[at + 1] = parts[at + 1][ends.end() :]
        yield Token("whole_open", "span", 1, attrs={"class": "whole"})
        yield from (drawn, replace(text, content=ends[0]))
        yield Token("whole_close", "span", -1)


def unmarked(text: str, formulas: Mapping[str, _Formula]) -> str:
    """A text with the marks of formulas replaced by their sources."""
    return _MARK.sub(lambda mark: formulas[mark[0]].source if mark[0] in formulas else mark[0], text)


def _times(state: StateInline, silent: bool) -> bool:
    """In what a person typed, asterisks within 2*3*4 are signs; models write Markdown on purpose."""
    signs = _TIMES.match(state.src, state.pos) if state.env.get("typed") else None
    if signs is None:
        return False
    if not silent:
        state.pending += signs[0]
    state.pos = signs.end()
    return True


def _formula(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """A formula of its own line is in a box that scrolls: Firefox scrolls no MathML."""
    display = bool(tokens[index].meta["display"])
    drawn = mathml(tokens[index].content, display=display)
    return f'<span class="formula">{drawn}</span>' if display else drawn


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """Open links in a new tab, so that a half-filled form is not lost, and without a referrer."""
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    return str(renderer.renderToken(tokens, index, options, env))


def _image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """A picture of the study, by an address that says nothing but its hash; of any other the alternative text, or in a
    conversation what was written."""
    token, pictures = tokens[index], env.get("pictures")
    picture = pictures.find(str(token.attrs["src"])) if pictures else None
    alt = escape(renderer.renderInlineAsText(token.children, options, env) if token.children else token.content)
    if picture is None:
        return escape(f"![{token.content}]({token.attrs['src']})") if env.get("quoted") else alt
    size = f'width="{picture.width}" height="{picture.height}"'
    return f'<img src="picture/{picture.sha256}" alt="{alt}" {size}>'


def _code(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """A scrolling code block, with syntax highlighting for known languages and a copy button."""
    code, language = tokens[index].content, tokens[index].info.split(" ", 1)[0].lower()
    coloured = escape(code)
    if language in LANGUAGES and len(code) <= MAX_COLOURED:
        coloured = highlight(code, get_lexer_by_name(language, stripnl=False), _COLOURS)
    button = f'<button type="button" class="copy">{escape(env["copy"])}</button>' if env["copy"] else ""
    return f'<div class="code-block"><pre translate="no"><code>{coloured}</code></pre>{button}</div>\n'


def _code_inline(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """Code within a line, which a browser's translation leaves alone, as it does formulas and blocks of code."""
    return f'<code translate="no">{escape(tokens[index].content)}</code>'


def _table_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    return f'<div class="wide">{renderer.renderToken(tokens, index, options, env)}'


def _table_close(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    return f"{renderer.renderToken(tokens, index, options, env)}</div>\n"


class Parser(MarkdownIt):
    """The page's Markdown. `written` is for the texts of researchers, without it a text is shown as it was typed."""

    def __init__(self, *, written: bool = False, images: bool = False) -> None:
        super().__init__("commonmark", {"html": False, "breaks": not written, "maxNesting": MAX_NESTING})
        self.enable(["table", "strikethrough"])
        # A participant's text is shown as typed: &lt; is not decoded, no image is loaded, and line breaks stay.
        # A researcher's lines are wrapped by an editor, so their breaks are spaces.
        self.disable([*(["entity"] if not written else []), *(["image"] if not images else [])])
        self.core.ruler.after("normalize", "formulas_out", _take_out)
        self.core.ruler.push("formulas_in", _put_back)
        self.inline.ruler.before("emphasis", "times", _times)
        rules = {"link_open": _link_open, "image": _image, "table_open": _table_open, "table_close": _table_close}
        for name, rule in {
            **rules,
            "fence": _code,
            "code_block": _code,
            "code_inline": _code_inline,
            "formula": _formula,
        }.items():
            self.add_render_rule(name, rule)

    def validateLink(self, url: str) -> bool:
        """Allow links to the web, to mail addresses and within this host only; not javascript:, blob: and others."""
        return bool(_LEADS.match(url))


_FULL, _PLAIN = Parser(written=True, images=True), Parser()
_QUOTED = Parser(images=True)
"""For options and for the finished conversations of a study: as typed, with the study's pictures."""

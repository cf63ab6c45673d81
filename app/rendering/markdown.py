r"""Renders texts as HTML: Markdown, formulas, tables and code.

All texts of researchers, participants and models are rendered here: panels, conversations, the console, and streamed
replies. Formulas are delimited by \( \), \[ \] or $$ $$, by single $ if the study says so, or are a bare environment.
They are replaced by marks before Markdown is parsed (it would change their backslashes, asterisks and lines that start
with a minus), and inserted as MathML afterwards. What a person typed into a conversation is shown as it was typed, but
for formulas and code between fences.

What is written is what is shown: the page holds every visible character of a text, in its order, except
- marks that became what they ask for: of headings, quotations, lists, tables, rules, fences, code, emphasis, links, the
  tags of `tags.py`, and the delimiters and commands of formulas. Items of lists keep their numbers;
- the address of a link, which is in its `href`, and of a picture of the study, whose text is its alternative text;
- a backslash before a sign, which makes it a sign;
- in a researcher's blocks, entities such as `&lt;`, which are shown as the character that they name.
Therefore definitions of links (`[1]: https://...`) and tags of other names are text; a link leads only to an absolute
address of the web or of mail; and cells beyond a table's head are shown as well.
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
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, emphasis, image, link, strikethrough
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from app.rendering.code import CODE
from app.rendering.emphasis import FORMULA_BEGINS, FORMULA_ENDS, sign_aware
from app.rendering.maths import mathml
from app.rendering.tags import draw_tags
from problems.pictures import Picture, PictureMap, shortened

MAX_CHARS = 40_000
MAX_FORMULAS = 200
# The deepest nesting in levels of markdown-it: a list counts as two, a quote as one.
MAX_NESTING = 20
MAX_COLOURED = 10_000
# The most markup characters in a participant's or a model's text. A long answer full of formulas has some hundreds.
MOST_MARKS = 800
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

_FORMULA = (
    r"\\\((?P<inline>[\s\S]{1,2000}?)\\\)|\\\[(?P<block>[\s\S]{1,2000}?)\\\]|(?<!(?<!\$)\$)\$\$(?!\$)(?P<dollars>[\s\S]{1,2000}?)(?<!\$)\$\$(?!\$(?!\$))"
    r"|(?P<bare>\\begin\{(?P<name>(?:align|aligned|alignat|array|cases|equation|eqnarray|flalign|gather|gathered"
    r"|[pbBvV]?matrix|multline|split)\*?)\}[\s\S]{1,2000}?\\end\{(?P=name)\})"
)
_DOLLAR = r"|(?<![\\$])\$(?![\s$])(?P<dollar>[^$\n]*?(?<![\s\\]))\$(?![\d$])"
_SPLIT = {
    False: re.compile(f"{CODE}|{_FORMULA}", re.MULTILINE),
    True: re.compile(f"{CODE}|{_FORMULA}{_DOLLAR}", re.MULTILINE),
}
_OPEN = re.compile(CODE + r"|\\[(\[]|\$\$|\\begin\{|<details>(?![\s\S]*</details>)", re.MULTILINE)
_MARK = re.compile(f"({FORMULA_BEGINS}[0-9]{{1,3}}{FORMULA_ENDS})")
# Punctuation before which no line breaks (UAX #14, rules LB13 and LB15).
_ENDS = re.compile(r"[.,;:!?)\]}%’”»…،؛؟。、，；：！？）」』】]+")  # noqa: RUF001
_MARKUP = re.compile(r"[\[\]|*_`~<$\n]|\\[(\[]")
_COLUMNS = re.compile(r"(?:\|[^|\n]*){31}")
_TILDES = re.compile("~+")
_BACKSLASH = {True: re.compile(r"\\[()\[\]]"), False: re.compile(r"\\(?:[()\[\]]|(?=\n))")}
_BARS = re.compile(r"^\||(?<!\\)\|$")
_PICTURE = re.compile(r"!\[([^\[\]\n]*)\]\(([^()\s]+)\)")
_ABSOLUTE = re.compile(r"https?://[^/]|mailto:.", re.IGNORECASE)
# A study of the same server, or the name of a value that is such an address.
_STUDY = re.compile(r"/s/[\w-]{1,60}(?:[?#]|$)|%7B%7B|\{\{", re.IGNORECASE)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//|$", re.IGNORECASE)
_COLOURS: HtmlFormatter[str] = HtmlFormatter(nowrap=True)

Env = MutableMapping[str, Any]


@lru_cache(maxsize=4096)
def html(
    text: str,
    *,
    authored: bool = True,
    dollars: bool = False,
    typed: bool = False,
    copy: str = "Copy",
    pictures: PictureMap | None = None,
) -> str:
    """`authored` must be false for texts of participants and models: it decodes entities and allows links to studies of
    the same server. `dollars` makes a single $ delimit maths; `typed` shows a person's message as it was typed; `copy`
    labels the button beside code, if any. Only `pictures` are shown; others as they were written."""
    text = shortened(text) if authored or pictures else text
    if len(text) > MAX_CHARS:
        return f"<pre>{escape(text)}</pre>"
    env = {"dollars": dollars, "authored": authored, "copy": copy, "pictures": pictures}
    if typed:
        return "".join(_as_typed(text, env))
    parser = _AUTHORED if authored else _PLAIN
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
    """A message as HTML, or as code if that could take seconds. `pictures` only for a study's conversation."""
    text = shortened(text) if pictures else text
    shown = as_code(text) if too_complex(text, most) else text
    return html(shown, authored=False, dollars=dollars, typed=typed, copy=copy, pictures=pictures)


@lru_cache(maxsize=4096)
def line(text: str, *, dollars: bool = False, pictures: PictureMap | None = None) -> str:
    """A label, an option, a legend, without paragraphs. `dollars` and `pictures` as in `html`."""
    env = {"dollars": dollars, "authored": True, "pictures": pictures}
    return str(_AUTHORED.renderInline(shortened(text) if pictures else text, env)).strip()


def extended(text: str, *, dollars: bool) -> tuple[str, str]:
    """The blocks that can no longer change, and the rest from the last block or the first unfinished formula."""
    env: Env = {"dollars": dollars, "authored": False}
    begins = [token.map[0] for token in _PLAIN.parse(text, env) if token.level == 0 and token.map]
    marked = str(env["marked"])
    lines = marked.split("\n")
    opened = next((found.start() for found in _OPEN.finditer(marked) if not found["code"]), len(marked))
    open_line = marked.count("\n", 0, opened)
    last = max((begin for begin in begins if begin <= open_line), default=0)
    sure, rest = ("\n".join(some) for some in ([*lines[:last], ""], lines[last:]))
    return unmarked(sure, env["formulas"]), unmarked(rest, env["formulas"])


def markup(text: str) -> int:
    return len(_MARKUP.findall(text))


def too_complex(text: str, most: int = MOST_MARKS) -> bool:
    """True if rendering a text could take seconds."""
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


def _formula_of(match: re.Match[str]) -> _Formula | None:
    """The formula that a match of `_SPLIT` is; None if it is code, or blank."""
    groups = match.groupdict()
    inline = groups["inline"] or groups.get("dollar")
    latex = inline or groups["block"] or groups["dollars"] or groups["bare"] or ""
    return _Formula(match[0], latex, inline is None) if latex.strip() else None


def _take_out(state: StateCore) -> None:
    formulas: dict[str, _Formula] = {}
    state.env["formulas"] = formulas

    def marked(match: re.Match[str]) -> str:
        formula = _formula_of(match)
        if formula is None or len(formulas) >= MAX_FORMULAS:
            return match[0]
        mark = f"{FORMULA_BEGINS}{len(formulas)}{FORMULA_ENDS}"
        formulas[mark] = formula
        return mark

    text = state.src.replace(FORMULA_BEGINS, "").replace(FORMULA_ENDS, "")
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


def _as_typed(text: str, env: Env) -> Iterator[str]:
    """Paragraphs of a person's typed text, and blocks of code between them."""
    paragraph, begin, formulas = "", 0, 0
    for found in _SPLIT[env["dollars"]].finditer(text):
        formula = _formula_of(found)
        if not found["fence"] and (formula is None or formulas == MAX_FORMULAS):
            continue
        paragraph += _signs(text[begin : found.start()], env)
        begin = found.end()
        if formula is None:
            yield _typed_paragraph(paragraph)
            yield _code_block(found["lines"], found["info"], env["copy"])
            paragraph = ""
        else:
            formulas += 1
            paragraph += _drawn(formula.latex, display=formula.display)
    yield _typed_paragraph(paragraph + _signs(text[begin:], env))


def _typed_paragraph(shown: str) -> str:
    lines = shown.strip("\n")
    return f'<p class="typed">{lines}</p>\n' if lines.strip() else ""


def _signs(text: str, env: Env) -> str:
    """Text without markup, but for the pictures of a study."""
    pictures = env["pictures"] if "![" in text else None
    if pictures is None:
        return escape(text)
    parts, begin = [], 0
    for found in _PICTURE.finditer(text):
        if picture := pictures.find(_PLAIN.normalizeLink(found[2])):
            parts += [escape(text[begin : found.start()]), _img(picture, found[1])]
            begin = found.end()
    return "".join([*parts, escape(text[begin:])])


def _backslash(state: StateInline, silent: bool) -> bool:
    """A backslash is shown if it delimits a formula that is none, or, where line breaks stay, if it ends a line."""
    found = _BACKSLASH[state.md.options.breaks is False].match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.append_pending(found[0])
    state.pos = found.end()
    return True


def _link(state: StateInline, silent: bool) -> bool:
    """A link to an absolute address, its title shown behind it; any other is text, and so is one around another."""
    if silent:
        return link(state, silent)
    if state.pending:
        state.pushPending()
    start, known, metas = state.pos, len(state.tokens), len(state.tokens_meta)
    if not link(state, silent):
        return False
    target, title = (state.tokens[known].attrGet(name) for name in ("href", "title"))
    leads = _ABSOLUTE.match(str(target)) or (state.env["authored"] and _STUDY.match(str(target)))
    if not leads or any(token.type == "link_open" for token in state.tokens[known + 1 :]):
        del state.tokens[known:], state.tokens_meta[metas:]
        state.pos = start
        return False
    if state.tokens[known].attrs.pop("title", None):
        state.append_pending(f' "{title}"')
    return True


def _image(state: StateInline, silent: bool) -> bool:
    """A picture of the study; any other is shown as it was written."""
    start = state.pos
    if not image(state, silent):
        return False
    pictures = state.env.get("pictures")
    if not silent and not (pictures and pictures.find(str(state.tokens[-1].attrs["src"]))):
        del state.tokens[-1], state.tokens_meta[-1]
        state.append_pending(state.src[start : state.pos])
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table, also with the cells that it has beyond the columns of its head."""
    known = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    tokens = state.tokens[known:]
    del state.tokens[known:]
    columns, row = sum(token.type == "th_open" for token in tokens), start
    for token in tokens:
        row = token.map[0] if token.type == "tr_open" and token.map else row
        if token.type == "tr_close":
            written = state.src[state.bMarks[row] + state.tShift[row] : state.eMarks[row]]
            for cell in escapedSplit(_BARS.sub("", written.strip()))[columns:]:
                state.push("td_open", "td", 1)
                inline = state.push("inline", "", 0)
                inline.content, inline.map, inline.children = cell.strip(), [row, row + 1], []
                state.push("td_close", "td", -1)
        state.tokens.append(token)
    return True


def _number_items(state: StateCore) -> None:
    """Keep the numbers of ordered lists as they were written, where a browser would count otherwise."""
    following: list[int] = []
    for token in state.tokens:
        if token.type in ("ordered_list_open", "bullet_list_open"):
            following.append(int(token.attrs.get("start", 1)))
            if token.markup == ")":
                token.attrs["class"] = "parens"
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            following.pop()
        elif token.type == "list_item_open" and token.info:
            number = int(token.info)
            if number != following[-1]:
                token.attrs["value"] = number
            following[-1] = number + 1


def _formula(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    return _drawn(tokens[index].content, display=bool(tokens[index].meta["display"]))


def _drawn(latex: str, *, display: bool) -> str:
    """A formula; one of its own line is in a box that scrolls: Firefox scrolls no MathML."""
    drawn = mathml(latex, display=display)
    return f'<span class="formula">{drawn}</span>' if display else drawn


def _link_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """Open links in a new tab, so that a half-filled form is not lost, and without a referrer."""
    tokens[index].attrs |= {"target": "_blank", "rel": "noopener noreferrer"}
    return str(renderer.renderToken(tokens, index, options, env))


def _picture(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    token = tokens[index]
    alt = renderer.renderInlineAsText(token.children, options, env) if token.children else token.content
    return _img(env["pictures"].find(str(token.attrs["src"])), alt)


def _img(picture: Picture, alt: str) -> str:
    """A picture of the study, by an address that says nothing but its hash."""
    size = f'width="{picture.width}" height="{picture.height}"'
    return f'<img src="picture/{picture.sha256}" alt="{escape(alt)}" {size}>'


def _code(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    return _code_block(tokens[index].content, tokens[index].info, env["copy"])


def _code_block(code: str, info: str, copy: str) -> str:
    """A scrolling block with what stands behind its fence, highlighting for known languages, and a copy button."""
    language, coloured = info.strip().split(" ", 1)[0].lower(), escape(code)
    if language in LANGUAGES and len(code) <= MAX_COLOURED:
        coloured = highlight(code, get_lexer_by_name(language, stripnl=False), _COLOURS)
    label = f'<span class="language" translate="no">{escape(info.strip())}</span>' if info.strip() else ""
    button = f'<button type="button" class="copy">{escape(copy)}</button>' if copy else ""
    return f'<div class="code-block">{label}<pre translate="no"><code>{coloured}</code></pre>{button}</div>\n'


def _code_inline(_: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """Code within a line, which a browser's translation leaves alone, as it does formulas and blocks of code."""
    return f'<code translate="no">{escape(tokens[index].content)}</code>'


def _table_open(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    return f'<div class="wide">{renderer.renderToken(tokens, index, options, env)}'


def _table_close(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    return f"{renderer.renderToken(tokens, index, options, env)}</div>\n"


class Parser(MarkdownIt):
    """The page's Markdown. `authored`: an editor wrapped the lines; else line breaks and entities stay."""

    def __init__(self, *, authored: bool = False) -> None:
        super().__init__("commonmark", {"html": False, "breaks": not authored, "maxNesting": MAX_NESTING})
        self.enable(["table", "strikethrough"])
        self.disable(["reference", *(["entity"] if not authored else [])])
        self.core.ruler.after("normalize", "formulas_out", _take_out)
        self.core.ruler.push("formulas_in", _put_back)
        self.core.ruler.push("numbers", _number_items)
        self.block.ruler.at("table", _table, {"alt": ["paragraph"]})
        self.inline.ruler.before("escape", "backslash", _backslash)
        self.inline.ruler.at("strikethrough", sign_aware(strikethrough.tokenize))
        self.inline.ruler.at("emphasis", sign_aware(emphasis.tokenize))
        self.inline.ruler.at("link", _link)
        self.inline.ruler.at("image", _image)
        draw_tags(self)
        rules = {"link_open": _link_open, "image": _picture, "table_open": _table_open, "table_close": _table_close}
        for name, rule in {
            **rules,
            "fence": _code,
            "code_block": _code,
            "code_inline": _code_inline,
            "formula": _formula,
        }.items():
            self.add_render_rule(name, rule)

    def validateLink(self, url: str) -> bool:
        """True if a link, an address in angle brackets or a picture can have this address; `_link` is stricter."""
        return bool(_ABSOLUTE.match(url)) or not _ELSEWHERE.match(url)

    def normalizeLinkText(self, link: str) -> str:
        """An address in angle brackets as it was written."""
        return link


_AUTHORED, _PLAIN = Parser(authored=True), Parser()

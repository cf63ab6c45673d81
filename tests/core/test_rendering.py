r"""One text, one result, wherever it is shown: what must be seen of Markdown, formulas, tables and code.

The cases are rendered as a panel's text, as a message of a chat, in a column, in a transcript, in the console's story
and piece by piece, as a stream brings them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from html import escape, unescape
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.rendering import markdown
from app.rendering.markdown import render_message
from app.web.console.text_rendering import BudgetedRenderer
from app.web.participant.api import rendered_reply
from app.web.participant.view import StudyContext, render_page
from experiments.study.screen import (
    ChatMessage,
    ChatView,
    Panel,
    ProgressView,
    ReplyView,
    RoundView,
    Screen,
    TranscriptBlock,
)
from experiments.study.texts import as_written, fill
from tests.fakes.hostile.bombs import BOMBS, MESSAGE, letters
from tests.fakes.hostile.payload import Payload
from tests.fakes.parsed_html import ParsedPage

pytestmark = pytest.mark.anyio
LOOK = StudyContext("A study", dollar_maths=True)
CASES = {
    "inline, brackets": (r"Let \(x^2\) be.", "math", "<msup><mi>x</mi><mn>2</mn></msup>"),
    "a full stop behind": (r"Let \(x\). Go (\(y\)).", 'span class="whole"', "</math>).</span>"),
    "block, dollars": ("So\n$$\nx\n- y\n$$\n", 'math display="block"', "<mo>−</mo>"),
    "bare environment": ("\\begin{align}\na &= b\\\\\n- c &= d\n\\end{align}", 'math display="block"', "<mtable"),
    "words in a formula": (r"\(\text{if $n$ is even}\)", "mtext", "<mi>n</mi>"),
    "no formula": (r"\(\nonsense{x}\)", "code", r"\nonsense{x}"),
    "money": ("It costs $5 and then $10.", "p", "$5 and then $10"),
    "table": ("| a | b |\n|---|---|\n| \\(|x|\\) | y |", 'div class="wide"', "<th>b</th>"),
    "code": ("```python\nx = 1  # \\(y\\)\n```", 'div class="code-block"', r'<span class="c1"># \(y\)</span>'),
    "code that can be copied": ("```\nx\n```", 'button type="button" class="copy"', "Copy"),
    "code in a line": (r"`\(x\)`", "code", r'<code translate="no">\(x\)</code>'),
    "a link": ("[a](https://b.example)", 'a href="https://b.example"', 'rel="noopener noreferrer"'),
    "details": ("<details>\n<summary>a</summary>\n\nb *c*\n\n- d\n\n</details>", "details", "<em>c</em>"),
}


def screen_of(panel: Panel) -> Screen:
    return Screen("step", 3, panel, ProgressView("", 0.5), ())


def updates(panel: Panel, part: str) -> str:
    return str(render_page(screen_of(panel), study=LOOK, shown=None, draft={})["updates"][part]["value"])


def chat(text: str) -> str:
    return updates(Panel(chat=ChatView("AI", (ChatMessage("Bot", text),), remaining=1, max_chars=4000)), "chat")


def column(text: str) -> str:
    both = RoundView("Hello", (ReplyView("a", "A", text), ReplyView("b", "B", "x")))
    return updates(Panel(chat=ChatView("AI", (), remaining=1, max_chars=4000, columns=2, rounds=(both,))), "talk")


def transcript(text: str) -> str:
    return updates(Panel(blocks=(TranscriptBlock("AI", (ChatMessage("Bot", text),)),)), "left")


def story(text: str) -> str:
    return str(BudgetedRenderer(dollars=True)(text))


PLACES: dict[str, Callable[[str], str]] = {
    "chat": chat, "column": column, "transcript": transcript, "story": story,
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES)
def test_a_text_is_shown_the_same_everywhere(case: str, place: str) -> None:
    text, tag, seen = CASES[case]
    shown = PLACES[place](text)
    assert f"<{tag}" in shown
    assert seen in shown
    assert story(text) in shown


def persons(text: str) -> dict[str, str]:
    said = (ChatMessage("You", text),)
    rounds = (RoundView(text, (ReplyView("a", "A", "x"), ReplyView("b", "B", "x"))),)
    return {
        "chat": updates(Panel(chat=ChatView("AI", said, remaining=1, max_chars=4000)), "chat"),
        "comparison": updates(
            Panel(chat=ChatView("AI", (), remaining=1, max_chars=4000, columns=2, rounds=rounds)), "talk"
        ),
        "transcript": updates(Panel(blocks=(TranscriptBlock("AI", said),)), "left"),
        "story": str(BudgetedRenderer(dollars=True)(text, typed=True)),
        "preview": render_message(text, dollars=True, typed=True),
    }


TYPED = (
    "x + 7\n- 4\n+ 3\n> 5",
    "# of apples?",
    "3) is it?\n\n\n    a   b\n---\n***",
    "*this* and **that**, `code`, 2*3*4, [a](https://b.example) ![c](https://b.example/c.png)",
    "[Answer]: B",
    "| a | b |\n|---|---|\n<b>&lt;</b> \\\\* \\\\( \\(",
)


@pytest.mark.parametrize("text", TYPED)
def test_what_a_person_typed_is_shown_as_typed(text: str) -> None:
    shown = f'<p class="typed">{escape(text)}</p>'
    places = persons(text)
    assert {place: shown in html for place, html in places.items()} == dict.fromkeys(places, True)


def test_formulas_and_code_between_fences_are_drawn_in_what_a_person_typed() -> None:
    text = "- \\(x^2\\), $y$:\n```python\nx  = 1\n```\n> `\\(z\\)`\n$$\nw\n$$"
    for html in persons(text).values():
        assert re.findall("<mi>(.)</mi>", html) == ["x", "y", "w"]
        assert '<span class="n">x</span>  <span' in html
        assert '<p class="typed">- <' in html
        assert '<p class="typed">&gt; `\\(z\\)`\n' in html


SIGNS = (
    *("7*8 = 56 = 2*28", "a*b*c", "f[1]*g[2]*h, {1}*{2}*3", "(a+b)*(c+d)*(e)", "2**3**4", "x**2 + y**2", "2*-3*-4"),
    *("(2+3)*-4*-5", "2 *3* 4", "2 * 3 * 4", "**Note: 2**3 is 8", "2*3*4", "π*r*r and क*ख*ग", "|x|*|y|*|z|"),
    *(
        "see (*) and (*)",
        '"*.py" and "*.csv"',
        "*-maps between C*-algebras",
        "/* a */ b /* c */",
        "__init__.py",
        "(__) + (__) = 10",
        "(a)_(b)_(c)",
    ),
    *("f(x)_1 = a_{2}", "snake_case_name", "10~~20 and 30~~40", "$$ to $$$", "~3 to ~5", "（甲）*（乙）*（丙）"),  # noqa: RUF001
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", SIGNS)
def test_a_mark_between_operands_is_a_sign(text: str, place: str) -> None:
    assert f"<p>{escape(text)}</p>" in PLACES[place](text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Birds[^1].\n\n[^1]: Smith", "<p>Birds[^1].</p>\n<p>[^1]: Smith</p>"),
        ("[a](/out) [b](//host) [c](?x) [d](d.pdf) [e]()", "<p>[a](/out) [b](//host) [c](?x) [d](d.pdf) [e]()</p>"),
        ('[a](https://b.example "why")', 'rel="noopener noreferrer">a</a> &quot;why&quot;</p>'),
        ("&lt;b&gt; &amp;amp;", "<p>&amp;lt;b&amp;gt; &amp;amp;amp;</p>"),
        ("1. a\n3. b\n4. c", '<li>a</li>\n<li value="3">b</li>\n<li>c</li>'),
        ("3) a\n4) b", '<ol start="3" class="parens">\n<li>a</li>\n<li>b</li>'),
        ("| a |\n|---|\n| b | c | d |", "<td>b</td>\n<td>c</td>\n<td>d</td>\n</tr>"),
        ("```The answer\nx\n```", '<span class="language" translate="no">The answer</span>'),
        ("\\( \\) and $$ $$", "<p>\\( \\) and $$ $$</p>"),
        ("\ue000 and \ue0010", "<p>\ue000 and \ue0010</p>"),
    ],
)
def test_nothing_that_was_written_is_lost(text: str, shown: str) -> None:
    assert shown in story(text)


TAGS = {
    "H<sub>2</sub>O, x<SUP>2</SUP>": "<p>H<sub>2</sub>O, x<sup>2</sup></p>",
    "| a |\n|---|\n| b<br>c<br/>d |": "<td>b<br />\nc<br />\nd</td>",
    "<details><summary>*b*</summary>\n\nc\n\n</details>\nd": "<em>b</em></summary>\n<p>c</p>\n</details>\n<p>d</p>",
    "<details>\n\n```\n</details>\n```\n\n</details>\na": "<code>&lt;/details&gt;\n</code></pre><button",
    "> <details>\n> <summary>a</summary>\n> b\n> </details>": "<summary>a</summary>\n<p>b</p>\n</details>\n</bl",
    "<sub>a<sup>b</sub>c</sup>": "<p><sub>a&lt;sup&gt;b</sub>c&lt;/sup&gt;</p>",
    "*a <sub>b* c</sub>": "<p>*a <sub>b* c</sub></p>",
    "<sub onclick=x>a</sub> <details open>": "<p>&lt;sub onclick=x&gt;a&lt;/sub&gt; &lt;details open&gt;</p>",
}


@pytest.mark.parametrize("text", TAGS)
def test_few_tags_are_drawn_and_always_balanced(text: str) -> None:
    assert TAGS[text] in story(text)


# The signs that can be marks, and what the page has if they became one. A backslash can be before any sign.
DRAWS: Mapping[str, set[str]] = {
    "*": {"em", "strong", "li", "hr"},
    "_": {"em", "strong", "hr"},
    "~": {"s", "pre"},
    "`": {"code"},
    "#": {"h1", "h2", "h3", "h4", "h5", "h6"},
    ">": {"blockquote", "a"},
    "<": {"a"},
    "|": {"table"},
    "-": {"li", "hr", "h2", "table"},
    "+": {"li"},
    "=": {"h1"},
    ":": {"table"},
    "[": {"math", "a"},
    "]": {"math", "a"},
    "(": {"math"},
    ")": {"math"},
    "$": {"math"},
    "^": {"math"},
    "!": set(),
}
WORDS = ("word", "Wörter", "слово", "重要", "です。", "「語」", "이 용어", "สำคัญ", "كلمة", "क", "x", "7", "½")
MARKUP = (
    *("*", "**", "***", "_", "__", "~~", "`", "``", "```", "~~~", "#", "|", "[", "]", "](", ")", "<", ">", "&", ":"),
    *("](https://b.example)", "](/out)", "[^1]", "]: ", "<https://b.example>"),
    *("<i>", "<sub>", "</sub>", "<sup>", "<details>", "</details>", "<summary>", "</summary>", "![", "&lt;", "!", "("),
    *("\\*", "\\x", r"\(x_7\)", "$$z$$"),
    *(" ", "\n", "\n\n", "# ", "> ", "- ", "+ ", "* ", "1. ", "3) ", "| ", "|---|---|\n", "---\n", "===\n", "    "),
)


class PageText(HTMLParser):
    """The visible text of a page: with the numbers of lists, the addresses of links and the drawn tags. Its elements
    must be balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags = "", set[str]()
        self.open: list[str] = []
        self._lists: list[tuple[str, int]] = []
        self._link, self._begin = "", 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.open += [tag] if tag not in ("hr", "br", "img") else []
        given = dict(attrs)
        if tag in ("ol", "ul"):
            ending = "" if tag == "ul" else ")" if given.get("class") == "parens" else "."
            self._lists.append((ending, int(given.get("start") or 1)))
        elif tag == "li":
            ending, number = self._lists.pop()
            number = int(given.get("value") or number)
            self.text += f"{number}{ending}" if ending else ""
            self._lists.append((ending, number + 1))
        elif tag == "a":
            self._link, self._begin = given["href"] or "", len(self.text)
        elif tag in ("sub", "sup", "details", "summary"):
            self.text += f"<{tag}>"

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("hr", "br"):
            assert self.open.pop() == tag
        if tag in ("ol", "ul"):
            self._lists.pop()
        elif tag == "a" and self.text[self._begin :] != self._link:
            self.text += f"({self._link})"
        elif tag in ("sub", "sup", "details", "summary"):
            self.text += f"</{tag}>"

    def handle_data(self, data: str) -> None:
        self.text += data.translate({ord("∗"): "*", ord("−"): "-"})  # as formulas draw them  # noqa: RUF001


def signs_of(text: str) -> str:
    """What is left of a text without blanks, marks and the backslashes before signs."""
    return "".join(char for char in text if not char.isspace() and char not in DRAWS and char != "\\")


SHOWS: Mapping[str, Callable[[str], str]] = {
    "message": lambda text: markdown.html(text, authored=False, dollars=True, copy=""),
    "line": lambda text: markdown.line(text.replace("&", ""), dollars=True),
    "blocks": lambda text: markdown.html(text.replace("&", ""), dollars=True, copy=""),
}


@settings(max_examples=150)
@example("1. ", True)
@given(st.lists(st.sampled_from(WORDS) | st.sampled_from(MARKUP), max_size=25).map("".join), st.booleans())
def test_an_answer_in_a_text_of_the_study_is_shown_as_it_was_written(answer: str, first: bool) -> None:
    text = fill("{{q.a}}" if first else "## You said: {{q.a}}", lambda _: as_written(answer))
    for shown in (markdown.html(text, dollars=True), markdown.line(text, dollars=True)):
        page = PageText(shown)
        said = "".join(page.text.removeprefix("## ").removeprefix("You said:").split())
        assert said == "".join(answer.split())
        assert page.tags <= {"p", "h2", "br"}


@settings(max_examples=150)
@given(st.lists(st.sampled_from(WORDS) | st.sampled_from(MARKUP), max_size=25).map("".join), st.sampled_from([*SHOWS]))
def test_the_page_holds_every_visible_character_in_order(text: str, form: str) -> None:
    page = PageText(SHOWS[form](text))
    text = text if form == "message" else text.replace("&", "")
    assert (signs_of(page.text), page.open) == (signs_of(text), [])
    for sign, drawn in DRAWS.items():
        if not drawn & page.tags and "`" not in text and "\\" not in text:
            assert page.text.count(sign) >= text.count(sign), (sign, page.text)


@given(st.lists(st.sampled_from(WORDS) | st.sampled_from(MARKUP), max_size=25).map("".join))
def test_the_page_holds_what_a_person_typed_to_the_blank(text: str) -> None:
    text = re.sub(r"[$\\]|```+|~~~+", "", text)
    page = PageText(markdown.html(text, authored=False, typed=True))
    assert page.text.rstrip("\n") == (text.strip("\n") if text.strip() else "")


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_no_letter_of_a_bomb_is_lost(bomb: Payload) -> None:
    for text in (bomb.text[:MESSAGE], bomb.text):
        assert letters(text) <= letters(words_of(story(text)))


@pytest.mark.parametrize("size", [1, 7, 50])
async def test_what_streams_is_rendered_block_by_block_and_never_changes(size: int) -> None:
    blocks = [text for text, *_ in CASES.values()]
    whole = "\n\n".join([*blocks, "The end."])

    async def words() -> AsyncIterator[tuple[str, int]]:
        yield "lost", 4
        yield "", 0  # the model was asked anew
        for start in range(0, len(whole), size):
            piece = whole[start : start + size]
            yield piece, start + len(piece)

    html, rest = "", ""
    async for piece in rendered_reply(words(), dollars=True, copy="Copy"):
        html = html + piece.get("html", "") if piece["offset"] else ""
        rest = piece.get("rest", rest + piece["text"]) if piece["offset"] else ""
    assert html.count("<math") > 5
    assert rest.strip().endswith("The end.")
    assert ParsedPage(html + story(rest)).found == ParsedPage(story(whole)).found


def words_of(page: str) -> str:
    return unescape(re.sub("<[^>]*>", "", page))

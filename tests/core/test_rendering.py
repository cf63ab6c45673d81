r"""One text, one result, wherever it is shown: what must be seen of Markdown, formulas, tables and code.

The cases are rendered as a panel's text, as a message of a chat, in a column, in a transcript, in the console's story
and piece by piece, as a stream brings them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rendering.markdown import render_message
from app.web.console.text_rendering import BudgetedRenderer
from app.web.participant.sse import rendered_reply
from app.web.participant.view import StudyContext, render_page
from experiments.study.fields import SingleChoice
from experiments.study.screen import (
    ChatMessage,
    ChatView,
    Panel,
    ProgressView,
    ReplyView,
    RoundView,
    Screen,
    TextBlock,
    TranscriptBlock,
)
from tests.fakes.hostile.bombs import BOMBS, MESSAGE, letters
from tests.fakes.hostile.payload import Payload

pytestmark = pytest.mark.anyio
LOOK = StudyContext("A study", dollar_maths=True)
CASES = {
    "inline, brackets": (r"Let \(x^2\) be.", "math", "<msup><mi>x</mi><mn>2</mn></msup>"),
    "a full stop behind": (r"Let \(x\). Go (\(y\)).", 'span class="whole"', "</math>).</span>"),
    "inline, dollars": (r"Let $x^2$ be.", "math", "<msup><mi>x</mi><mn>2</mn></msup>"),
    "block, brackets": (r"\[x^2\]", 'math display="block"', "<msup><mi>x</mi><mn>2</mn></msup>"),
    "block, dollars": ("So\n$$\nx\n- y\n$$\n", 'math display="block"', "<mo>−</mo>"),
    "bare environment": ("\\begin{align}\na &= b\\\\\n- c &= d\n\\end{align}", 'math display="block"', "<mtable"),
    "matrix": (r"\(\begin{pmatrix}1&2\\3&4\end{pmatrix}\)", "mtable", "<mtd><mn>4</mn></mtd>"),
    "words in a formula": (r"\(\text{if $n$ is even}\)", "mtext", "<mi>n</mi>"),
    "less in a formula": (r"\(a<b \text{ and } \text{c<d}\)", "mtext", "<mtext>c&lt;d</mtext>"),
    "an operator with an index": (r"\(\operatorname {N^{\leftarrow}} A\)", "msup", "<mi>A</mi>"),
    "no formula": (r"\(\nonsense{x}\)", "code", r"\nonsense{x}"),
    "money": ("It costs $5 and then $10.", "p", "$5 and then $10"),
    "table": ("| a | b |\n|---|---|\n| \\(|x|\\) | y |", 'div class="wide"', "<th>b</th>"),
    "code": ("```python\nx = 1  # \\(y\\)\n```", 'div class="code-block"', r'<span class="c1"># \(y\)</span>'),
    "code that can be copied": ("```\nx\n```", 'button type="button" class="copy"', "Copy"),
    "code, of no language": ("```nonsense\n<b>\n```", "pre", "&lt;b&gt;"),
    "code in a line": (r"`\(x\)`", "code", r'<code translate="no">\(x\)</code>'),
    "a tag": ("a <b>c</b>", "p", "&lt;b&gt;c&lt;/b&gt;"),
    "a link": ("[a](https://b.example)", 'a href="https://b.example"', 'rel="noopener noreferrer"'),
    "no link": ("[a](javascript:alert(1))", "p", "[a](javascript:alert(1))"),
    "emphasis": ("**a** and *b*", "strong", "<em>b</em>"),
    "list": ("1. a\n2. b", "ol", "<li>b</li>"),
}


def screen_of(panel: Panel) -> Screen:
    return Screen("step", 3, panel, ProgressView("", 0.5), ())


def updates(panel: Panel, part: str) -> str:
    return str(render_page(screen_of(panel), study=LOOK, shown=None, draft={}).updates[part]["value"])


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
    """A person's message in each place that shows one."""
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Is 2*3*4 more than 5*4?", "Is 2*3*4 more than 5*4?"),
        ("2**3**4", "2**3**4"),
        ("a*b*c, f[1]*g[2]*h, {1}*{2}*3", "a*b*c, f[1]*g[2]*h, {1}*{2}*3"),
        ("(a+b)*(c+d)*(e)", "(a+b)*(c+d)*(e)"),
        (r"\(x\)*\(y\)*\(z\)", "</math>*<math"),
        ("[2*3*4](https://b.example)", ">2*3*4</a>"),
        ("`2*3*4`", '<code translate="no">2*3*4</code>'),
        (r"\(2*3*4\)", "<mn>2</mn>"),
        ("*this* and (**that**)", "<em>this</em> and (<strong>that</strong>)"),
        ("二*三*四", "二<em>三</em>四"),
    ],
)
def test_the_arithmetic_that_a_person_typed_keeps_its_asterisks(text: str, shown: str) -> None:
    places = persons(text)
    assert {place: shown in html for place, html in places.items()} == dict.fromkeys(places, True)


@pytest.mark.parametrize("place", PLACES)
def test_a_model_writes_markdown_on_purpose(place: str) -> None:
    assert "2<em>3</em>4" in PLACES[place]("2*3*4")


@pytest.mark.parametrize("case", [case for case in CASES if case != "inline, dollars"])
def test_a_panels_text_is_shown_as_a_message_is(case: str) -> None:
    """But that a single dollar is none of its delimiters."""
    text, tag, seen = CASES[case]
    if "$n$" in text:
        return
    shown = updates(Panel(blocks=(TextBlock(text),)), "left")
    assert f"<{tag}" in shown
    assert seen in shown


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.startswith(("inline, brackets", "matrix", "words", "less"))]
)
def test_an_option_is_drawn_by_the_same_engine(case: str) -> None:
    text, _, seen = CASES[case]
    options = SingleChoice(name="o", text=text, options={"A": text, "B": "b"})
    assert updates(Panel(fields=(options,)), "left").count(seen) == 2


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb.name)
def test_no_letter_of_a_bomb_is_lost(bomb: Payload) -> None:
    for text in (bomb.text[:MESSAGE], bomb.text):
        assert letters(text) <= letters(words_of(story(text)))


@given(st.lists(st.sampled_from(["- ", "> ", "1. "]), max_size=60).map("".join))
def test_no_depth_of_lists_and_quotes_hides_a_word(nest: str) -> None:
    assert "word" in words_of(story(f"{nest}word"))


@pytest.mark.parametrize("size", [1, 7, 50])
async def test_what_streams_is_rendered_block_by_block_and_never_changes(size: int) -> None:
    """All but the last block is there as HTML when the stream ends, just as the whole reply is rendered afterwards."""
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
    assert Words.of(html + story(rest)) == Words.of(story(whole))


def words_of(page: str) -> str:
    return unescape(re.sub("<[^>]*>", "", page))


class Words(HTMLParser):
    """The tags and words of a page, but for the space between blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"<{tag} {attrs}>")

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.found.append(data.strip())

    @classmethod
    def of(cls, page: str) -> list[str]:
        parser = cls()
        parser.feed(page)
        return parser.found

r"""What a text asks for and the page does not show: found by the renderer's own verdict, and nothing else refused."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.rendering import markdown
from app.rendering.losses import Form, losses
from app.rendering.maths import not_drawn
from app.studies.drafts import check_text
from app.studies.loader import load_study
from experiments.errors import StudyError, ValidationIssue
from storage.yaml_text import yaml_text

# Texts that ask for something, and what the error has to name.
ASKED: dict[str, tuple[str, str]] = {
    "break with an attribute": ("a<br class=b>b", "<br>"),
    "closed at once": ("a<hr/>b", "<hr>"),
    "script": ("<script>alert(1)</script>", "<script>"),
    "link in HTML": ('<a href="https://example.org">a</a>', "<a>"),
    "comment": ("a <!-- not shown --> b", "comment"),
    "script as a link": ("[a](javascript:alert(1))", "javascript:"),
    "sound beside the study": ("[it](talk.mp3)", "talk.mp3"),
    "heading": ("[below](#part-2)", "#part-2"),
    "command": (r"\(\foo{x}\)", r"\foo"),
    "environment alone": (r"\begin{tabular}{ll}a&b\end{tabular}", "begin"),
    "open formula": (r"so \(x + 1", r"\("),
    "outside of a formula": (r"the \textbf{large} one", r"\textbf"),
    "single dollars": ("where $x^2$ is", "$x^2$"),
    "in an item of a list": ("- a\n- b <u>c</u>", "<u>"),
}
ASKED_IN_BLOCKS: dict[str, tuple[str, str]] = {
    "too long": ("a" * 40_001, "40,001"),
}
ASKED_IN_A_LINE: dict[str, tuple[str, str]] = {
    "list": ("Which?\n\n- a\n- b", "list"),
    "table": ("Which?\n\n| a |\n|---|\n| b |", "table"),
    "code": ("Which?\n\n```\na\n```", "fence"),
    "heading": ("# Part\nWhich?", "heading"),
}
NOT_ASKED = (
    "Which tag is right, <img> or <image>?",
    "`<b>a</b>` and `\\foo{x}` and `$x^2$` and `[a](b.pdf)`",
    "x < y and y > z, or a <b and c> d, List<String> too",
    "It costs $5 and then $10, or US$ 3 and A$ 4; $HOME/$USER",
    "See [MDN](https://developer.mozilla.org/x(y)), [us](mailto:a@example.org), <https://example.org>",
    r"\<b\> and 2 \* 3 and C:\Users\me",
    r"\(x^2\), \[\begin{pmatrix}1&2\end{pmatrix}\], $$\cancel{x}$$",
    "f[1] and a[i][j]",
    "H<sub>2</sub>O, x<sup>2</sup> and<br>more",
    "a[^1] [x][1]\n\n[^1]: A note.\n[1]: https://b.example",
)


@pytest.mark.parametrize("form", ["blocks", "line"])
@pytest.mark.parametrize("case", ASKED)
def test_what_the_page_does_not_show_is_named(case: str, form: Form) -> None:
    text, named = ASKED[case]
    assert any(named in loss.what for loss in losses(text, form))


@pytest.mark.parametrize("case", ASKED_IN_BLOCKS)
def test_what_blocks_do_not_show_is_named(case: str) -> None:
    text, named = ASKED_IN_BLOCKS[case]
    assert any(named in loss.what for loss in losses(text, "blocks"))


@pytest.mark.parametrize("case", ASKED_IN_A_LINE)
def test_what_a_line_does_not_show_is_named(case: str) -> None:
    text, named = ASKED_IN_A_LINE[case]
    assert any(named in loss.what for loss in losses(text, "line"))
    assert losses(text, "blocks") == ()


@pytest.mark.parametrize("form", ["blocks", "line"])
@pytest.mark.parametrize("text", NOT_ASKED)
def test_nothing_else_is_refused(text: str, form: Form) -> None:
    assert losses(text, form) == ()


def shown(text: str, form: Form) -> str:
    return markdown.html(text) if form == "blocks" else markdown.line(text)


PIECES = (
    *("word ", "\n", "\n\n", "- ", "1. ", "> ", "| a | b |\n|---|---|\n", "| c ", "# ", "    ", "~~~\n", "```\n", "`"),
    *("*", "**", "~~", "<b>", "</b>", "<br>", "<i x=1>", "<!-- c -->", "&amp;", "&lt;b&gt;", "\\<", "\\(", "\\)"),
    *("\\[", "\\]", "$$", "$x$", "x^2", "\\foo{y}", "\\frac{1}{2}", "\\begin{align}", "\\end{align}", "[a]", "(b.pdf)"),
    *("(https://b.example)", "(javascript:x)", "[^1]", "[ ] ", "\\"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.sampled_from(["blocks", "line"]))
@example("x^2\\foo{y}", "blocks")
def test_what_is_accepted_is_shown_without_loss(text: str, form: Form) -> None:
    if losses(text, form) or re.search(r"\\[\\$]", text):  # an escaped backslash or $ is meant to be seen
        return
    page = shown(text, form)
    assert set(re.findall(r'href="([^"]*)"', page)) <= {"https://b.example"}
    formulas = re.findall(r"\\\((.*?)\\\)", re.sub(r"(`+).*?\1", "", text))
    prose = re.sub(r"(?s)<(code|pre|math)\b.*?</\1>|<span class=.language.*?</span>", " ", page)
    seen = unescape(re.sub(r"<[^>]*>", "", prose))
    for typed in ("</b>", "<i x=1>", "<!--", "\\foo{", "\\frac{", "\\begin{", "[a](javascript:x)"):
        if typed in seen:
            assert typed.startswith("<"), (typed, page)
            assert "\\<" in text or "&lt;" in text, page  # an author who escapes a tag wants to see it
    if "`" not in text and "~~~" not in text and "    " not in text:
        assert "<code" not in page or all(not not_drawn(latex) for latex in formulas), page
        assert page.count("<code") == 0 or form == "line"


def faults_of(folder: Path, **more: Any) -> list[ValidationIssue]:
    raw = {"study": "s", "title": "T", "flow": [{"step": "finish", "code": "X"}], **more}
    path = folder / "study.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    try:
        load_study(str(path))
    except StudyError as error:
        return list(error.found)
    return []


BAD = "So <u>this</u>"
FINISH = {"step": "finish", "code": "X"}
QUESTION = {"type": "single_choice", "name": "q", "text": "Which?", "options": ["a", "b"]}
DOORS: dict[str, tuple[dict[str, Any], str]] = {
    "title": ({"title": BAD}, "title"),
    "consent": ({"flow": [{"step": "consent", "text": BAD}, FINISH]}, "flow[0].text"),
    "pages": ({"flow": [{"step": "info", "pages": ["a", BAD]}, FINISH]}, "flow[0].pages[1]"),
    "question": (
        {"flow": [{"step": "survey", "questions": [QUESTION | {"text": BAD}]}, FINISH]},
        "flow[0].questions[0].text",
    ),
    "option": (
        {"flow": [{"step": "survey", "questions": [QUESTION | {"options": {"a": "A", "b": BAD}}]}, FINISH]},
        "flow[0].questions[0].options.b",
    ),
    "phase": ({"flow": [{"phase": BAD, "flow": [{"step": "info", "text": "a"}]}, FINISH]}, "flow[0].phase"),
    "outcome": ({"outcomes": {"no_consent": {"text": BAD}}}, "outcomes.no_consent.text"),
    "translation": ({"languages": ["de"], "translations": {"de": {"T": BAD}}}, "translations.de.T"),
    "item of the study file": (
        {"problems": {"q": {"items": [{"question": "a", "answer": "b"}, {"question": BAD, "answer": "b"}]}}},
        "problems.q.items[1]",
    ),
}


def lines_of(folder: Path) -> list[str]:
    return (folder / "study.yaml").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("door", DOORS)
def test_every_text_of_an_author_counts(tmp_path: Path, door: str) -> None:
    given_, where = DOORS[door]
    (fault,) = faults_of(tmp_path, **given_)
    assert fault.where == where
    line = int(fault.place.removeprefix("line "))
    assert ("<u>" if "<u>" in fault.what else "$x$") in "".join(lines_of(tmp_path)[line - 1 : line + 2])
    assert "<u>" in fault.what or "$x$" in fault.what
    written = (tmp_path / "study.yaml").read_text(encoding="utf-8")
    (located,) = check_text(written, tmp_path).faults  # the console's editor and builder
    assert (located.where, located.what) == (fault.where, fault.what)
    assert located.line is not None

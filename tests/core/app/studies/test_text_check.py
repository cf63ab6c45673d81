"""What a text asks for and the page does not show is an error with its place, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
    "command": (r"\(\foo{x}\)", r"\foo"),
    "in an item of a list": ("- a\n- b <u>c</u>", "<u>"),
    "too long": ("a" * 40_001, "40,001"),
}
NOT_ASKED = (
    "Which tag is right, <img> or <image>?",
    "`<b>a</b>` and `\\(\\foo{x}\\)`",
    "x < y and y > z, or a <b and c> d, List<String> too",
    "It costs $5 and then $10, or US$ 3 and A$ 4; $HOME/$USER",
    r"\<b\> and 2 \* 3 and C:\Users\me",
    r"\(x^2\), \[\begin{pmatrix}1&2\end{pmatrix}\], $$\cancel{x}$$",
    "H<sub>2</sub>O, x<sup>2</sup> and<br>more",
)


FINISH = {"step": "finish", "code": "X"}


def faults_of(folder: Path, **more: Any) -> list[ValidationIssue]:
    raw = {"study": "s", "title": "T", "flow": [{"step": "finish", "code": "X"}], **more}
    path = folder / "study.yaml"
    path.write_text(yaml_text(raw), encoding="utf-8")
    try:
        load_study(str(path))
    except StudyError as error:
        return list(error.found)
    return []


@pytest.mark.parametrize("case", ASKED)
def test_what_the_page_does_not_show_is_named(tmp_path: Path, case: str) -> None:
    text, named = ASKED[case]
    (fault,) = faults_of(tmp_path, flow=[{"step": "info", "text": text}, FINISH])
    assert named in fault.what


def test_nothing_else_is_refused(tmp_path: Path) -> None:
    assert faults_of(tmp_path, flow=[{"step": "info", "pages": list(NOT_ASKED)}, FINISH]) == []


BAD = "So <u>this</u>"
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


@pytest.mark.parametrize("door", DOORS)
def test_every_text_of_an_author_counts(tmp_path: Path, door: str) -> None:
    given_, where = DOORS[door]
    (fault,) = faults_of(tmp_path, **given_)
    assert fault.where == where
    line = int(fault.place.removeprefix("line "))
    written = (tmp_path / "study.yaml").read_text(encoding="utf-8")
    assert "<u>" in "".join(written.splitlines()[line - 1 : line + 2])
    assert "<u>" in fault.what
    (located,) = check_text(written, tmp_path).faults  # the console's editor and builder
    assert (located.where, located.what) == (fault.where, fault.what)
    assert located.line is not None

r"""The report as LaTeX: what anybody wrote is text in it, whatever its letters, and pdfLaTeX makes pages of it.

With pdflatex at hand (`apt-get install texlive-latex-recommended`) reports are compiled; otherwise that is skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.intervals import Interval
from app.analysis.report import Report, latex
from app.analysis.report.latex import escaped
from app.analysis.report.published_comparison import PublishedPaper
from storage.reports.analysis_data import ParticipantFlow
from tests.fakes.released_rows import NASTY as CELLS
from tests.fakes.reports import NASTY, Printed, accuracy, by_turn, figure, finding, hostile
from tests.fakes.reports import report as made_up

PAPER = PublishedPaper("paper", "A paper", {one.name: Printed(0.55, 0.02, NASTY) for one in accuracy().estimates})
PRINTED = PublishedPaper("paper", "A paper", {one.name: Printed(0.55, 0.02, "Table 5") for one in accuracy().estimates})
EVEN = Interval(0.5, 0.4, 0.6)
LETTERS = "".join(
    map(chr, [*range(0x20, 0x180), *range(0x2000, 0x2070), 0x20AC, 0x2122, 0x2212, 0x3C4, 0x4E2D, 0x1F600])
)
DOCUMENT = r"""\documentclass{article}
%s
\begin{document}
\input{report.tex}
\end{document}
"""
WIDE_PT = 5.0
"""So far words may stand out over the edge."""
compiles = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="needs pdflatex: apt-get install texlive-latex-recommended"
)


def whole() -> Report:
    """A report of everything that is hard to set: any letters, words without an end, a paper beside it."""
    groups = [*CELLS, LETTERS, "a" * 200]
    many = finding("dices.gai", (figure(f"dices.gai.{n}", one, EVEN) for n, one in enumerate(groups)))
    return made_up(hostile(), accuracy(), by_turn(), many, finding("chatbench.none", ()), against=PAPER)


def ordinary() -> Report:
    """A report of what studies have: datasets and models with long names, p, many rows, a paper beside it."""
    names = [f"dices.kept.gai.race_x_gender.Latin_American_or_Spanish_{n}" for n in range(60)]
    label = "LatinX, Latino, Hispanic or Spanish Origin, Woman: letter_only_zero_shot"
    tested = [replace(figure(name, label, EVEN), further={"p": 0.0004, "p_adjusted": 0.2}) for name in names]
    made = made_up(accuracy(), by_turn(), finding("dices.gai", tested), against=PAPER)
    return replace(
        made,
        title="Mine",
        arms=(),
        flow=ParticipantFlow("person", 9, outcomes={"complete": 9}),
        costs=None,
        against=PRINTED,
    )


def compiled(report: Report, folder: Path) -> str:
    """What pdflatex says of a report, which stands where its first lines say, and of which it makes pages."""
    text = latex(report)
    (folder / "report.tex").write_text(text, encoding="utf-8")
    wanted = "\n".join(re.findall(r"^%\s+(\\usepackage.*)$", text, re.M))
    (folder / "paper.tex").write_text(DOCUMENT % wanted, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    for _ in range(2):  # tables know their widths the second time
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    said = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, said[-2000:]
    assert (folder / "paper.pdf").stat().st_size > 10_000
    return said


def test_what_people_wrote_is_text() -> None:
    text = latex(whole())
    assert r"\input" not in text
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == text.count(r"\toprule") > 3
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.count(r"\begingroup") == text.count(r"\endgroup")


@given(st.text())
def test_no_text_has_a_command_a_comment_or_a_group(text: str) -> None:
    told = escaped(text)
    plain = re.sub(r"\\parleysign\{[^\x00-\x7f]\}\{[0-9A-F]{4,6}\}", "", told)
    plain = re.sub(r"\\text[a-z]+\{\}|\\ldots\{\}|\\[{}$&#_%]|\$(-|\\pm|\\leq|\\geq|\\tau)\$|-\{\}", "", plain)
    assert not set(plain) & set("\\{}$&#_%^~\n\r")
    assert len(told.splitlines()) <= 1


@compiles
def test_pdflatex_makes_pages_of_whatever_anybody_wrote(tmp_path: Path) -> None:
    assert "LaTeX Error" not in compiled(whole(), tmp_path)


@compiles
def test_an_ordinary_report_keeps_within_the_margins(tmp_path: Path) -> None:
    said = compiled(ordinary(), tmp_path)
    assert [wide for wide in re.findall(r"Overfull \\hbox \(([\d.]+)pt", said) if float(wide) > WIDE_PT] == []

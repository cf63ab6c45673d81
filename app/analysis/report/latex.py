r"""The report as LaTeX, for \input in a paper; user-supplied text is escaped.

Tables use booktabs and longtable, so they need a one-column page. Text columns share the width that number columns
leave; the width of numbers is estimated from their length. Non-Latin letters need XeLaTeX or LuaLaTeX: pdfLaTeX prints
their code points, such as [U+4E2D], and does not fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import wrap
from typing import assert_never

from app.analysis.report.build import Report
from app.analysis.report.document import blocks
from app.documents.block import (
    Block,
    BulletList,
    CodeLine,
    Contents,
    ContentsEntry,
    Heading,
    Paragraph,
    TextTable,
)

PACKAGES = r"""% Put this into a document that has these lines before \begin{document}:
%   \usepackage{array,booktabs,longtable}
%   \usepackage[T1]{fontenc}
\providecommand\parleysign[2]{\ifdefined\Umathchar#1\else[U+#2]\fi}"""
SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "%": r"\%",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "−": r"$-$",
    "–": r"\textendash{}",
    "±": r"$\pm$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "…": r"\ldots{}",
    "τ": r"$\tau$",
}
LATIN = re.compile(
    r"[\x20-\x7e\xa1-\u0125\u0128-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u0165\u0168-\u017e"
    r"\u2014\u2018-\u201a\u201c-\u201e\u2020-\u2022\u2030\u2039\u203a\u20ac\u2122]"
)
"""The characters that pdfLaTeX supports with T1; for others `\\parleysign` prints the code point."""
LONG = re.compile(r"(\w{24})(?=\w)")
"""A part of a word that is too long for a line."""
BREAKS = (".", r"\_", ",", "/", "(")
COMMANDS = ("section", "subsection", "subsubsection")
LABEL = "parley:"
SIGN_EM = 0.55
"""The approximate width of a character of a number, in em."""
SMALL = r"\footnotesize\setlength{\tabcolsep}{3pt}"
LIST = r"\begin{itemize}\small\setlength{\itemsep}{0pt}\setlength{\parsep}{0pt}"


def latex(report: Report) -> str:
    """The report as LaTeX."""
    return "\n\n".join([f"{PACKAGES}\n\\begingroup\\sloppy", *map(_written, blocks(report)), "\\endgroup\n"])


def escaped(text: str) -> str:
    """A text as one line of LaTeX that shows just that."""
    line = " ".join(text.split())
    printable = "".join(map(_sign, filter(str.isprintable, line)))
    return printable.replace("--", "-{}-{}")


def _sign(sign: str) -> str:
    known = SIGNS.get(sign, sign if LATIN.match(sign) else "")
    return known or f"\\parleysign{{{sign}}}{{{ord(sign):04X}}}"


def _running(text: str) -> str:
    """A text whose longest words may break."""
    return LONG.sub(r"\1\\allowbreak{}", escaped(text))


def _written(block: Block) -> str:
    match block:
        case Heading(level, text, _) if level > len(COMMANDS):
            return f"\\medskip\\noindent\\textbf{{{escaped(text)}}}\\nopagebreak\\par"
        case Heading(level, text, anchor):
            label = f"\\label{{{LABEL}{anchor}}}" if anchor else ""
            return f"\\{COMMANDS[level - 1]}{{{escaped(text)}}}{label}"
        case Contents(entries):
            return "\n".join(map(_entry, entries))
        case Paragraph(text, loud):
            return f"\\textbf{{{escaped(text)}}}" if loud else _running(text)
        case BulletList(items):
            lines = (f"  \\item {_running(text)}" + (f" {_code(code)}" if code else "") for text, code in items)
            return "\n".join((LIST, *lines, "\\end{itemize}"))
        case CodeLine(text):
            return _code(text)
        case TextTable():
            return _table(block)
        case _ as other:
            assert_never(other)


def _entry(entry: ContentsEntry) -> str:
    """A line of the table of contents."""
    page = f"\\dotfill\\pageref{{{LABEL}{entry.anchor}}}"
    return f"\\noindent\\hspace*{{{entry.level - 1}em}}{escaped(entry.text)}{page}\\par"


def _code(text: str) -> str:
    """A text in typewriter font that may break after dots, underscores and the like."""
    return f"\\texttt{{{_breakable(text)}}}"


def _breakable(text: str) -> str:
    latex = _running(text)
    for sign in BREAKS:
        latex = latex.replace(sign, sign + r"\allowbreak{}")
    return latex


def _table(table: TextTable) -> str:
    heads = list(_heads(table))
    numbers = heads[table.words :]
    cells = [[row[number] for row in table.rows] for number in range(table.words, len(table.head))]
    signs = sum(max(map(len, [*head, *column])) for head, column in zip(numbers, cells, strict=True))
    left = f"\\dimexpr\\linewidth-{SIGN_EM * signs:.1f}em-{2 * (len(heads) - 1)}\\tabcolsep\\relax"
    words = f">{{\\raggedright\\arraybackslash}}p{{{1 / table.words:.2f}{left}}}" * table.words
    return "\n".join(
        (
            f"\\begingroup{SMALL}",
            f"\\begin{{longtable}}{{@{{}}{words}{'r' * len(numbers)}@{{}}}}",
            f"\\caption{{{escaped(table.title)}}}\\\\",
            r"\toprule",
            " & ".join(map(_stacked, heads)) + r" \\",
            r"\midrule",
            r"\endhead",
            *(_row(row, table.words) for row in table.rows),
            r"\bottomrule",
            r"\end{longtable}",
            r"\endgroup",
        )
    )


def _heads(table: TextTable) -> Iterator[list[str]]:
    """The lines of each head: over numbers no longer than these, or than its longest word."""
    for number, head in enumerate(table.head):
        longest = max(map(len, [*head.split(), *(row[number] for row in table.rows)]))
        yield [head] if number < table.words else wrap(head, longest)


def _stacked(lines: list[str]) -> str:
    stacked = r"\\".join(map(escaped, lines))
    return f"\\shortstack[r]{{{stacked}}}" if len(lines) > 1 else stacked


def _row(row: tuple[str, ...], words: int) -> str:
    cells = [*map(_breakable, row[:words]), *map(escaped, row[words:])]
    return " & ".join(cells) + r" \\"

r"""The report as LaTeX, to be put into a paper by \input; whatever somebody wrote is text in it.

Tables are those of booktabs and break over pages. Letters beyond Latin ones need XeLaTeX or LuaLaTeX.
"""

from __future__ import annotations

from typing import assert_never

from app.analysis.report.blocks import Block, Code, Heading, Items, Table, Text, blocks
from app.analysis.report.gathering import Report

PACKAGES = r"""% Put this into a document that has these lines before \begin{document}:
%   \usepackage{booktabs,longtable}
%   \usepackage[T1]{fontenc}
"""
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
}
BREAKS = (".", r"\_", ",")
COMMANDS = ("section", "subsection", "subsubsection")


def latex(report: Report) -> str:
    """The report as LaTeX."""
    return PACKAGES + "\n" + "\n\n".join(map(_written, blocks(report))) + "\n"


def escaped(text: str) -> str:
    """A text as one line of LaTeX that shows just that."""
    line = " ".join(text.split())
    told = "".join(SIGNS.get(sign, sign) for sign in line if sign.isprintable())
    return told.replace("--", "-{}-{}")


def _written(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"\\{COMMANDS[level - 1]}{{{escaped(text)}}}"
        case Text(text, loud):
            return f"\\textbf{{{escaped(text)}}}" if loud else escaped(text)
        case Items(items):
            lines = (f"  \\item {escaped(text)}" + (f" {_code(code)}" if code else "") for text, code in items)
            return "\n".join(("\\begin{itemize}", *lines, "\\end{itemize}"))
        case Code(text):
            return _code(text)
        case Table():
            return _table(block)
        case _ as other:
            assert_never(other)


def _code(text: str) -> str:
    """A text in the letters of a typewriter, which may break after a dot, an underscore or a comma."""
    told = escaped(text)
    for sign in BREAKS:
        told = told.replace(sign, sign + r"\allowbreak{}")
    return f"\\texttt{{{told}}}"


def _table(table: Table) -> str:
    words, numbers = table.words, len(table.head) - table.words
    columns = f"p{{{(0.5 if numbers < 5 else 0.32) / words:.2f}\\linewidth}}" * words + "r" * numbers
    rows = [" & ".join(map(escaped, row)) + r" \\" for row in (table.head, *table.rows)]
    return "\n".join(
        (
            f"\\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
            f"\\caption{{{escaped(table.title)}}}\\\\",
            r"\toprule",
            rows[0],
            r"\midrule",
            r"\endhead",
            *rows[1:],
            r"\bottomrule",
            r"\end{longtable}",
        )
    )

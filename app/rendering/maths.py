r"""Converts LaTeX formulas to MathML, which browsers draw and screen readers read without a script.

A formula that math-core does not support, or that would be too large, is shown as its source. math-core supports no
command that sets an address, a class or a style. A browser's translation leaves formulas alone (`translate`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from math_core import LatexError, LatexToMathML

MAX_CHARS = 2_000
# The deepest nesting of elements. A browser's tab crashes on roots nested 150 deep.
MAX_DEPTH = 40
# The most characters of MathML. Macros can multiply the size of a formula.
MAX_DRAWN = 100_000
MAX_EM = 20

_MACROS = {
    "bm": r"\boldsymbol{#1}",
    "pmb": r"\boldsymbol{#1}",
    "mbox": r"\text{#1}",
    "substack": r"\begin{matrix}#1\end{matrix}",
    "argmax": r"\operatorname*{argmax}",
    "argmin": r"\operatorname*{argmin}",
}
_CONVERTER = LatexToMathML(macros=_MACROS, fancy_error=False, max_expansions=200, allow_unreliable_rendering=True)
# Equation numbers are left out, as each text would start with (1); \tag is kept. Others get their nearest equivalent.
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(align|equation|gather|multline|flalign|eqnarray|split|alignat)\*?\}")
_DRAWN_AS = {"flalign": "align*", "eqnarray": "align*", "split": "aligned", "alignat": "align*"}
_COLUMNS = re.compile(r"(\\begin\{alignat\*?\})\s*\{\d+\}|(?<=aligned\})\[[tcb]\]")
_LABEL = re.compile(r"\\label\s*\{[^{}]*\}")
_TEXT = re.compile(r"\\(?:text|mbox)\s*\{(?:[^{}]|\{[^{}]*\})*\$(?:[^{}]|\{[^{}]*\})*\}")
# An operator whose name has a command or an index; math-core takes letters only.
_OPERATOR = re.compile(r"\\operatorname\s*(\{(?:[^{}]|\{[^{}]*\})*[\\^_](?:[^{}]|\{[^{}]*\})*\})")
_DOLLARS = re.compile(r"(?<!\\)\$([^$]+)(?<!\\)\$")
# A sign of percent that LaTeX would take for the beginning of a comment: what follows would not be shown.
_PERCENT = re.compile(r"(?<!\\)((?:\\\\)*)%")
_TAG = re.compile(r"<(/?)[^<>]*?(/?)>")
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)r?em")
_POSITION = re.compile(r"^\d+: ")


@lru_cache(maxsize=4096)
def mathml(latex: str, *, display: bool = False) -> str:
    """MathML with its source as alternative text; the source in a `code` element if it cannot be converted."""
    source = escape(latex.strip())
    try:
        return _drawn(latex.strip(), display).replace(">", f' alttext="{source}" translate="no">', 1)
    except _NotDrawn:
        return f'<code translate="no">{source}</code>'


def not_drawn(latex: str, *, display: bool = False) -> str:
    """The reason why `mathml` gives the source of a formula; empty if it draws it."""
    try:
        _drawn(latex.strip(), display)
    except _NotDrawn as error:
        return str(error)
    return ""


class _NotDrawn(Exception):
    """A formula is shown as its source. The text is the reason."""


def _drawn(latex: str, display: bool) -> str:
    if len(latex) > MAX_CHARS:
        raise _NotDrawn(f"it has {len(latex):,} characters; at most {MAX_CHARS:,} are drawn")
    try:
        drawn = _CONVERTER.convert_with_local_state(_supported(latex, display), displaystyle=display)
    except LatexError as error:
        raise _NotDrawn(_POSITION.sub("", str(error)).rstrip(".")) from None
    if _too_large(drawn):
        raise _NotDrawn("it is too large, nested too deeply, or has a space wider than the page")
    return drawn


def _supported(latex: str, display: bool) -> str:
    """The formula with unsupported commands replaced by ones that math-core supports."""
    latex = _PERCENT.sub(r"\1\%", latex)
    latex = _LABEL.sub("", _COLUMNS.sub(r"\1", latex))
    latex = _ENVIRONMENT.sub(lambda found: f"\\{found[1]}{{{_DRAWN_AS.get(found[2], f'{found[2]}*')}}}", latex)
    latex = _TEXT.sub(lambda text: _DOLLARS.sub(r"}\1\\text{", text[0]), latex)
    latex = _OPERATOR.sub(r"\\mathop{\\mathrm\1}", latex)
    if display and r"\tag" in latex and r"\begin{" not in latex:
        return f"\\begin{{equation*}}{latex}\\end{{equation*}}"
    return latex


def _too_large(drawn: str) -> bool:
    depth = deepest = 0
    for closes, empty in _TAG.findall(drawn):
        depth += 0 if empty else -1 if closes else 1
        deepest = max(deepest, depth)
    lengths = (float(em) for tag in _TAG.finditer(drawn) for em in _LENGTH.findall(tag[0]))
    return deepest > MAX_DEPTH or len(drawn) > MAX_DRAWN or max(lengths, default=0) > MAX_EM

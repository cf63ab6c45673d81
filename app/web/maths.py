r"""Formulas: LaTeX in, MathML out, which browsers draw and screen readers read without any script.

Whatever cannot be converted, or would be drawn wrongly, is shown as its source: never a guess, never a broken page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from latex2mathml import exceptions
from latex2mathml.converter import convert

MAX_CHARS = 2_000
MAX_DEPTH = 40  # trust 2.5: a browser's tab crashes on formulas nested 150 deep
MAX_DRAWN = 4 * MAX_DEPTH  # elements within elements, some of which each command makes

# latex2mathml's own errors, and what its code lets through on malformed input.
_OWN = [e for e in vars(exceptions).values() if isinstance(e, type) and issubclass(e, Exception)]
_LEAKED = [LookupError, ValueError, TypeError, AttributeError, RuntimeError, StopIteration]
_UNREADABLE: tuple[type[Exception], ...] = (*_OWN, *_LEAKED)

# What latex2mathml draws wrongly (\mathsf{E} as a sign of set theory), written as something that it draws well.
_REWRITES = (
    (re.compile(r"\\(begin|end)\{(?:aligned|split|gathered|eqnarray\*?)\}"), r"\\\1{align*}"),
    (re.compile(r"\\(?:mathrm|mathsf|operatorname\*?)\{([A-Za-z]+)\}"), r"\\text{\1}"),
    (re.compile(r"\\(?:tfrac|cfrac)(?![A-Za-z])"), r"\\frac"),
    (re.compile(r"(?<!\\)\\lvert(?![A-Za-z])|(?<!\\)\\rvert(?![A-Za-z])"), "|"),
)
_LIMIT = re.compile(r"\\(lim|max|min|sup|inf|limsup|liminf)\s*_\s*(\{(?:[^{}]|\{[^{}]*\})*\}|\w)")
_PRIME = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>(&#x0(?:203[2-4]|2057);)</mi></msup>")  # the glyph is raised already
_UNKNOWN = re.compile(r"<m[ion][^>]*>\\|<mi>&</mi>|<m[a-z]+ [^>]*\b(?:href|style|class|id)=")
_ELEMENTS = (
    "math|mrow|mi|mn|mo|ms|mtext|mspace|mstyle|mfrac|msqrt|mroot|msub|msup|msubsup|munder|mover|munderover"
    "|mmultiscripts|mprescripts|none|mtable|mtr|mtd|mlabeledtr|mpadded|mphantom|menclose|merror|mfenced"
)
_NESTS = re.compile(r"\\[{}\\]|[{}]")
_ANY = re.compile("<[^<>]*>")
_TAG = re.compile(rf'(</?(?:{_ELEMENTS})(?: (?!on|href|style|class|id|src|xlink)[a-z]+="[^"<>]*")* ?/?>)|<')
"""A tag of a formula; or any other beginning of one, which latex2mathml lets through from within a \\text."""


@lru_cache(maxsize=4096)
def mathml(latex: str, *, display: bool = False) -> str:
    """A formula as MathML, on a line of its own if `display`; its source in `code` if it cannot be drawn."""
    latex = latex.strip()
    source = f"<code>{escape(latex)}</code>"
    if len(latex) > MAX_CHARS or _depth(latex) > MAX_DEPTH:
        return source
    try:
        drawn = convert(_rewritten(latex, display), display="block" if display else "inline")
    except _UNREADABLE:
        return source
    if _UNKNOWN.search(drawn) or _drawn_depth(drawn) > MAX_DRAWN:
        return source
    drawn = drawn.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1)
    drawn = _TAG.sub(lambda found: found[1] or "&lt;", drawn)
    return _PRIME.sub(r'\1<mo lspace="0" rspace="0">\2</mo>', drawn)


def _rewritten(latex: str, display: bool) -> str:
    for pattern, better in _REWRITES:
        latex = pattern.sub(better, latex)
    return _LIMIT.sub(r"\\underset{\2}{\\\1}", latex) if display else latex


def _depth(latex: str) -> int:
    """How deep it may nest: by braces, by environments, or by commands in a row (\\sqrt\\sqrt\\sqrt x)."""
    depth = deepest = 0
    for sign in _NESTS.findall(latex):
        depth = max(0, depth + (sign == "{") - (sign == "}"))  # an escaped brace is a sign like any other
        deepest = max(deepest, depth)
    rows = re.findall(r"(?:\\(?:sqrt|frac|vec|hat|bar|overline|text)\s*)+", latex)
    return max([deepest, latex.count(r"\begin"), *(str(row).count("\\") for row in rows)])


def _drawn_depth(drawn: str) -> int:
    """How deep the elements of a formula nest."""
    depth = deepest = 0
    for tag in _ANY.finditer(drawn):
        depth += 0 if tag[0].endswith("/>") else -1 if tag[0].startswith("</") else 1
        deepest = max(deepest, depth)
    return deepest

"""Texts that take a renderer seconds, or a tab down, though each is short enough to be a message or a reply."""

from __future__ import annotations

import re
from collections import Counter

from tests.fakes.hostile.payload import of

MESSAGE, REPLY = 4_000, 20_000
COMMAND = re.compile(r"```\w+\n|\\(?:begin|end)\{\w+\}(?:\{c\})?|\\[a-z]+")


def letters(text: str) -> Counter[str]:
    """Count each letter and digit, of which none may be lost, however the text is drawn; but for the language of code,
    which is for its colours, and the commands of formulas."""
    return Counter(one for one in COMMAND.sub("", text) if one.isalnum())


def _filled(piece: str, most: int = REPLY) -> str:
    return (piece * (most // len(piece) + 1))[:most]


def _wide(columns: int, rows: int) -> str:
    return "\n".join(["|a" * columns, "|-" * columns, *["|b" * columns] * rows])


def _tenfold(names: str) -> str:
    old, new = names[0], names[1]
    return f"\\def\\{new}{{" + f"\\{old}" * 10 + "}"


BOMBS = of(
    "bomb",
    "take seconds to show, or the tab down",
    {
        "roots": "\\(" + "\\sqrt{" * 300 + "x" + "}" * 300 + "\\)",
        "roots, bare": "\\(" + "\\sqrt" * 390 + "x\\)",
        "fractions": "$$" + "\\frac{1}{" * 200 + "x" + "}" * 200 + "$$",
        "roots, after braces": "\\(" + "\\}" * 140 + "\\sqrt{" * 140 + "x" + "}" * 140 + "\\)",
        "roots of macros": "\\(\\def\\a#1{\\sqrt{\\sqrt{\\sqrt{#1}}}}\\def\\b#1{\\a{\\a{\\a{#1}}}}"
        "\\def\\c#1{\\b{\\b{\\b{#1}}}}\\c{\\c{\\c{x}}}\\)",
        "roots, in ticks": "`a\n\n\\(" + "\\sqrt{" * 200 + "x" + "}" * 200 + "\\) b`",
        "roots, in no fence": "``` a`b\n\\(" + "\\sqrt{" * 200 + "x" + "}" * 200 + "\\)",
        "roots, optional": "\\(" + "\\sqrt[" * 200 + "x" + "]{y}" * 200 + "\\)",
        "colours": "\\(" + "\\color{red}" * 160 + "x\\)",
        "styles": "\\(" + "\\displaystyle x" * 120 + "\\)",
        "sizes": "\\(" + "\\large x" * 220 + "\\)",
        "hats": "\\(" + "\\hat" * 450 + "x\\)",
        "accents": "\\(" + "\\overline{" * 150 + "x" + "}" * 150 + "\\)",
        "powers": "\\(" + "x^{" * 600 + "x" + "}" * 600 + "\\)",
        "left": "\\(" + "\\left(" * 150 + "x" + "\\right)" * 150 + "\\)",
        "array": "\\(\\begin{array}{c}" + "x\\\\" * 600 + "\\end{array}\\)",
        "arrays": "\\(" + "\\begin{matrix}" * 60 + "x" + "\\end{matrix}" * 60 + "\\)",
        "macros": "\\(\\def\\a{" + "x" * 10 + "}" + _tenfold("ab") + _tenfold("bc") + _tenfold("cd") + "\\d\\d\\)",
        "macro, endless": "\\(\\def\\a{\\a\\a}\\a\\)",
        "many formulas": _filled("\\(\\frac{a}{b}\\) "),
        "many tiny formulas": _filled("\\(x\\)"),
        "open formulas": _filled("\\("),
        "dollars": _filled("$"),
        "dollars, apart": _filled("$ x"),
        "emphasis": _filled("*a_ "),
        "emphasis, strong": _filled("**a __b "),
        "stars": _filled("*"),
        "stars and letters": _filled("a**b"),
        "brackets": _filled("["),
        "brackets, links": _filled("[a]("),
        "images": _filled("!["),
        "back ticks": _filled("`a``b"),
        "quotes": _filled(">"),
        "list, deep": "\n".join(" " * (2 * depth) + "- x" for depth in range(120)),
        "list, one line": _filled("- "),
        "table, wide": _wide(600, 12),
        "table, long": _wide(30, 300),
        "lines": _filled("a\n\n"),
        "breaks": _filled("a\n"),
        "rules": _filled("---\n"),
        "headings": _filled("# a\n"),
        "fences": _filled("```\n"),
        "code": "```python\n" + _filled("x = [i for i in range(10)] # c\n", REPLY - 20) + "```",
        "entities": _filled("&lt;"),
        "tags": _filled("<b>"),
        "comment": _filled("<!--"),
        "word": _filled("W"),
        "accents on letters": _filled("a" + "\u0301" * 50),
        "overrides": _filled("\u202e\u2066a"),
        "families": _filled("\U0001f469\u200d\U0001f469\u200d\U0001f467 "),
        "links": _filled("www.a.b "),
        "strikes": _filled("~~a"),
        "mermaid": "```mermaid\ngraph TD;\n" + _filled("A-->B;\n", 15_000) + "```",
    },
)

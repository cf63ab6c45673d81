r"""Replies full of formulas, sound and broken: what a model writes that was asked for a proof, and what none should.

latex(10_000)      so many words, formulas between \( \) and \[ \] among them
BROKEN             delimiters that never close, braces nested deeply
"""

from __future__ import annotations

from itertools import count

PROOF = (
    r"Let \( f_{%d} : X \to Y \) be continuous and \( K \subset X \) compact. Then \( f_{%d}(K) \) is compact, as "
    r"\[ K \subset \bigcup_{i \in I} f^{-1}(U_i), \qquad \int_0^{\infty} e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} \] "
    r"and hence **finitely many** sets suffice, which was to be shown."
)
CHARS = 20_000
BROKEN = {
    "unclosed": r"\(x_" * (CHARS // 4),
    "unclosed dollars": "$$ " + r"\frac{" * (CHARS // 6),
    "deep braces": r"\(" + "{" * 900 + "x" + "}" * 900 + r"\) " + r"\[" + r"\sqrt" * 300 + r" x\]",
    "brackets": "[" * CHARS,
    "stars": "*" * CHARS,
    "starred words": "a**b" * (CHARS // 4),
    "dollars": "$" * CHARS,
    "openers": r"\(" * (CHARS // 2),
    "ticks": "`" * CHARS,
    "tildes": "~" * CHARS,
}


def latex(words: int) -> str:
    paragraphs: list[str] = []
    so_far = 0
    for number in count(1):
        if so_far >= words:
            break
        paragraphs.append(PROOF % (number, number))
        so_far += len(paragraphs[-1].split())
    return "\n\n".join(paragraphs)

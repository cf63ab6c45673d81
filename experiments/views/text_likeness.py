"""How alike two texts are, by the runs of three words that they have in common.

Texts are compared as words, without case, punctuation and the forms of letters (NFKC), so copies with other blanks or
quotation marks are alike. The two measures are those of Broder (1997, On the resemblance and containment of documents,
Proceedings of Compression and Complexity of Sequences): with S the set of runs of a text,

    resemblance(a, b) = |S(a) and S(b)| / |S(a) or S(b)|        of two texts as a whole
    containment(a, b) = |S(a) and S(b)| / |S(a)|                how much of a is in b
"""

from __future__ import annotations

import re
import unicodedata

RUN = 3
_WORD = re.compile(r"\w+")
Runs = frozenset[tuple[str, ...]]


def words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def runs(text: str) -> Runs:
    found = words(text)
    return frozenset(zip(*(found[start:] for start in range(RUN)), strict=False))


def resemblance(one: Runs, other: Runs) -> float:
    """The share of all runs of both that both have; 0 without any."""
    return len(one & other) / len(one | other) if one and other else 0.0


def containment(one: Runs, other: Runs) -> float:
    """The share of the first text's runs that the other has; 0 without any."""
    return len(one & other) / len(one) if one else 0.0

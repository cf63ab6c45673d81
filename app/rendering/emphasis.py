"""Tell the runs of `*`, `_` and `~~` that mark emphasis from those that are shown as signs.

CommonMark's rules, with two changes. In scripts without blanks between words, emphasis can begin and end beside
punctuation (`**「重要」**です`), as CommonMark's amendment for Chinese, Japanese and Korean has it
(https://github.com/tats-u/markdown-cjk-friendly, specification.md). And a run between two operands is a sign, whoever
wrote it: operands are digits, letters of scripts with blanks, brackets and formulas.

    7*8 = 56, a*b*c, (x)*(y)*2, 2*-3, x**2, a_(b)_(c)    signs
    2 *3* 4                                              signs: a single asterisk, with a digit on either side
    (*), "*.py", *-algebra                               signs: beside punctuation, where no word begins or ends
    *word*, **bold**, ***both***, 这是**重要**的             emphasis
    **N**ational                                         bold, if the word begins with it: `**` alone ends in a word
"""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import category, east_asian_width

from markdown_it.rules_inline import StateInline

# The marks around the number of a formula that was taken out of a text: noncharacters, which no text needs.
FORMULA_BEGINS, FORMULA_ENDS = "\ufdd0", "\ufdd1"
# Thai, Lao, Tibetan, Burmese, Khmer, Tai; and the parts of Korean syllables that are not wide.
_WITHOUT_BLANKS = re.compile("[\u0e00-\u109f\u1160-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ud7b0-\ud7fb]")
_PICTOGRAMS = re.compile("[\u2300-\u2bff\U0001f000-\U0001faff]")
_WORD_BEGINS = re.compile("(?<![^\\W\u2e80-\uffff])[*][*][^\\W\\d_]+$")
_LONGEST_WORD = 60


def sign_aware(tokenize: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """A rule of markdown-it for runs of delimiters that opens and closes only where `_flanking` says so."""

    def rule(state: StateInline, silent: bool) -> bool:
        start, known = state.pos, len(state.delimiters)
        if not tokenize(state, silent):
            return False
        opens, closes = _flanking(state.src[: state.posMax], start, state.pos)
        for delimiter in state.delimiters[known:]:
            delimiter.open, delimiter.close = opens, closes
        return True

    return rule


def _flanking(text: str, start: int, end: int) -> tuple[bool, bool]:
    """True if the run of delimiters text[start:end] can open emphasis; True if it can close it."""
    before, after = _base_before(text, start), text[end : end + 1] or " "
    marker, single = text[start], end - start == 1
    if _is_operand(before, "Pe", single=single) and _begins_operand(before, text[end : end + 2], single=single):
        word = text[max(0, start - _LONGEST_WORD) : start]
        return False, marker == "*" and not single and not after.isdigit() and bool(_WORD_BEGINS.search(word))
    if (
        marker == "*"
        and single
        and re.search(r"\d ?$", text[max(0, start - 2) : start])
        and re.match(r" ?\d", text[end : end + 2])
    ):
        return False, False
    opens = (
        not after.isspace()
        and (not single or after not in "-/")
        and (not _is_narrow(after) or before.isspace() or _is_outside(before))
    )
    closes = not before.isspace() and (not _is_narrow(before) or after.isspace() or _is_outside(after))
    if marker == "_" and re.match(r"\.\w", text[end : end + 2]):
        closes = False  # the name of a file
    elif _is_narrow(before) and _is_narrow(after):
        opens, closes = _beside_punctuation(before, after, single=single)
    elif marker == "_" and opens and closes:
        opens, closes = _is_punctuation(before), _is_punctuation(after)
    return opens, closes


def _beside_punctuation(before: str, after: str, *, single: bool) -> tuple[bool, bool]:
    """Between two signs of punctuation: whether a word can begin, and whether one can end."""
    opens = category(before) != "Pe" and category(after) not in ("Pe", "Pf", "Pd") and after not in ",.;:!?"
    closes = category(after) != "Ps" and category(before) not in ("Ps", "Pi", "Pd")
    return (False, False) if opens and closes and single else (opens, closes)


def _base_before(text: str, start: int) -> str:
    """The character before a place, without the accents and variation selectors on it; a blank at the beginning."""
    while start and category(text[start - 1]) == "Mn":
        start -= 1
    return text[start - 1] if start else " "


def _is_operand(char: str, bracket: str, *, single: bool) -> bool:
    """True if a character can end an operand (`bracket` is "Pe") or begin one ("Ps"); a wide bracket only beside a
    single sign, as bold text often stands between two of them."""
    kind = category(char)
    if char in (FORMULA_BEGINS, FORMULA_ENDS) or kind[0] == "N":
        return True
    return (kind == bracket and (single or not _is_wide(char))) or (kind[0] in "LM" and not _is_wide(char))


def _begins_operand(before: str, after: str, *, single: bool) -> bool:
    """True if an operand begins behind a run: also -3, but not behind a letter, as in `*Fett*-Druck`."""
    if after[:1] in tuple("-+−√") and not before.isalpha():
        return _is_operand(after[1:] or " ", "Ps", single=single)
    return _is_operand(after[:1] or " ", "Ps", single=single)


def _is_outside(char: str) -> bool:
    return _is_punctuation(char) or _is_wide(char)


def _is_punctuation(char: str) -> bool:
    return category(char)[0] in "PS"


def _is_narrow(char: str) -> bool:
    """True for punctuation of a script with blanks between words."""
    return _is_punctuation(char) and not _is_wide(char)


def _is_wide(char: str) -> bool:
    """True for a script without blanks between words, and its punctuation; not for emoji."""
    wide = east_asian_width(char) in ("W", "F", "H") and not _PICTOGRAMS.match(char)
    return wide or bool(_WITHOUT_BLANKS.match(char))

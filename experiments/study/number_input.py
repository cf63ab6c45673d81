"""Numbers as people type them: with a decimal point or comma, in the digits of any script."""

import re

_SIGNS = {
    0x066B: ".",  # Arabic decimal separator
    0x066C: ",",  # Arabic thousands separator
    0xFF0E: ".",  # full-width forms, as typed with Japanese and Chinese input methods
    0xFF0C: ",",
    0xFF0D: "-",
    0xFF0B: "+",
    0x2212: "-",  # minus sign
}
_BIDI_MARKS = re.compile("[\u061c\u200e\u200f]")
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")


class GroupedThousands(ValueError):
    """A comma that can stand before decimals as well as between thousands, as in 1,234."""


def read_number(text: str, *, integer: bool) -> int | float:
    """The number that somebody typed. A point always stands before decimals; so does a comma, unless it can separate
    thousands. Raises GroupedThousands if it can, and ValueError if the text is no number."""
    plain = _BIDI_MARKS.sub("", text).translate(_SIGNS).strip()
    if _GROUPED.fullmatch(plain):
        raise GroupedThousands(text)
    if not _NUMBER.fullmatch(plain):
        raise ValueError(text)
    return int(plain) if integer else float(plain.replace(",", "."))

"""Numbers as people type them: with a decimal point or comma, with thousands set apart, in the digits of any script."""

import re

_SIGNS = {
    0x066B: ".",  # Arabic decimal separator
    0x066C: ",",  # Arabic thousands separator
    0xFF0E: ".",  # full-width forms, as typed with Japanese and Chinese input methods
    0xFF0C: ",",
    0xFF0D: "-",
    0xFF0B: "+",
    0x2212: "-",  # minus sign
    **dict.fromkeys(map(ord, "\u00a0\u2009\u202f"), " "),  # the blanks that stand between thousands
    0x2019: "'",
}
_BIDI_MARKS = re.compile("[\u061c\u200e\u200f]")
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([ '.,])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d*)?")


class GroupedThousands(ValueError):
    """A sign that can stand before decimals as well as between thousands, as in 1,234."""


def read_number(text: str, *, integer: bool) -> int | float:
    """Blanks and apostrophes may stand between thousands, points or commas where nothing else can be meant, as in
    1.234,5 or 1,234,567. 1,234 raises GroupedThousands, and so does 1.234 for a whole number; otherwise a point stands
    before decimals. Raises ValueError if the text is no number."""
    plain = re.sub(r"^([+-]) +", r"\1", _BIDI_MARKS.sub("", text).translate(_SIGNS).strip())
    if one := _ONE_GROUP.fullmatch(plain):
        if integer or one[1] == ",":
            raise GroupedThousands(text)
    elif grouped := _GROUPED.fullmatch(plain):
        plain = plain.replace(grouped[1], "")
    if not _NUMBER.fullmatch(plain):
        raise ValueError(text)
    return int(plain) if integer else float(plain.replace(",", "."))

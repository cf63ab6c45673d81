"""Cells that a spreadsheet would run as a formula (OWASP ASVS 1.2.10), and what makes them harmless.

A csv says of no cell whether it is text, so a spreadsheet takes what begins with one of these signs for a formula, even
if a participant wrote it. The exact data keep such cells; only a variant for spreadsheets has them escaped.
"""

from __future__ import annotations

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""With the wide forms of = + - @, which a spreadsheet with a Chinese or Japanese keyboard takes for the same."""
ESCAPE = "'"
"""What spreadsheets take for: this cell is text."""


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would run the cell."""
    return cell.startswith(FORMULA_STARTS)


def escaped(cell: str) -> str:
    """The cell as text for a spreadsheet; it begins with an apostrophe if it would have run."""
    return ESCAPE + cell if is_formula(cell) else cell

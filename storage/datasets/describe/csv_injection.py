"""Detect and escape cells that a spreadsheet would run as a formula (OWASP ASVS 1.2.10).

A csv has no cell types, so a spreadsheet takes every cell that begins with one of these characters for a formula, even
if a participant wrote it. Exact exports keep such cells; only the variant for spreadsheets escapes them.
"""

from __future__ import annotations

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Includes the full-width forms of = + - @, which Chinese and Japanese spreadsheets treat alike."""
ESCAPE = "'"
"""Spreadsheets treat a cell with this prefix as text."""


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet would run the cell."""
    return cell.startswith(FORMULA_STARTS)


def escaped(cell: str) -> str:
    """The cell, with an apostrophe in front if a spreadsheet would run it."""
    return ESCAPE + cell if is_formula(cell) else cell

"""What a sheet shows of numbers and moments; the wanted texts are those of Excel and LibreOffice with English names."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.number_formats import moment_text, number_text

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
MOMENT = datetime(2026, 3, 1, 9, 5, 7)


@pytest.mark.parametrize(
    ("value", "code", "wanted"),
    [
        (81, "General", "81"),
        (0.1 + 0.2, "General", "0.3"),
        (81, "0.0", "81.0"),
        (2.675, "0.00", "2.68"),
        (7, "00000", "00007"),
        (0.5, "0%", "50%"),
        (-1234567.891, "#,##0.00", "-1,234,567.89"),
        (1.5, "[$€-407]\\ 0.00", "€ 1.50"),
        (-5.5, "#,##0.00_);[Red](#,##0.00)", "(5.50)"),
        (0, '0;-0;"none"', "none"),
        (-3, ACCOUNTING, "$(3.00)"),
        (5e5, "0.00E+00", None),
        (1_234_567, "#,##0,", None),
    ],
)
def test_a_number_is_as_the_sheet_shows_it(value: float, code: str, wanted: str | None) -> None:
    assert number_text(value, code) == wanted


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("yyyy-mm-dd h:mm:ss", "2026-03-01 9:05:07"),
        ("dd.mm.yyyy", "01.03.2026"),
        ("dddd", "Sunday"),
        ("[$-409]d-mmm-yyyy;@", "1-Mar-2026"),
        ("h:mm AM/PM", "9:05 AM"),
        ("[$-407]d. mmm", None),
        ("[$-F800]dddd, mmmm dd, yyyy", None),
        ("[h]:mm", None),
    ],
)
def test_a_moment_is_as_the_sheet_shows_it(code: str, wanted: str | None) -> None:
    assert moment_text(MOMENT, code) == wanted


@given(value=st.floats(allow_nan=False, allow_infinity=False), code=st.text('0#?,.%;"\\_*[]$-+ dmyhsGeneral@'))
def test_any_format_gives_a_text_or_none(value: float, code: str) -> None:
    assert isinstance(number_text(value, code), str | None)
    assert isinstance(moment_text(MOMENT, code), str | None)

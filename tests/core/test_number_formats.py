"""What a sheet shows of numbers and moments; the wanted texts are those of Excel and LibreOffice with English names."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.styles.numbers import BUILTIN_FORMATS

from problems.number_formats import moment_text, number_text

ACCOUNTING = '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)'
MOMENT = datetime(2026, 3, 1, 9, 5, 7)


@pytest.mark.parametrize(
    ("value", "code", "wanted"),
    [
        (81, "General", "81"),
        (0.1 + 0.2, "General", "0.3"),
        (1e-7, "General", "1E-07"),
        (81, "0.0", "81.0"),
        (2.675, "0.00", "2.68"),
        (1.5, "0.0##", "1.5"),
        (0.5, "#.00", ".50"),
        (7, "00000", "00007"),
        (0.5, "0%", "50%"),
        (0.1234, "0.00%", "12.34%"),
        (-1234567.891, "#,##0.00", "-1,234,567.89"),
        (1.5, '"$"#,##0.00', "$1.50"),
        (1.5, "[$€-407]\\ 0.00", "€ 1.50"),
        (1234.5, "#,##0.00\\ [$€-407]", "1,234.50 €"),
        (-5.5, "#,##0.00_);[Red](#,##0.00)", "(5.50)"),
        (0, '0;-0;"none"', "none"),
        (1234.5, BUILTIN_FORMATS[44], "$1,234.50"),
        (1234.5, ACCOUNTING, "$1,234.50"),
        (-3, ACCOUNTING, "$(3.00)"),
        (3, '0" kg"', "3 kg"),
        (5e5, "0.00E+00", None),
        (0.5, "# ?/?", None),
        (1_234_567, "#,##0,", None),
        (5, "[>3]0;0.0", None),
        (1e300, "0", None),
    ],
)
def test_a_number_is_as_the_sheet_shows_it(value: float, code: str, wanted: str | None) -> None:
    assert number_text(value, code) == wanted


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("yyyy-mm-dd", "2026-03-01"),
        ("yyyy-mm-dd h:mm:ss", "2026-03-01 9:05:07"),
        ("d mmm", "1 Mar"),
        ("dd.mm.yyyy", "01.03.2026"),
        ("m/d/yy", "3/1/26"),
        ("mmmm d, yyyy", "March 1, 2026"),
        ("dddd", "Sunday"),
        ("[$-409]d-mmm-yyyy;@", "1-Mar-2026"),
        ("[$-407]dd.mm.yyyy", "01.03.2026"),
        ("h:mm AM/PM", "9:05 AM"),
        ("mm:ss", "05:07"),
        ('d" of "mmmm', "1 of March"),
        ("[$-407]d. mmm", None),
        ("[$-F800]dddd, mmmm dd, yyyy", None),
        ("mm-dd-yy", None),
        ("[h]:mm", None),
        ("ss.000", None),
    ],
)
def test_a_moment_is_as_the_sheet_shows_it(code: str, wanted: str | None) -> None:
    assert moment_text(MOMENT, code) == wanted


@given(value=st.floats(allow_nan=False, allow_infinity=False), code=st.text('0#?,.%;"\\_*[]$-+ dmyhsGeneral@'))
def test_any_format_gives_a_text_or_none(value: float, code: str) -> None:
    assert isinstance(number_text(value, code), str | None)
    assert isinstance(moment_text(MOMENT, code), str | None)

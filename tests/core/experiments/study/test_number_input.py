"""Numbers typed with the keyboards of several countries: what is understood is the number meant, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.study.fields import Invalid, Number
from experiments.study.number_input import read_number


def digits(zero: int) -> dict[int, str]:
    return {ord("0") + value: chr(zero + value) for value in range(10)}


SCRIPTS = {
    "Arabic": digits(0x0660) | {ord("."): chr(0x066B)},
    "Persian": digits(0x06F0) | {ord("."): chr(0x066B)},
    "Devanagari": digits(0x0966),
    "full width": digits(0xFF10) | {ord("."): chr(0xFF0E), ord("-"): chr(0xFF0D)},
    "minus": {ord("-"): chr(0x2212)},
    "comma": {ord("."): ","},
}
DECIMAL = Number(name="weight", integer=False)
WHOLE = Number(name="age")


@given(st.decimals(-1_000_000, 1_000_000, places=2), st.sampled_from(sorted(SCRIPTS)))
def test_a_decimal_number_is_read_in_any_script(number, script):
    assert DECIMAL.accept(f" {number:f} ".translate(SCRIPTS[script])) == float(number)


@given(st.integers(-1_000_000, 1_000_000), st.sampled_from(sorted(SCRIPTS)))
def test_a_whole_number_is_read_in_any_script(number, script):
    assert WHOLE.accept(str(number).translate(SCRIPTS[script])) == number


@given(st.integers(1_000, 999_999), st.sampled_from([(",", DECIMAL), (",", WHOLE), (".", WHOLE)]))
def test_one_sign_that_may_stand_between_thousands_or_before_decimals_is_asked_about(number, read):
    sign, field = read
    with pytest.raises(Invalid, match="thousands"):
        field.accept(f"{number:,}".replace(",", sign))


@pytest.mark.parametrize(("typed", "number"), [
    ("0,125", 0.125), ("1.125", 1.125), (",5", 0.5), ("3.", 3.0),
    ("12,5", 12.5), ("1234,567", 1234.567), ("1e3", 1000.0),
    ("1.234,5", 1234.5), ("1,234.5", 1234.5), ("1 000", 1000.0), ("- 5", -5.0), ("+ 5", 5.0),
    ("\u200e-\u0663\u066b\u0665\u061c", -3.5),
])  # fmt: skip
def test_points_and_commas(typed, number):
    assert read_number(typed, integer=False) == number


@pytest.mark.parametrize("typed", [
    "", "-", ".", "1_000", "1 00", "1 0000", "1.234,567,8", "3²", "½", "①", "nan", "inf",
    "0x10", "1,2,3", "1.2.3", "3,5 kg", "twelve", "9" * 5000,
])  # fmt: skip
@pytest.mark.parametrize("field", [WHOLE, DECIMAL])
def test_what_is_no_number_is_refused(field, typed):
    with pytest.raises(Invalid):
        field.accept(typed)

"""Disclosure control in exports: rounding down, and which columns may be left out or rounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.column_types import IntegerColumn, TextColumn, choice
from storage.datasets.exports.disclosure import check_names, kept, round_down, rounded_cell
from storage.errors import StorageError
from storage.schemas.base import Column

AGE = Column("age", IntegerColumn(blank=True), "The age.", "the participant")
SCALE = Column("calm", IntegerColumn(named={"1": "no", "2": "yes"}), "Calm.", "the participant")
NAME = Column("name", TextColumn(), "A name.", "the participant")
SEX = Column("sex", choice("f", "m"), "The sex.", "the participant")


@given(st.integers(-1_000, 1_000), st.integers(2, 50))
def test_a_number_becomes_the_next_lower_multiple(number: int, width: int) -> None:
    lower = rounded_cell(number, width)
    assert lower % width == 0
    assert lower <= number < lower + width
    assert rounded_cell(lower, width) == lower
    assert rounded_cell(str(number), width) == str(lower)


def test_only_the_named_columns_change() -> None:
    rows = [[[37, 2, "Ada"], [None, 1, "37"]]]
    assert list(round_down(iter(rows), (AGE, SCALE, NAME), {"age": 10})) == [[[30, 2, "Ada"], [None, 1, "37"]]]
    assert kept((AGE, SCALE, NAME), ("calm",)) == (AGE, NAME)


@pytest.mark.parametrize(
    ("without", "rounded", "said"),
    [
        (("agee",), {}, "--without agee: no file of this export has this column"),
        ((), {"sex": 10}, "--round-down sex: the column has no open numbers. Leave it out: --without sex"),
        ((), {"calm": 10}, "no open numbers"),
        ((), {"age": 1}, "give a whole number from 2"),
        (("age",), {"age": 10}, "age is both left out and rounded"),
    ],
)
def test_what_cannot_be_done_is_refused(without: tuple[str, ...], rounded: dict[str, int], said: str) -> None:
    with pytest.raises(StorageError, match=r".*") as caught:
        check_names((AGE, SCALE, NAME, SEX), without, rounded)
    assert said in str(caught.value)

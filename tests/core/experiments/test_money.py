from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.errors import NotPossible
from experiments.money import Money


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_cents_and_units_are_the_same_money(one: int, two: int) -> None:
    money, other = Money.of_cents(one, "GBP"), Money.of_cents(two, "GBP")
    assert Money(Decimal(one) / 100, "GBP") == money
    assert (money.cents, (money + other).cents) == (one, one + two)
    assert (money < other) == (one < two)


def test_two_currencies_are_never_one_sum() -> None:
    with pytest.raises(NotPossible):
        Money.of_cents(1, "GBP") + Money.of_cents(1, "USD")
    with pytest.raises(NotPossible):
        _ = Money.of_cents(1, "GBP") < Money.of_cents(1, "USD")

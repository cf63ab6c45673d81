"""Agreement between an annotator and people: equal to what is worked out by hand."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extensions.analysis.annotator_agreement import Pair, agreement_of, kappa_interval

# The textbook example: p_o = 35/50 = 0.7, p_e = (25*30 + 25*20)/50^2 = 0.5, kappa = 0.4.
COHEN = {("yes", "yes"): 20, ("yes", "no"): 5, ("no", "yes"): 10, ("no", "no"): 15}
YES_NO = ("yes", "no")


def pairs_of(table: dict[tuple[str, str], int], raters: int = 1) -> list[Pair]:
    said = [labels for labels, number in table.items() for _ in range(number)]
    return [Pair(f"c{n}", f"r{rater}", *labels) for n, labels in enumerate(said) for rater in range(raters)]


def test_kappa_and_the_share_of_equal_labels_are_those_worked_out_by_hand() -> None:
    found = agreement_of("effort", pairs_of(COHEN), YES_NO)
    assert found is not None
    assert (found.n, found.conversations, found.raters, found.people) == (50, 50, 1, None)
    assert found.agreement.value == pytest.approx(0.7)
    assert found.agreement.low is not None
    assert found.agreement.low < 0.7 < found.agreement.high
    assert found.agreement.low == pytest.approx(0.56, abs=0.02), "Wilson's interval of 35 of 50: 0.562 to 0.809"
    assert found.agreement.high == pytest.approx(0.81, abs=0.02)
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.low == pytest.approx(0.4 - 1.96 * 0.127, abs=0.05), "the large-sample error of kappa is 0.127"


tables = st.fixed_dictionaries({both: st.integers(0, 12) for both in product(YES_NO, YES_NO)})


@given(tables)
def test_kappa_is_the_same_from_either_side_and_whatever_values_are_called(table: dict[tuple[str, str], int]) -> None:
    def kappa(told: dict[tuple[str, str], int]) -> float | None:
        found = kappa_interval(pairs_of(told), YES_NO)
        return None if found is None else round(found.value, 9)

    other = {"yes": "no", "no": "yes"}
    assert kappa({(b, a): number for (a, b), number in table.items()}) == kappa(table)
    assert kappa({(other[a], other[b]): number for (a, b), number in table.items()}) == kappa(table)
